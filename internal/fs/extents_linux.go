package fs

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The numbers and the layout are those of linux/fiemap.h and linux/fs.h.
const (
	iocFiemap = 0xc020660b // _IOWR('f', 11, struct fiemap)

	extentLast     = 0x1
	extentUnknown  = 0x2 // the place on the device is not known
	extentDelalloc = 0x4 // not placed yet
	extentInline   = 0x200

	fiemapBatch = 256 // extents a call: 14 KiB
)

type fiemapExtent struct {
	Logical, Physical, Length uint64
	_                         [2]uint64
	Flags                     uint32
	_                         [3]uint32
}

type fiemap struct {
	Start, Length uint64
	Flags         uint32
	Mapped        uint32
	Count         uint32
	_             uint32
	Extents       [fiemapBatch]fiemapExtent
}

// ExtentsOf counts the extents of a file. It does not make the file system
// flush, so data that is still in memory counts as not placed.
//
// The system call reads and writes the memory of one struct fiemap with its
// extents behind it. The struct above has that layout with fixed sizes, it
// lives until the call returns, and Count tells the kernel how much there is.
func ExtentsOf(f *os.File) (Extents, error) {
	var e Extents
	var prev extent
	m := new(fiemap)
	for start := uint64(0); ; {
		*m = fiemap{Start: start, Length: ^uint64(0) - start, Count: fiemapBatch}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), iocFiemap, uintptr(unsafe.Pointer(m)))
		if errno != 0 {
			return Extents{}, fiemapError(f, errno)
		}
		mapped := m.Extents[:min(m.Mapped, fiemapBatch)]
		for _, x := range mapped {
			next := extent{
				logical: x.Logical, physical: x.Physical, length: x.Length,
				unplaced: x.Flags&(extentUnknown|extentDelalloc|extentInline) != 0,
			}
			e.add(prev, next)
			prev = next
			if x.Flags&extentLast != 0 {
				return e, nil
			}
		}
		if end := prev.logical + prev.length; len(mapped) > 0 && end > start {
			start = end
			continue
		}
		return e, nil
	}
}

func fiemapError(f *os.File, errno unix.Errno) error {
	if errno == unix.EOPNOTSUPP || errno == unix.ENOTTY || errors.Is(errno, unix.ENOSYS) {
		return &UnsupportedError{Feature: "FIEMAP", Reason: "this file system does not tell extents"}
	}
	return &os.PathError{Op: "fiemap", Path: f.Name(), Err: errno}
}
