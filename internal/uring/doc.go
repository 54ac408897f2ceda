// Package uring reads files through io_uring, by its system calls alone: [New]
// makes a ring, [Ring.Read] queues a read, [Ring.Submit] starts what is queued,
// [Ring.Wait] waits and [Ring.Pop] takes completions.
//
// Layout: ring_linux.go is the ring, setup_linux.go makes it, register_linux.go
// gives it buffers and files, reason_linux.go says why there is none. Elsewhere
// New gives an error that matches [errors.ErrUnsupported].
//
// Limits: reads only. No polling modes: they cost many times the processor time
// and win nothing on blocks of megabytes.
//
// Concurrency: a ring belongs to the thread that made it, up to Close; the caller
// locks its goroutine to it. The kernel answers EEXIST to others where it can
// tell. Spec: io_uring_setup(2), io_uring_enter(2), io_uring_register(2).
package uring

import (
	"errors"
	"fmt"
)

// ErrFull: as many reads are queued as the ring has entries.
var ErrFull = errors.New("the ring is full")

// UnavailableError says why there is no ring. It matches [errors.ErrUnsupported]
// and its cause.
type UnavailableError struct {
	Reason string
	Err    error
}

func (e *UnavailableError) Error() string { return "io_uring: " + e.Reason }

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() []error {
	if e.Err == nil {
		return []error{errors.ErrUnsupported}
	}
	return []error{errors.ErrUnsupported, e.Err}
}

// RegisterError says what the kernel did not register, and why.
type RegisterError struct {
	What   string // "buffers", "files"
	Reason string
	Err    error
}

func (e *RegisterError) Error() string { return fmt.Sprintf("registering %s: %s", e.What, e.Reason) }

func (e *RegisterError) Unwrap() error { return e.Err }
