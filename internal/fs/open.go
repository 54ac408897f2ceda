package fs

import (
	"fmt"
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
