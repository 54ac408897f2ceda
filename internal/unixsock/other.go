//go:build !linux

package unixsock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

var errHere = fmt.Errorf("hand-off by sockets: %w on %s", errors.ErrUnsupported, runtime.GOOS)

// Listener has a name.
type Listener struct{}

// Conn is a connection to a process of the same user, or of root.
type Conn struct{}

// Free says whether Listen could take a name.
func Free(string) error { return errHere }

// Listen takes a name.
func Listen(string) (*Listener, error) { return nil, errHere }

// Accept waits for a process that connects.
func (*Listener) Accept() (*Conn, error) { return nil, errHere }

// Close gives the name back.
func (*Listener) Close() error { return errHere }

// Dial connects to the process that has a name.
func Dial(context.Context, string) (*Conn, error) { return nil, errHere }

// Peer is the process at the other end.
func (*Conn) Peer() Peer { return Peer{} }

// SetDeadline bounds Send and Receive.
func (*Conn) SetDeadline(time.Time) error { return errHere }

// Close ends the connection.
func (*Conn) Close() error { return errHere }

// Send sends a line and descriptors with it.
func (*Conn) Send([]byte, ...*os.File) error { return errHere }

// Receive waits for a line.
func (*Conn) Receive(int, int) ([]byte, []*os.File, error) { return nil, nil, errHere }

// Gone reports that the other end has gone.
func (*Conn) Gone() <-chan struct{} { return nil }
