package loader

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart.
var (
	// ErrMemory: a device or the host has not enough memory.
	ErrMemory = errors.New("not enough memory")
	// ErrUnavailable: the engine or device that was asked for cannot be had here.
	ErrUnavailable = errors.New("not available")
	// ErrChanged: a file is not the one that was planned, or changed meanwhile.
	ErrChanged = errors.New("the checkpoint changed")
	// ErrVerify: what was read or placed is not what it should be.
	ErrVerify = errors.New("verification failed")
)

// ReadError says what could not be read.
type ReadError struct {
	File   string // its path
	System string // the file system it lies on
	Offset int64
	Bytes  int
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("%s (%s): reading %d bytes at %d: %v", e.File, e.System, e.Bytes, e.Offset, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }
