package unixsock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listener has a name.
type Listener struct {
	l     *net.UnixListener
	path  string
	inode uint64
	once  sync.Once
	err   error
}

// Listen takes a name, also one whose process is dead. Errors: ErrInUse,
// ErrNotSocket.
func Listen(path string) (*Listener, error) {
	p, err := newPlace(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.lock(); err != nil {
		return nil, err
	}
	found, err := p.look()
	if err != nil {
		return nil, err
	}
	if found == dead {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	// The mode of a socket before bind is the mode of its name after it, less
	// the umask: there is no moment in which others could connect.
	private := func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, failed)
	}
	config := net.ListenConfig{Control: private}
	l, err := config.Listen(context.Background(), "unix", p.at)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %w", path, ErrInUse)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "listen", Path: path, Err: cause(err)}
	}
	own := &Listener{l: l.(*net.UnixListener), path: path}
	own.l.SetUnlinkOnClose(false)
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("%s: others may write to it, mode %v", path, info.Mode().Perm())
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(path))
	}
	own.inode = info.Sys().(*syscall.Stat_t).Ino
	return own, nil
}

// Accept waits for a process that connects. A process of another user is told
// nothing: the error matches ErrStranger, and the next call goes on.
func (l *Listener) Accept() (*Conn, error) {
	c, err := l.l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	return newConn(c)
}

// Close gives the name back and lets nobody in any more. A name that another
// process has by now is left alone.
func (l *Listener) Close() error {
	l.once.Do(func() {
		var remove error
		info, err := os.Lstat(l.path)
		if err == nil && info.Mode().Type() == fs.ModeSocket && info.Sys().(*syscall.Stat_t).Ino == l.inode {
			remove = os.Remove(l.path)
		}
		l.err = errors.Join(remove, l.l.Close())
	})
	return l.err
}
