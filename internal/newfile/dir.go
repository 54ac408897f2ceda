package newfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotEmpty: a destination directory holds something already.
var ErrNotEmpty = errors.New("directory is not empty")

// Dir makes the directory path for output, or accepts one that exists and is
// empty. A link is refused, whatever it leads to: output goes where its path
// says. Parents must exist.
func Dir(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Mkdir(path, 0o777)
	}
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
