package fs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Holes gives the parts of [off, off+n) of a file that were never written, in
// order, clipped to that range; bytes behind the end of the file are no holes.
// A file without holes costs one system call. Space that was reserved and not
// written counts as a hole; a file system that does not know holes says that
// all is data, and then there are none.
func Holes(f *os.File, off, n int64) ([]Range, error) {
	var out []Range
	fd := int(f.Fd())
	end := off + n
	for off < end {
		hole, err := seek(fd, off, unix.SEEK_HOLE)
		if errors.Is(err, unix.ENXIO) || err == nil && hole >= end {
			return out, nil // off is behind the end of the file, or all is data
		}
		if err != nil {
			return nil, holeError(f, err)
		}
		data, err := seek(fd, hole, unix.SEEK_DATA)
		switch {
		case errors.Is(err, unix.ENXIO): // no data any more, or the end of the file
			if data, err = seek(fd, 0, unix.SEEK_END); err != nil {
				return nil, holeError(f, err)
			}
		case err != nil:
			return nil, holeError(f, err)
		}
		if data <= hole { // the hole that every file has at its end
			return out, nil
		}
		data = min(data, end)
		out = append(out, Range{Off: hole, Len: data - hole})
		off = data
	}
	return out, nil
}

func holeError(f *os.File, err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		return &UnsupportedError{Feature: "SEEK_HOLE", Reason: "this file system does not tell holes"}
	}
	return &os.PathError{Op: "seek hole", Path: f.Name(), Err: err}
}

func seek(fd int, off int64, whence int) (int64, error) {
	for {
		n, err := unix.Seek(fd, off, whence)
		if err != unix.EINTR {
			return n, err
		}
	}
}
