package pagestest

import (
	"os"

	"golang.org/x/sys/unix"
)

// MapForWriting maps the first page of a memory file for writing, until end.
func MapForWriting(f *os.File) (end func() error, err error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return func() error { return unix.Munmap(mem) }, err
}
