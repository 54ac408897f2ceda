// Package fs tells what the file system and the machine say about themselves:
// [TypeOf] names the file system under a path and [Holes] finds the parts of a
// file that were never written.
//
// Layout: type.go names file systems, holes.go and extents.go look at one
// file, direct.go and cache_linux.go at how it is read, memory.go and host.go at
// the machine. Each has a form for linux; on
// other systems a call that has no meaning or no implementation there returns
// an error that matches [errors.ErrUnsupported].
//
// Limits: nothing here writes, and only [DropCache] asks the file system to
// flush.
// What a network file system answers about holes and extents is its own view.
//
// Concurrency: all functions may be called in parallel. [Holes] moves the file
// offset of the descriptor it is given, so that descriptor must be read with
// ReadAt alone.
package fs

import (
	"errors"
	"fmt"
)

// Range is a half-open part of a file, in bytes from its start.
type Range struct {
	Off, Len int64
}

// End is the offset of the first byte behind the range.
func (r Range) End() int64 { return r.Off + r.Len }

// UnsupportedError says which question cannot be answered here and why. It
// matches [errors.ErrUnsupported].
type UnsupportedError struct {
	Feature string // what was asked: "FIEMAP", "statfs"
	Reason  string // why there is no answer
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: %s", e.Feature, e.Reason)
}

// Is makes the error match errors.ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }
