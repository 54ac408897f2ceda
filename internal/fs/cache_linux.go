package fs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// DropCache makes the kernel forget what it holds of a file. Pages that were
// written and not yet stored are stored first; those that another process has
// mapped stay. Resident says what became of it.
func DropCache(f *os.File) error {
	if err := again(func() error { return unix.Fdatasync(int(f.Fd())) }); err != nil && !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EINVAL) {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	// Once more for pages that were on their way to the kernel's lists.
	for range 2 {
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return &os.PathError{Op: "fadvise", Path: f.Name(), Err: err}
		}
	}
	return nil
}

// Resident is how many bytes of a file the page cache holds, in whole pages.
func Resident(f *os.File) (int64, error) { return ResidentRange(f, Range{}) }

// ResidentRange is the same for a part of a file; a length of 0 is up to its end.
func ResidentRange(f *os.File, r Range) (int64, error) {
	var got unix.Cachestat_t
	err := again(func() error {
		return unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{Off: uint64(r.Off), Len: uint64(r.Len)}, &got, 0)
	})
	switch {
	case err == nil:
		return int64(got.Cache) * int64(os.Getpagesize()), nil
	case errors.Is(err, unix.ENOSYS):
		return 0, &UnsupportedError{Feature: "cachestat", Reason: "needs Linux 6.5"}
	case errors.Is(err, unix.EPERM):
		return 0, &UnsupportedError{Feature: "cachestat", Reason: "not permitted"}
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, &UnsupportedError{Feature: "cachestat", Reason: "the file has no pages of its own"}
	}
	return 0, &os.PathError{Op: "cachestat", Path: f.Name(), Err: err}
}
