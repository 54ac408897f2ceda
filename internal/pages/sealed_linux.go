package pages

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// allSeals make the contents and the size of a memory file final.
const allSeals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// Sealed makes a memory file of some bytes that nobody can change any more, open
// for reading only.
func Sealed(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, allSeals); err != nil {
		return nil, os.NewSyscallError("F_ADD_SEALS", err)
	}
	return Reopen(f)
}

// Reopen opens a memory file anew, for reading only: with an offset of its own,
// and no way to write. Before Linux 6.7 a file that is sealed against writing can
// only be mapped, shared, through such a descriptor.
func Reopen(f *os.File) (*os.File, error) {
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "reopen", Path: f.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// CheckSealed makes sure that a file that another process sent has at least so
// many bytes and that neither they nor its size can change.
func CheckSealed(f *os.File, bytes int64) error {
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotSealed, err)
	}
	const need = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK
	if seals&need != need {
		return fmt.Errorf("%w: seals %#x", ErrNotSealed, seals)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if bytes < 0 || info.Size() < bytes {
		return fmt.Errorf("%w: it has %d bytes, want %d", ErrNotSealed, info.Size(), bytes)
	}
	return nil
}

// View is a sealed memory file of another process, mapped for reading.
type View struct{ mem []byte }

// NewView maps a sealed memory file. The file may be closed afterwards.
//
// Bytes gives memory that the kernel takes away at Close: whoever uses it later
// faults. It cannot shrink before, which is what the seals are checked for.
func NewView(f *os.File, bytes int64) (*View, error) {
	if err := CheckSealed(f, bytes); err != nil {
		return nil, err
	}
	if bytes == 0 {
		return new(View), nil
	}
	if int64(int(bytes)) != bytes {
		return nil, fmt.Errorf("mapping %d bytes: %w", bytes, errors.ErrUnsupported)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(bytes), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes: %w", bytes, err)
	}
	return &View{mem}, nil
}

// Bytes is the memory. Writing to it faults.
func (v *View) Bytes() []byte { return v.mem }

// Close takes the memory away.
func (v *View) Close() error {
	mem := v.mem
	v.mem = nil
	if mem == nil {
		return nil
	}
	return unix.Munmap(mem)
}
