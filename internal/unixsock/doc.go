// Package unixsock passes lines and file descriptors between processes of one
// user over a Unix socket: Listen takes a name for this process, Dial reaches
// the process that has it.
//
// # Names
//
// A name belongs to the process that listens at it. Listen refuses one that
// answers, removes one whose process is dead, and touches nothing that is no
// socket; Free says beforehand whether it would. Whoever listens may read and
// write the socket, mode 0600, and nobody else. Looking and taking are one step
// under a lock of the directory, which leaves no file behind; where a file system
// has no such locks, two processes that take a dead name in the same instant may
// both believe to have it.
//
// # Lines
//
// A message is a line of text, descriptors beside it. Both are bounded by the
// receiver, and descriptors that were not asked for are closed. Both sides see
// who the other is from the kernel, not from what it says.
//
// # Limits
//
// Linux only; elsewhere everything is an error that matches
// errors.ErrUnsupported.
//
// # Concurrency
//
// A Conn may be read by one goroutine and written by another.
package unixsock

import "errors"

// Errors that callers tell apart.
var (
	// ErrInUse: a living process listens at the name.
	ErrInUse = errors.New("another process listens there")
	// ErrNotSocket: something that is no socket has the name.
	ErrNotSocket = errors.New("not a socket")
	// ErrStranger: the other side is another user's process.
	ErrStranger = errors.New("a process of another user")
	// ErrNobody: nobody listens at the name.
	ErrNobody = errors.New("nobody listens there")
	// ErrMessage: a message is not as it should be.
	ErrMessage = errors.New("a message that makes no sense")
)

// Peer is the process at the other end, as the kernel knows it.
type Peer struct {
	PID      int
	UID, GID uint32
}

// MostFiles is how many descriptors fit beside one line (SCM_MAX_FD).
const MostFiles = 253
