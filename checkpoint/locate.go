package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	weightSuffix = ".safetensors"
	ggufSuffix   = ".gguf"
	indexSuffix  = ".safetensors.index.json"
	defaultIndex = "model" + indexSuffix
	configName   = "config.json"
)

// numbered is the name of a shard: stem-00001-of-000096.safetensors. The
// numbers are numbers, of any width.
var numbered = regexp.MustCompile(`^(.+?)-0*([0-9]{1,9})-of-0*([0-9]{1,9})\.safetensors$`)

// Part is what the name of a numbered shard says.
type Part struct {
	Stem   string
	No, Of int
	format string // to spell the names of the others
}

// PartOf reads the name of a numbered shard.
func PartOf(name string) (Part, bool) {
	m := numbered.FindStringSubmatchIndex(name)
	if m == nil {
		return Part{}, false
	}
	no, err1 := strconv.Atoi(name[m[4]:m[5]])
	of, err2 := strconv.Atoi(name[m[6]:m[7]])
	if err1 != nil || err2 != nil {
		return Part{}, false
	}
	stem := name[:m[3]]
	width := m[5] - m[3] - 1
	tail := name[m[5]:]
	return Part{stem, no, of, strings.ReplaceAll(stem, "%", "%%") + "-%0" + strconv.Itoa(width) + "d" + tail}, true
}

// Name is the name of part no of the same set.
func (p Part) Name(no int) string { return fmt.Sprintf(p.format, no) }

// location is a path understood.
type location struct {
	dir    string
	index  string // name of the index to use, "" to look for one
	set    string // only shards of this numbered set, by stem and count; "" for all
	single string // this file alone
}

// locate understands a path: a directory, an index, a shard that stands for its
// set, a file alone, or the folder of a repository in the hub cache.
func locate(path string) (*location, error) {
	info, err := os.Stat(path)
	if err != nil {
		link, e := os.Readlink(path)
		switch {
		case e == nil && isDangling(err) && ofCheckpoint(filepath.Base(path)):
			return locateFile(path), nil // the link is judged as a file of its set
		case e == nil && isDangling(err):
			return nil, danglingPath(path, link)
		case os.IsNotExist(err):
			return nil, &NotFoundError{path, "there is nothing at this path", err}
		}
		return nil, err
	}
	if info.IsDir() {
		return &location{dir: snapshot(path)}, nil
	}
	return locateFile(path), nil
}

// ofCheckpoint says whether a name is that of a checkpoint's file.
func ofCheckpoint(name string) bool {
	return strings.HasSuffix(name, weightSuffix) || strings.HasSuffix(name, indexSuffix) || name == configName
}

// locateFile understands the path of a file: a part of its set, or alone.
func locateFile(path string) *location {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if strings.HasSuffix(name, indexSuffix) {
		return &location{dir: dir, index: name}
	}
	if name == configName {
		return &location{dir: dir}
	}
	part, isPart := PartOf(name)
	if hasSet(dir) {
		return &location{dir: dir}
	}
	if isPart {
		return &location{dir: dir, set: part.set()}
	}
	return &location{dir: dir, single: name}
}

// set names the set of a part, whatever the width of its numbers.
func (p Part) set() string { return fmt.Sprintf("%s/%d", p.Stem, p.Of) }

func danglingPath(path, link string) error {
	return &NotFoundError{path, fmt.Sprintf("the link leads to %s, where there is nothing", link), nil}
}

// hasSet says whether an index or a config.json lies in dir.
func hasSet(dir string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(list, func(d fs.DirEntry) bool {
		return d.Name() == configName || strings.HasSuffix(d.Name(), indexSuffix)
	})
}

// snapshot finds the directory that holds the files where dir is the folder of
// a repository in the hub cache (models--ORG--NAME): the revision of refs/main,
// or the only one there is.
func snapshot(dir string) string {
	snapshots := filepath.Join(dir, "snapshots")
	list, err := os.ReadDir(snapshots)
	if err != nil {
		return dir
	}
	if _, err := os.Stat(filepath.Join(dir, "blobs")); err != nil {
		return dir
	}
	ref, err := os.ReadFile(filepath.Join(dir, "refs", "main"))
	rev := strings.TrimSpace(string(ref))
	if err == nil && rev == filepath.Base(rev) && slices.ContainsFunc(list, func(d fs.DirEntry) bool { return d.Name() == rev }) {
		return filepath.Join(snapshots, rev)
	}
	if len(list) == 1 {
		return filepath.Join(snapshots, list[0].Name())
	}
	return dir
}

// plainName says whether an index may name a file so: a file of its own
// directory, no path.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

// chooseIndex picks the index among the entries: the usual name, else the only
// one there is.
func chooseIndex(entries []Entry) (string, error) {
	var found []string
	for _, e := range entries {
		if e.Name == defaultIndex {
			return e.Name, nil
		}
		if strings.HasSuffix(e.Name, indexSuffix) {
			found = append(found, e.Name)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", errors.New("several indexes lie here (" + strings.Join(found, ", ") + "): name one of them")
}
