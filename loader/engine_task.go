package loader

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"ckpt/internal/fs"
)

// task is a request in flight: what all engines know of it. They differ in who
// makes the reads.
type task struct {
	Request
	done    int // bytes of Buf that are there
	retries int
	idle    int // retries in a row that brought nothing
	started time.Time
	err     error
}

// mostIdle is how often in a row a read may come to nothing before it counts as
// failed. A file system that asks to come again is given some time for it.
const (
	mostIdle = 100
	idleTime = time.Millisecond
)

func newTask(r Request) task { return task{Request: r, started: time.Now()} }

// rest is what is to be read. Direct reads begin and end where the file allows it,
// so the last bytes of a short one may be read twice.
func (t *task) rest() (off int64, buf []byte) {
	at := t.done &^ (t.align() - 1)
	return t.Offset + int64(at), t.Buf[at:]
}

func (t *task) align() int {
	if t.File.Refused() != "" {
		return 1
	}
	return t.File.Align
}

// answer takes what came of reading the rest: a number of bytes, or an error. It
// says whether the request is done; if not, the rest is to be read.
func (t *task) answer(n int, err error) bool {
	at := t.done &^ (t.align() - 1)
	switch {
	case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EAGAIN):
		if t.idle++; t.idle > mostIdle {
			return t.fail(err)
		}
		if t.idle > 1 {
			time.Sleep(idleTime)
		}
	case errors.Is(err, syscall.EINVAL) && t.File.Direct && t.File.Refused() == "":
		if err := t.File.refuse(err); err != nil {
			return t.fail(err)
		}
	case err != nil:
		return t.fail(err)
	case n < 0 || at+n > len(t.Buf):
		return t.fail(fmt.Errorf("a read of %d bytes gave %d", len(t.Buf)-at, n))
	case at+n >= t.Need:
		t.done = at + n
		return true
	case at+n <= t.done:
		return t.fail(fmt.Errorf("%w: the file ends at %d: %w", ErrChanged, t.Offset+int64(t.done), io.ErrUnexpectedEOF))
	default:
		t.done, t.idle = at+n, 0
	}
	t.retries++
	return false
}

func (t *task) fail(err error) bool {
	t.err = &ReadError{File: t.File.Path, System: fs.TypeOf(t.File.Path), Offset: t.Offset, Bytes: len(t.Buf), Err: err}
	return true
}

func (t *task) completion() Completion {
	return Completion{Tag: t.Tag, N: t.done, Err: t.err, Latency: time.Since(t.started), Retries: t.retries}
}

// check refuses requests that no engine can take.
func (r *Request) check() error {
	switch {
	case r.File == nil || len(r.Buf) == 0 || r.Offset < 0 || r.Need < 0 || r.Need > len(r.Buf):
		return optionError("a request for %d bytes at %d into %d", r.Need, r.Offset, len(r.Buf))
	case r.Offset%int64(r.File.Align) != 0 || len(r.Buf)%r.File.Align != 0:
		return optionError("%s: a direct request for %d bytes at %d, which are no multiples of %d", r.File.Name, len(r.Buf), r.Offset, r.File.Align)
	}
	return nil
}
