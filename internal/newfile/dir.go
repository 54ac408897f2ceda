package newfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// ErrNotEmpty: a destination directory holds something already.
var ErrNotEmpty = errors.New("directory is not empty")

// Directory is a directory for output that was empty at first. It remembers
// which of its files were made, so that they can be taken away again.
type Directory struct {
	path string
	made bool // by MakeDir

	mu    sync.Mutex
	files []string
}

// MakeDir makes the directory path for output, or accepts one that exists and
// is empty. A link is refused, whatever it leads to: output goes where its
// path says. Parents must exist.
func MakeDir(path string) (*Directory, error) {
	err := os.Mkdir(path, 0o777)
	if err == nil {
		return &Directory{path: path, made: true}, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := usable(path); err != nil {
		return nil, err
	}
	return &Directory{path: path}, nil
}

// Path is where a file of that name goes.
func (d *Directory) Path(name string) string { return filepath.Join(d.path, name) }

// Made remembers a file that has its name now. It may be called from several
// goroutines.
func (d *Directory) Made(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files = append(d.files, name)
}

// Write makes a file with this content.
func (d *Directory) Write(name string, data []byte) error {
	if err := Write(d.Path(name), data); err != nil {
		return err
	}
	d.Made(name)
	return nil
}

// Discard removes the files that were made, and the directory if MakeDir made
// it and nothing else lies there: what a piece of work that failed leaves.
func (d *Directory) Discard() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	for _, name := range d.files {
		if e := os.Remove(d.Path(name)); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	d.files = nil
	if d.made {
		_ = os.Remove(d.path) // fails where others have put something into it
	}
	return err
}

func usable(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return &fs.PathError{Op: "create", Path: path, Err: errors.New("is a symbolic link")}
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return empty(path)
}

func empty(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	switch names, err := d.Readdirnames(1); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("%s: %w: %q", path, ErrNotEmpty, names[0])
	}
}
