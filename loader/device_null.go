package loader

import (
	"errors"
	"sync/atomic"
)

// Null is a device that keeps nothing: it counts what it gets. It shows what
// storage and planner can do.
type Null struct{ copies, bytes atomic.Int64 }

// NewNull makes one.
func NewNull() *Null { return &Null{} }

// Copied is how many bytes it got, in how many copies; a rectangle is one.
func (d *Null) Copied() (copies, bytes int64) { return d.copies.Load(), d.bytes.Load() }

// Name is "null".
func (d *Null) Name() string { return "null" }

// Memory is without limit.
func (d *Null) Memory() (free, total int64, err error) { return 0, 0, nil }

// Alloc takes no memory.
func (d *Null) Alloc(bytes int64) (Arena, error) {
	if bytes < 0 {
		return nil, arenaSizeError(bytes)
	}
	return nullArena(bytes), nil
}

// Register has nothing to do.
func (d *Null) Register([]byte) error { return nil }

// Unregister has nothing to do.
func (d *Null) Unregister([]byte) error { return nil }

// NewQueue makes a queue that counts.
func (d *Null) NewQueue() (Queue, error) { return &nullQueue{d: d}, nil }

// Ways has the shortest one only.
func (d *Null) Ways() []Way { return []Way{WayDirect} }

// Close has nothing to do.
func (d *Null) Close() error { return nil }

type nullArena int64

// Bytes is of Arena.
func (a nullArena) Bytes() int64 { return int64(a) }

// Close is of Arena.
func (a nullArena) Close() error { return nil }

// nullQueue counts by itself and tells the device at every event: counters that
// many threads write are slow.
type nullQueue struct {
	d             *Null
	copies, bytes int64
}

// Copy is of Queue.
func (q *nullQueue) Copy(dst Arena, off int64, src []byte) error {
	if err := checkRange(dst, off, int64(len(src))); err != nil {
		return err
	}
	q.copies++
	q.bytes += int64(len(src))
	return nil
}

// CopyRect is of Queue.
func (q *nullQueue) CopyRect(dst Arena, off int64, r Rect) error {
	if err := checkRect(dst, off, r); err != nil {
		return err
	}
	q.copies++
	q.bytes += int64(r.Rows) * int64(r.Run)
	return nil
}

// Record is of Queue.
func (q *nullQueue) Record() (Event, error) {
	q.tell()
	return done{}, nil
}

func (q *nullQueue) tell() {
	q.d.copies.Add(q.copies)
	q.d.bytes.Add(q.bytes)
	q.copies, q.bytes = 0, 0
}

var errNullKeeps = errors.New("the null device keeps nothing to read back")

// ReadBack is of Queue.
func (q *nullQueue) ReadBack([]byte, Arena, int64) error { return errNullKeeps }

// Close is of Queue.
func (q *nullQueue) Close() error {
	q.tell()
	return nil
}

// done is the event of copies that are finished when they return.
type done struct{}

// Done is of Event.
func (done) Done() (bool, error) { return true, nil }
