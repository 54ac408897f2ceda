//go:build !linux

package uring

import (
	"errors"
	"runtime"
)

var errNone error = &UnavailableError{"there is none on " + runtime.GOOS, errors.ErrUnsupported}

// Ring does not exist on this system.
type Ring struct{}

// Request is a read.
type Request struct {
	FD     int
	Fixed  bool
	Buf    []byte
	Offset int64
	ID     uint64
}

// New gives an error.
func New(int) (*Ring, error) { return nil, errNone }

// Mode is empty.
func (*Ring) Mode() string { return "" }

// Entries is 0.
func (*Ring) Entries() int { return 0 }

// Inflight is 0.
func (*Ring) Inflight() int { return 0 }

// Read gives an error.
func (*Ring) Read(Request) error { return errNone }

// Submit gives an error.
func (*Ring) Submit() error { return errNone }

// Wait gives an error.
func (*Ring) Wait(int) error { return errNone }

// Pop gives nothing.
func (*Ring) Pop() (uint64, int, bool) { return 0, 0, false }

// Drain gives an error.
func (*Ring) Drain() error { return errNone }

// RegisterBuffers gives an error.
func (*Ring) RegisterBuffers([][]byte) error { return errNone }

// RegisterFiles gives an error.
func (*Ring) RegisterFiles(int) error { return errNone }

// Files is 0.
func (*Ring) Files() int { return 0 }

// SetFile gives an error.
func (*Ring) SetFile(int, int) error { return errNone }

// Close does nothing.
func (*Ring) Close() error { return nil }
