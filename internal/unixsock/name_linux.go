package unixsock

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// longest is what fits into sun_path with its NUL.
const longest = 107

// lockWait is how long another process may take to take a name.
const lockWait = 2 * time.Second

// place is a path in the form in which the kernel takes it, and its directory.
type place struct {
	path string   // as it was given
	at   string   // as bind and connect take it
	dir  *os.File // nil where it cannot be opened, which then costs the lock
}

// newPlace opens the directory of a path. A path that is too long for a socket's
// address is said by way of that descriptor.
func newPlace(path string) (*place, error) {
	if path == "" {
		return nil, &fs.PathError{Op: "socket", Path: path, Err: fs.ErrInvalid}
	}
	p := &place{path: path, at: path}
	if path[0] == '@' { // the net package would take it for an abstract name
		p.at = "./" + path
	}
	dir, err := os.Open(filepath.Dir(path))
	switch {
	case errors.Is(err, fs.ErrPermission):
	case err != nil:
		return nil, err
	default:
		p.dir = dir
	}
	if len(p.at) > longest {
		if dir == nil {
			return nil, &fs.PathError{Op: "socket", Path: path, Err: syscall.ENAMETOOLONG}
		}
		p.at = "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path)
		if len(p.at) > longest {
			p.close()
			return nil, &fs.PathError{Op: "socket", Path: path, Err: syscall.ENAMETOOLONG}
		}
	}
	return p, nil
}

func (p *place) close() {
	if p.dir != nil {
		p.dir.Close()
	}
}

// lock keeps others from taking a name in the directory until the place is
// closed.
func (p *place) lock() error {
	if p.dir == nil {
		return nil
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(p.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil, errors.Is(err, errors.ErrUnsupported), errors.Is(err, unix.ENOLCK):
			return nil
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EWOULDBLOCK):
			return &fs.PathError{Op: "lock", Path: filepath.Dir(p.path), Err: err}
		case time.Now().After(end):
			return fmt.Errorf("%s: another process keeps the directory locked", filepath.Dir(p.path))
		}
	}
}

// state is what a name is.
type state int

const (
	absent state = iota // nothing has the name
	dead                // a socket, and nobody listens
)

// look says what a name is; a living one, and one that is no socket, is an error.
func (p *place) look() (state, error) {
	info, err := os.Lstat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent, nil
	case err != nil:
		return absent, err
	case info.Mode().Type() != fs.ModeSocket:
		return absent, fmt.Errorf("%s: %w, and is not touched", p.path, ErrNotSocket)
	}
	c, err := net.DialTimeout("unix", p.at, time.Second)
	if err == nil {
		who := ""
		if peer, err := peerOf(c.(*net.UnixConn)); err == nil && peer.PID > 0 {
			who = fmt.Sprintf(": process %d", peer.PID)
		}
		_ = c.Close() // it was only looked at
		return absent, fmt.Errorf("%s: %w%s", p.path, ErrInUse, who)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return dead, nil
	case errors.Is(err, fs.ErrNotExist):
		return absent, nil
	case errors.Is(err, syscall.EAGAIN), os.IsTimeout(err): // its queue is full, so it is alive
		return absent, fmt.Errorf("%s: %w", p.path, ErrInUse)
	}
	return absent, &fs.PathError{Op: "connect", Path: p.path, Err: cause(err)}
}

// cause is the system's own error, without the words of the net package.
func cause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// Free says whether Listen could take a name: nothing has it, or a socket whose
// process is dead.
func Free(path string) error {
	p, err := newPlace(path)
	if err != nil {
		return err
	}
	defer p.close()
	if _, err := p.look(); err != nil {
		return err
	}
	if err := unix.Access(filepath.Dir(path), unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return nil
}
