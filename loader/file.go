package loader

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"ckpt/internal/fs"
)

// File is one weight file, open for reading.
type File struct {
	Name string // as in the plan
	Path string
	Size int64
	// Align is what offsets, lengths and addresses of direct reads are
	// multiples of; 1 where the file is read through the page cache.
	Align  int
	Direct bool
	// Reason says why the file is not read directly, where it is not.
	Reason string

	f       *os.File
	refused atomic.Pointer[string]
}

// FileState is what a file looks like from outside; comparable.
type FileState = fs.State

// OpenFile opens a regular file, for reads around the page cache where direct is
// asked for and the file system can do it. It finds that out by asking for the
// alignment and by reading a little, and says in Reason why not.
func OpenFile(path, name string, direct bool) (*File, error) {
	f, info, err := fs.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	file := &File{Name: name, Path: path, Size: info.Size(), Align: 1, f: f}
	if direct {
		file.Align, file.Reason = goDirect(f, info.Size())
	} else {
		file.Reason = "reads through the page cache were asked for"
	}
	file.Direct = file.Reason == ""
	if !file.Direct {
		file.Align = 1
		if err := fs.SetDirect(f, false); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return file, nil
}

// goDirect switches a file to direct reads. The reason is empty where it did.
func goDirect(f *os.File, size int64) (align int, reason string) {
	switch system := fs.TypeOf(f.Name()); system {
	case "tmpfs", "ramfs", "hugetlbfs":
		return 1, system + " keeps its files in memory"
	}
	a, err := fs.DirectAlign(f)
	if err != nil {
		return 1, refusal(err)
	}
	align = max(a.Memory, a.Offset)
	if align > pageSize || align&(align-1) != 0 {
		return 1, fmt.Sprintf("direct reads want an alignment of %d bytes, at most %d", align, pageSize)
	}
	if err := fs.SetDirect(f, true); err != nil {
		return 1, "the file system refuses direct I/O: " + refusal(err)
	}
	cached, err := fs.ProbeDirect(f, size)
	if err != nil {
		// What it is worth is told by the reads of the load.
		return 1, "a direct read fails: " + refusal(err)
	}
	if cached {
		return 1, "the file system takes direct reads and makes them through the page cache"
	}
	return align, ""
}

// refusal is the innermost error: what is around it names the path again.
func refusal(err error) string {
	if e := (*os.PathError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// refuse makes the file one that is read through the page cache, after all: a
// direct read was refused that was aligned as the file system wants it.
func (f *File) refuse(err error) error {
	reason := "a direct read was refused: " + refusal(err)
	f.refused.CompareAndSwap(nil, &reason)
	return fs.SetDirect(f.f, false)
}

// Refused says why the file was read through the page cache from some moment on,
// although it was opened for direct reads; empty where it was not.
func (f *File) Refused() string {
	if r := f.refused.Load(); r != nil {
		return *r
	}
	return ""
}

// Stat looks at the open file.
func (f *File) Stat() (FileState, error) { return fs.StateOf(f.f) }

// DropCache makes the kernel forget what it holds of the file.
func (f *File) DropCache() error { return fs.DropCache(f.f) }

// Resident is how many bytes of it the page cache holds.
func (f *File) Resident() (int64, error) { return fs.Resident(f.f) }

// Close closes the file. No request may be in flight.
func (f *File) Close() error { return f.f.Close() }
