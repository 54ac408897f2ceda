//go:build !linux

package pages

import (
	"context"
	"runtime"
	"unsafe"
)

// HugeBytes is the size of a huge page, where there are any.
const HugeBytes = 2 << 20

// New makes an area on the Go heap: this system's own ways are not used.
func New(_ context.Context, bytes int64) (*Area, error) {
	if err := checkSize(bytes); err != nil {
		return nil, err
	}
	const page = 1 << 14 // the largest of common systems
	mem := make([]byte, bytes+page)
	skip := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) % page)
	return &Area{kind: KindHeap, reason: "huge pages are not used on " + runtime.GOOS, mem: mem[skip : skip+bytes : skip+bytes]}, nil
}

// NewPlain makes one without huge pages.
func NewPlain(ctx context.Context, bytes int64) (*Area, error) { return New(ctx, bytes) }

// Close lets the memory go. It may be called twice.
func (a *Area) Close() error {
	a.mem = nil
	return nil
}

// NewShared makes an area that no other process can have.
func NewShared(ctx context.Context, _ string, bytes int64) (*Shared, error) {
	a, err := New(ctx, bytes)
	if err != nil {
		return nil, err
	}
	return &Shared{Area: *a}, nil
}

// Seal is not implemented on this system.
func (s *Shared) Seal() error { return errSealed }

// Close lets the memory go. It may be called twice.
func (s *Shared) Close() error { return s.Area.Close() }
