package pages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HugeBytes is the size of a huge page: of one entry of the last but one level of
// a page table with 4 KiB pages. Elsewhere alignment to it does no harm.
const HugeBytes = 2 << 20

// New makes an area that is private to this process, zeroed. Refused huge pages
// are no error: Kind and Reason tell. Where the context ends first, its cause is the
// error, and the memory is returned.
func New(ctx context.Context, bytes int64) (*Area, error) {
	return newArea(ctx, bytes, wish{huge: true, collapse: true})
}

// NewPlain makes one on small pages.
func NewPlain(ctx context.Context, bytes int64) (*Area, error) { return newArea(ctx, bytes, wish{}) }

// wish is what to try; tests leave steps out.
type wish struct{ huge, collapse bool }

func newArea(ctx context.Context, bytes int64, w wish) (*Area, error) {
	a := new(Area)
	if err := a.reserve(bytes); err != nil || bytes == 0 {
		return a, err
	}
	if err := unix.Mprotect(a.inside(), unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return nil, errors.Join(noMemory("mprotect", bytes, err), a.Close())
	}
	if err := a.fill(ctx, w, "AnonHugePages"); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// reserve takes addresses for the area, on the boundary of a huge page and with
// at least a page before and behind it that nobody may touch. These keep the
// kernel from joining the mapping with a neighbour, so its count of huge pages is
// that of this area, and turn a write past the end into a fault at once.
func (a *Area) reserve(bytes int64) error {
	a.kind = KindPlain
	if err := checkSize(bytes); err != nil || bytes == 0 {
		return err
	}
	// Filling more than the machine has would end some process, not the call.
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil && bytes > int64(info.Totalram)*int64(info.Unit) {
		return fmt.Errorf("an area of %d bytes: the machine has %d: %w", bytes, int64(info.Totalram)*int64(info.Unit), ErrNoMemory)
	}
	room := roundUp(int(bytes), pageSize()) + 2*HugeBytes
	whole, err := mapped(-1, nil, room, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return noMemory("mmap", bytes, err)
	}
	start := HugeBytes - int(address(whole)%HugeBytes)
	a.whole, a.mem = whole, whole[start:start+int(bytes):start+int(bytes)]
	return nil
}

// inside is the memory up to the end of its last page.
func (a *Area) inside() []byte {
	return unsafe.Slice(unsafe.SliceData(a.mem), roundUp(len(a.mem), pageSize()))
}

// Close returns the memory to the system. It may be called twice.
func (a *Area) Close() error {
	whole := a.whole
	a.whole, a.mem = nil, nil
	if whole == nil {
		return nil
	}
	return os.NewSyscallError("munmap", unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(whole)), uintptr(len(whole))))
}

// mapped is mmap. Memory that the garbage collector does not know lies behind the
// slice; it stays until it is unmapped, which only Close does.
func mapped(fd int, at unsafe.Pointer, bytes, prot, flags int) ([]byte, error) {
	p, err := unix.MmapPtr(fd, 0, at, uintptr(bytes), prot, flags)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}

func noMemory(call string, bytes int64, err error) error {
	if errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("an area of %d bytes: %s: %w: %w", bytes, call, err, ErrNoMemory)
	}
	return fmt.Errorf("an area of %d bytes: %s: %w", bytes, call, err)
}

func address(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }

func roundUp(n, to int) int { return (n + to - 1) / to * to }

func pageSize() int { return os.Getpagesize() }
