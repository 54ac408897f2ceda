package fs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// NotRegularError says that a path is no regular file: a directory, a FIFO, a
// socket or a device.
type NotRegularError struct {
	Path string
	Mode fs.FileMode
}

func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%s: not a regular file but a %s", e.Path, e.Kind())
}

// Kind names what the path is instead.
func (e *NotRegularError) Kind() string {
	switch {
	case e.Mode.IsDir():
		return "directory"
	case e.Mode&fs.ModeNamedPipe != 0:
		return "FIFO"
	case e.Mode&fs.ModeSocket != 0:
		return "socket"
	case e.Mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// OpenRegular opens a regular file for reading, through links. It looks before
// it opens, since opening a device may already do something, opens without
// blocking, and looks again at what it got.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &NotRegularError{path, info.Mode()}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &NotRegularError{path, info.Mode()}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// TooLargeError says that a file is over the size that its reader allows.
type TooLargeError struct {
	Path      string
	Size, Max int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: %d bytes are over the cap of %d", e.Path, e.Size, e.Max)
}

// ReadRegular reads a regular file of at most limit bytes whole. A file that
// shrinks meanwhile is an unexpected EOF.
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, info, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, &TooLargeError{path, info.Size(), limit}
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return data, nil
}

// ReadHead reads the first n bytes of a regular file, or all of a shorter one.
func ReadHead(path string, n int) ([]byte, error) {
	f, _, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, n)
	got, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:got], err
}
