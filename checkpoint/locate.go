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

	ckptfs "ckpt/internal/fs"
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
var numbered = regexp.MustCompile(`^(.+?)-([0-9]+)-of-([0-9]+)\.safetensors$`)

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
	stem := name[:m[3]]
	width := m[5] - m[4]
	tail := name[m[5]:]
	return Part{stem, partNumber(name[m[4]:m[5]]), partNumber(name[m[6]:m[7]]),
		strings.ReplaceAll(stem, "%", "%%") + "-%0" + strconv.Itoa(width) + "d" + tail}, true
}

// partNumber reads a number of a name; one that no set can have counts as the
// largest.
func partNumber(text string) int {
	const most = 1_000_000_000
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return most
	}
	return int(min(n, most))
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
	if !strings.HasSuffix(name, weightSuffix) {
		return &location{dir: dir, single: name}
	}
	near := neighbours(dir, name)
	switch {
	case near.index:
		return &location{dir: dir}
	case near.parts > 1 || near.config && near.parts > 0:
		part, _ := PartOf(name)
		return &location{dir: dir, set: part.set()}
	case near.config:
		return &location{dir: dir}
	}
	return &location{dir: dir, single: name}
}

// company is what lies beside a weight file.
type company struct {
	index, config bool
	parts         int // files of its numbered set, itself included; 0 where its name has no number
}

func neighbours(dir, name string) (c company) {
	own, numbered := PartOf(name)
	list, err := os.ReadDir(dir)
	if err != nil {
		return c
	}
	for _, d := range list {
		c.index = c.index || strings.HasSuffix(d.Name(), indexSuffix)
		c.config = c.config || d.Name() == configName
		if part, ok := PartOf(d.Name()); ok && numbered && part.set() == own.set() {
			c.parts++
		}
	}
	return c
}

// set names the set of a part, whatever the width of its numbers.
func (p Part) set() string { return fmt.Sprintf("%s/%d", p.Stem, p.Of) }

func danglingPath(path, link string) error {
	return &NotFoundError{path, fmt.Sprintf("the link leads to %s, where there is nothing", link), nil}
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
	const longest = 4096 // of a revision, which has 40 digits
	ref, err := ckptfs.ReadRegular(filepath.Join(dir, "refs", "main"), longest)
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
