package pages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NewShared makes an area in a memory file that has so many bytes, zeroed. The
// name is for those who look at the process, and the context as in New.
func NewShared(ctx context.Context, name string, bytes int64) (*Shared, error) {
	return newShared(ctx, name, bytes, wish{huge: true, collapse: true})
}

func newShared(ctx context.Context, name string, bytes int64, w wish) (*Shared, error) {
	s := new(Shared)
	if err := s.reserve(bytes); err != nil {
		return nil, err
	}
	if err := s.create(name, bytes); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if bytes == 0 {
		return s, nil
	}
	if err := s.mapFile(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, errors.Join(noMemory("mmap", bytes, err), s.Close())
	}
	if err := s.fill(ctx, w, "ShmemPmdMapped"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Shared) create(name string, bytes int64) error {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return os.NewSyscallError("memfd_create", err)
	}
	s.f = os.NewFile(uintptr(fd), name)
	if err := s.f.Truncate(bytes); err != nil {
		return err
	}
	if bytes == 0 || canPopulate(s) {
		return nil
	}
	// Pages are touched one by one then, which must not fail.
	if err := ignoreIntr(func() error { return unix.Fallocate(fd, 0, 0, bytes) }); err != nil {
		return noMemory("fallocate", bytes, err)
	}
	return nil
}

// canPopulate asks for nothing, which fails where the advice is not known.
func canPopulate(s *Shared) bool {
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, address(s.mem), 0, unix.MADV_POPULATE_WRITE)
	return errno == 0
}

// mapFile puts the file in the place that is reserved for it.
func (s *Shared) mapFile(prot, flags int) error {
	mem := s.inside()
	_, err := mapped(int(s.f.Fd()), unsafe.Pointer(unsafe.SliceData(mem)), len(mem), prot, flags|unix.MAP_FIXED)
	return err
}

// Seal makes the contents and the size final, for this process too: its own
// mapping stays where it is and can only be read. Nobody may be writing, and no
// device may have the memory registered for writing.
func (s *Shared) Seal() error {
	if len(s.mem) > 0 {
		// A file with a mapping for writing cannot be sealed.
		mem := s.inside()
		_, err := mapped(-1, unsafe.Pointer(unsafe.SliceData(mem)), len(mem), unix.PROT_NONE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|unix.MAP_FIXED)
		if err != nil {
			return fmt.Errorf("sealing: %w", os.NewSyscallError("mmap", err))
		}
	}
	_, sealing := unix.FcntlInt(s.f.Fd(), unix.F_ADD_SEALS, allSeals)
	if len(s.mem) > 0 {
		err := s.mapFile(unix.PROT_READ, unix.MAP_SHARED)
		if err != nil { // before Linux 6.7, sealed files can only be mapped privately
			err = s.mapFile(unix.PROT_READ, unix.MAP_PRIVATE)
		}
		if err != nil {
			return errors.Join(sealing, os.NewSyscallError("mmap", err))
		}
	}
	return os.NewSyscallError("seal", sealing)
}

// Close returns the memory to the system, as soon as no other process has the
// file. It may be called twice.
func (s *Shared) Close() error {
	err := s.Area.Close()
	if s.f == nil {
		return err
	}
	f := s.f
	s.f = nil
	return errors.Join(err, f.Close())
}
