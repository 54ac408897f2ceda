package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// LinkKind is where a symbolic link of the directory leads.
type LinkKind uint8

// The kinds.
const (
	NoLink      LinkKind = iota
	HubLink              // the hub cache's own form: ../../blobs/HASH
	InsideLink           // to a file below the directory itself
	OutsideLink          // to any other place
	BrokenLink           // to nothing
)

// Entry is a name in the directory.
type Entry struct {
	Name   string
	Mode   fs.FileMode // of what a link leads to, where it leads somewhere
	Size   int64       // likewise
	Link   LinkKind
	Target string // what the link says
	Err    error  // of stat, where it failed otherwise
}

// Regular says whether the entry can be read as a file.
func (e *Entry) Regular() bool { return e.Err == nil && e.Link != BrokenLink && e.Mode.IsRegular() }

// hubBlob is the link of a snapshot in the hub cache: two levels up, into
// blobs, to a name that is a git SHA-1 or a SHA-256.
var hubBlob = regexp.MustCompile(`^(\.\./)+blobs/([0-9a-f]{40}|[0-9a-f]{64})$`)

// HubHash is the hash that the name of a hub blob bears, "" for other links.
func (e *Entry) HubHash() string {
	if m := hubBlob.FindStringSubmatch(filepath.ToSlash(e.Target)); m != nil {
		return m[2]
	}
	return ""
}

// readDir lists a directory and follows each of its links once.
func readDir(dir string) ([]Entry, error) {
	list, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(list))
	for i, d := range list {
		out[i] = look(dir, d.Name(), d.Type())
	}
	return out, nil
}

// look describes one name; typ is what the directory says of it.
func look(dir, name string, typ fs.FileMode) Entry {
	path := filepath.Join(dir, name)
	e := Entry{Name: name, Mode: typ}
	if typ&fs.ModeSymlink != 0 {
		e.Target, _ = os.Readlink(path)
		e.Link = OutsideLink
	}
	info, err := os.Stat(path)
	switch {
	case err == nil:
		e.Mode, e.Size = info.Mode(), info.Size()
	case e.Link != NoLink && isDangling(err):
		e.Link, e.Mode = BrokenLink, fs.ModeSymlink
		return e
	default:
		e.Err = err
		return e
	}
	if e.Link == OutsideLink {
		e.Link = linkKind(dir, path, &e)
	}
	return e
}

// isDangling says whether a link cannot be followed to anything: its target
// is not there, or it leads round in a circle.
func isDangling(err error) bool {
	return os.IsNotExist(err) || strings.Contains(err.Error(), "too many levels") || strings.Contains(err.Error(), "not a directory")
}

func linkKind(dir, path string, e *Entry) LinkKind {
	if e.HubHash() != "" {
		return HubLink
	}
	leads, err := filepath.EvalSymlinks(path)
	home, err2 := filepath.EvalSymlinks(dir)
	if err != nil || err2 != nil {
		return OutsideLink
	}
	if below(leads, home) {
		return InsideLink
	}
	// A cache whose links are absolute: DIR is REPO/snapshots/REV.
	repo, blob := filepath.Dir(filepath.Dir(home)), filepath.Base(leads)
	if filepath.Base(filepath.Dir(home)) == "snapshots" && filepath.Dir(leads) == filepath.Join(repo, "blobs") && hubName.MatchString(blob) {
		return HubLink
	}
	return OutsideLink
}

// below says whether path lies in dir or in a directory of it.
func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// hubName is the name of a blob: a git SHA-1 or a SHA-256.
var hubName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// natural compares names so that numbers in them count as numbers: part-2
// comes before part-10.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx > 0 && dy > 0 {
			nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
			if len(nx) != len(ny) {
				return len(nx) - len(ny)
			}
			if c := strings.Compare(nx, ny); c != 0 {
				return c
			}
			x, y = x[dx:], y[dy:]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}
