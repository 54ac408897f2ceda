package unixsock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Conn is a connection to a process of the same user, or of root.
type Conn struct {
	c    *net.UnixConn
	peer Peer
	rest []byte // received behind the last line
}

// Dial connects to the process that has a name. Errors: ErrNobody, ErrStranger.
func Dial(ctx context.Context, path string) (*Conn, error) {
	p, err := newPlace(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	c, err := new(net.Dialer).DialContext(ctx, "unix", p.at)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w: %w", path, ErrNobody, cause(err))
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &fs.PathError{Op: "connect", Path: path, Err: cause(err)}
	}
	return newConn(c.(*net.UnixConn))
}

// newConn looks at who is at the other end; it closes the connection where that
// is a stranger.
func newConn(c *net.UnixConn) (*Conn, error) {
	peer, err := peerOf(c)
	if err == nil && peer.UID != 0 && peer.UID != uint32(os.Geteuid()) {
		err = fmt.Errorf("%w: user %d, process %d", ErrStranger, peer.UID, peer.PID)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &Conn{c: c, peer: peer}, nil
}

func peerOf(c *net.UnixConn) (Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(err, failed); err != nil {
		return Peer{}, fmt.Errorf("peer credentials: %w", err)
	}
	return Peer{PID: int(cred.Pid), UID: cred.Uid, GID: cred.Gid}, nil
}

// Peer is the process at the other end.
func (c *Conn) Peer() Peer { return c.peer }

// SetDeadline bounds Send and Receive; the zero time lifts the bound.
func (c *Conn) SetDeadline(t time.Time) error { return c.c.SetDeadline(t) }

// Close ends the connection.
func (c *Conn) Close() error { return c.c.Close() }

// Send sends a line, to which it adds the line feed, and descriptors with it. The
// files stay the caller's.
func (c *Conn) Send(line []byte, files ...*os.File) error {
	if bytes.IndexByte(line, '\n') >= 0 || len(files) > MostFiles {
		return fmt.Errorf("%w: %d descriptors, or a line of several", ErrMessage, len(files))
	}
	line = append(bytes.Clone(line), '\n')
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		n, _, err := c.c.WriteMsgUnix(line[:1], syscall.UnixRights(fds...), nil)
		if err != nil {
			return err
		}
		line = line[n:]
	}
	_, err := c.c.Write(line)
	return err
}

// Receive waits for a line of at most so many bytes, and gives it without its
// line feed, with the descriptors that came along, at most so many. The end of
// the connection is io.EOF, in the middle of a line io.ErrUnexpectedEOF.
func (c *Conn) Receive(most, mostFiles int) (line []byte, files []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			line, files = nil, nil
		}
	}()
	buf := c.rest
	c.rest = nil
	piece := make([]byte, 4096)
	oob := make([]byte, unix.CmsgSpace(4*MostFiles))
	for {
		if i := bytes.IndexByte(buf, '\n'); i >= 0 && i <= most {
			c.rest = buf[i+1:]
			return buf[:i], files, nil
		}
		if len(buf) > most {
			return nil, files, fmt.Errorf("%w: a line of more than %d bytes", ErrMessage, most)
		}
		n, oobn, flags, _, err := c.c.ReadMsgUnix(piece, oob)
		got, err2 := received(oob[:oobn])
		files = append(files, got...)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, files, err
		case err2 != nil:
			return nil, files, err2
		case flags&unix.MSG_CTRUNC != 0 || len(files) > mostFiles:
			return nil, files, fmt.Errorf("%w: more than %d descriptors", ErrMessage, mostFiles)
		case n == 0 && len(buf) == 0:
			return nil, files, io.EOF
		case n == 0:
			return nil, files, io.ErrUnexpectedEOF
		}
		buf = append(buf, piece[:n]...)
	}
}

// received takes the descriptors out of a control message; they are closed on
// exec already.
func received(oob []byte) (files []*os.File, err error) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			continue // no descriptors
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

// Gone reports, by closing the channel, that the other end has gone. It reads
// what comes and throws it away, so nothing is received any more; it ends when
// the connection does.
func (c *Conn) Gone() <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			_, files, err := c.Receive(4096, 0)
			for _, f := range files {
				f.Close()
			}
			if err != nil {
				return
			}
		}
	}()
	return gone
}
