package fs

import (
	"errors"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// safeAlign is what direct reads are aligned to where nobody says what they need.
const safeAlign = 4096

// DirectAlign asks what direct reads of a file need. A file that cannot be read
// directly is an error that matches errors.ErrUnsupported.
func DirectAlign(f *os.File) (Alignment, error) {
	assumed := Alignment{safeAlign, safeAlign, true}
	var st unix.Statx_t
	err := again(func() error {
		return unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st)
	})
	switch {
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM): // old, or filtered
		return assumed, nil
	case err != nil:
		return assumed, &os.PathError{Op: "statx", Path: f.Name(), Err: err}
	case st.Mask&unix.STATX_DIOALIGN == 0:
		return assumed, nil
	case st.Dio_offset_align == 0 || st.Dio_mem_align == 0:
		return Alignment{}, &UnsupportedError{Feature: "direct reads", Reason: "the file system has none for this file"}
	}
	return Alignment{Memory: int(st.Dio_mem_align), Offset: int(st.Dio_offset_align)}, nil
}

// SetDirect makes reads of an open file go around the page cache, or through it
// again. It also makes them block, which OpenRegular leaves off.
func SetDirect(f *os.File, direct bool) error {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err == nil {
		flags &^= unix.O_DIRECT | unix.O_NONBLOCK
		if direct {
			flags |= unix.O_DIRECT
		}
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags)
	}
	if err != nil {
		return &os.PathError{Op: "fcntl", Path: f.Name(), Err: err}
	}
	return nil
}

// ProbeDirect reads a little of a file that is open for direct reads: some file
// systems accept the flag and refuse the read. It says whether the bytes came
// through the page cache all the same, as far as that can be told: a place of the
// file that is not in the cache must not be in it afterwards.
func ProbeDirect(f *os.File, size int64) (cached bool, err error) {
	const n = safeAlign
	mem := make([]byte, 2*n)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) % n)
	mem = mem[skip : skip+n]
	for _, at := range []int64{0, size / 2 &^ (n - 1), max(0, size-n) &^ (n - 1)} {
		before, unknown := ResidentRange(f, Range{at, n})
		if at > 0 && (unknown != nil || before > 0) {
			continue
		}
		if _, err := f.ReadAt(mem, at); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if unknown != nil || before > 0 {
			continue
		}
		after, err := ResidentRange(f, Range{at, n})
		return err == nil && after > 0, nil
	}
	return false, nil
}

// StateOf looks at an open file.
func StateOf(f *os.File) (State, error) {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil {
		return State{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return State{
		Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(),
		Inode: st.Ino, Device: st.Dev,
	}, nil
}

func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
