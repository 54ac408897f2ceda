package uring

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// RegisterBuffers makes the kernel keep the pages of buffers at hand, so that
// reads into them need not look them up. Buffers have at most 1 GiB each. They
// count against the limit of locked memory of a process without CAP_IPC_LOCK; an
// error is a *RegisterError, and reads without them work all the same.
func (r *Ring) RegisterBuffers(buffers [][]byte) error {
	list := make([]unix.Iovec, len(buffers))
	var bytes int64
	for i, b := range buffers {
		list[i].Base = unsafe.SliceData(b)
		list[i].SetLen(len(b))
		bytes += int64(len(b))
	}
	if len(list) == 0 {
		return nil
	}
	errno := r.register(registerBuffers, unsafe.Pointer(&list[0]), len(list))
	runtime.KeepAlive(list)
	if errno != 0 {
		return &RegisterError{"buffers", bufferRefusal(errno, bytes), errno}
	}
	r.buffers = buffers
	return nil
}

// RegisterFiles makes a table of so many places for files, all empty.
func (r *Ring) RegisterFiles(places int) error {
	fds := make([]int32, places)
	for i := range fds {
		fds[i] = -1
	}
	if errno := r.register(registerFiles, unsafe.Pointer(unsafe.SliceData(fds)), places); errno != 0 {
		return &RegisterError{"files", errno.Error(), errno}
	}
	r.files = places
	return nil
}

// Files is how many places there are.
func (r *Ring) Files() int { return r.files }

// SetFile puts a descriptor into a place, or -1 to empty it. Reads that are in
// flight keep the file that they began with.
func (r *Ring) SetFile(place, fd int) error {
	if place < 0 || place >= r.files {
		return &RegisterError{"files", fmt.Sprintf("there is no place %d among %d", place, r.files), errors.ErrUnsupported}
	}
	fds := [1]int32{int32(fd)}
	u := filesUpdate{Offset: uint32(place), FDs: uint64(uintptr(unsafe.Pointer(&fds)))}
	errno := r.register(registerFilesUpdate, unsafe.Pointer(&u), 1)
	runtime.KeepAlive(&fds)
	if errno != 0 {
		return &RegisterError{"files", errno.Error(), errno}
	}
	return nil
}

// register is io_uring_register. What arg points to is read, or written, before
// it returns.
func (r *Ring) register(op int, arg unsafe.Pointer, n int) unix.Errno {
	for {
		_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), uintptr(op), uintptr(arg), uintptr(n), 0, 0)
		if errno != unix.EINTR {
			return errno
		}
	}
}
