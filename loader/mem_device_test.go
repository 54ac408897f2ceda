package loader

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ckpt/shard"
)

// lateDevice copies as late as it may: when an event that was recorded behind
// the copies has been asked for a few times. Whoever touches memory before that
// is found out.
type lateDevice struct {
	*Host
	ways   []Way
	refuse bool // to register memory
	mems   [][]byte
}

type lateQueue struct {
	Queue
	d    *lateDevice
	todo []func() error
}

type lateEvent struct {
	q    *lateQueue
	n    int // copies before it
	asks int
}

func (d *lateDevice) Ways() []Way { return d.ways }

func (d *lateDevice) Register(mem []byte) error {
	if d.refuse {
		return errors.New("no more memory can be pinned")
	}
	d.mems = append(d.mems, mem)
	return nil
}

func (d *lateDevice) Unregister(mem []byte) error {
	i := slices.IndexFunc(d.mems, func(m []byte) bool { return &m[0] == &mem[0] && len(m) == len(mem) })
	if i < 0 {
		return errors.New("memory that was not registered")
	}
	d.mems = slices.Delete(d.mems, i, i+1)
	return nil
}

func (d *lateDevice) Close() error {
	if len(d.mems) > 0 {
		return errors.New("memory is still registered")
	}
	return d.Host.Close()
}

func (d *lateDevice) NewQueue() (Queue, error) {
	q, err := d.Host.NewQueue()
	return &lateQueue{Queue: q, d: d}, err
}

func (q *lateQueue) Copy(dst Arena, off int64, src []byte) error {
	q.todo = append(q.todo, func() error { return q.Queue.Copy(dst, off, src) })
	return nil
}

func (q *lateQueue) CopyRect(dst Arena, off int64, r Rect) error {
	q.todo = append(q.todo, func() error { return q.Queue.CopyRect(dst, off, r) })
	return nil
}

func (q *lateQueue) Record() (Event, error) { return &lateEvent{q: q, n: len(q.todo)}, nil }

func (e *lateEvent) Done() (bool, error) {
	if e.asks++; e.asks < 4 {
		return false, nil
	}
	for i, f := range e.q.todo[:e.n] {
		if f == nil {
			continue
		}
		e.q.todo[i] = nil
		if err := f(); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (q *lateQueue) Close() error {
	for _, f := range q.todo {
		if f != nil {
			return errors.Join(errors.New("copies were never waited for"), q.Queue.Close())
		}
	}
	return q.Queue.Close()
}

// rtx6kpro 52: memory that cannot be registered is used all the same, and said.
// Nothing is reused before its copies are done, whichever way rows go.
func TestFault_rtx6kpro52(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, layout := range []shard.Layout{shard.LayoutCheckpoint, shard.LayoutEngine} {
		dir, p := mini(t, shard.Topology{TP: 4}, shard.Options{Layout: layout})
		want := slowly(t, p, dir)
		for _, ways := range [][]Way{{WayPack}, {WayRect}, {WayPack, WayRect}} {
			for _, refuse := range []bool{false, true} {
				d := &lateDevice{Host: NewHost(), ways: ways, refuse: refuse}
				o := small(d)
				o.Pinned = 24 * o.Block
				l, r, err := Load(t.Context(), p, dir, o)
				if err != nil {
					t.Fatal(err)
				}
				if refuse != (len(r.Notes) > 0) || len(ways) != len(r.Copies.WayRates) && len(ways) > 1 {
					t.Errorf("refused %v: %q, ways %v", refuse, r.Notes, r.Copies.WayRates)
				}
				if r.Memory.Pinned > o.Pinned {
					t.Errorf("%d bytes of staging memory, %d are allowed", r.Memory.Pinned, o.Pinned)
				}
				sameArenas(t, l, want)
				closeAll(t, l, d)
			}
		}
	}
}

// A rank's time ends when its copies are done, not when they are started.
func TestCopiesLastUntilTheyAreDone(t *testing.T) {
	w := &worker{pipeline: new(pipeline), last: make([]time.Time, 2), before: make([]int64, 2)}
	w.scatterer = scatterer{counts: []counts{{}, {copies: 1}}, touched: []bool{true}, queues: []Queue{&lateQueue{}}}
	s := &slot{free: new(stack)}
	s.todo.Store(copying)
	if err := w.launched(s); err != nil {
		t.Fatal(err)
	}
	for len(w.flights) > 0 {
		if !w.last[1].IsZero() || s.free.pop() != nil {
			t.Fatal("the copy is not done")
		}
		if err := w.poll(); err != nil {
			t.Fatal(err)
		}
	}
	if !w.last[0].IsZero() || w.last[1].IsZero() || s.free.pop() != s {
		t.Errorf("%v", w.last)
	}
}

// Staging memory stays below its cap with any number of workers, second slots
// included, and one that is too small is refused.
func TestSecondSlotsArePartOfTheCap(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 4}, shard.Options{})
	d := &lateDevice{Host: NewHost(), ways: []Way{WayPack}}
	for _, blocks := range []int64{4, 5, 9} {
		o := small(d)
		o.Pinned, o.Workers = blocks*o.Block, 64
		l, r, err := Load(t.Context(), p, dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Memory.Pinned > o.Pinned {
			t.Errorf("%d bytes of staging memory, %d are allowed", r.Memory.Pinned, o.Pinned)
		}
		closeAll(t, l)
	}
	o := small(d)
	o.Pinned = 3 * o.Block
	var e *OptionError
	if _, _, err := Load(t.Context(), p, dir, o); !errors.As(err, &e) {
		t.Error(err)
	}
	closeAll(t, nil, d)
}

// Ranks go to the devices by turns.
func TestRanksGoRoundDevices(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 4}, shard.Options{})
	a, b := NewHost(), &lateDevice{Host: NewHost(), ways: []Way{WayRect}}
	l, _, err := Load(t.Context(), p, dir, small(a, b))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Ranks() {
		if want := []Device{a, b}[r%2]; l.Device(r) != want {
			t.Errorf("rank %d is on %v", r, l.Device(r))
		}
	}
	sameArenas(t, l, slowly(t, p, dir))
	closeAll(t, l, a, b)
}

// A device that fails in the middle fails the load, and leaves nothing.
func TestDeviceThatFails(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir, p := mini(t, shard.Topology{TP: 4}, shard.Options{})
	for _, at := range []int{0, 3, 40} {
		d := &failing{Host: NewHost(), left: at}
		o := small(d)
		o.Workers = 1
		l, r, err := Load(t.Context(), p, dir, o)
		if l != nil || r == nil || !errors.Is(err, errBroken) {
			t.Errorf("after %d copies: %v", at, err)
		}
		closeAll(t, nil, d)
	}
}

var errBroken = errors.New("broken")

type failing struct {
	*Host
	left int
}

type failingQueue struct {
	Queue
	d *failing
}

func (d *failing) NewQueue() (Queue, error) {
	q, err := d.Host.NewQueue()
	return &failingQueue{q, d}, err
}

func (q *failingQueue) Copy(dst Arena, off int64, src []byte) error {
	if q.d.left--; q.d.left < 0 {
		return errBroken
	}
	return q.Queue.Copy(dst, off, src)
}
