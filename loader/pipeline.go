package loader

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// What has to be done with a slot before it is free again.
const (
	copying     = 1 << iota // copies are started and done
	hashing                 // tensors
	hashingFile             // its part of the file
)

// slot is a piece of the staging area and the block that is in it.
type slot struct {
	n     int // of the slots
	buf   []byte
	block block
	todo  atomic.Uint32
	free  *stack
}

// release says that something is done with the block. It is called once for each.
func (s *slot) release(what uint32) {
	if s.todo.And(^what) == what {
		s.free.push(s)
	}
}

// stack is the free slots. The one that was used last is taken first: it may
// still lie in the processor's cache.
type stack struct {
	mu   sync.Mutex
	list []*slot
	wake chan struct{} // of one waiter
}

func (s *stack) push(x *slot) {
	s.mu.Lock()
	s.list = append(s.list, x)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pop gives a slot, nil where none is free.
func (s *stack) pop() *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.list) - 1
	if n < 0 {
		return nil
	}
	x := s.list[n]
	s.list = s.list[:n]
	return x
}

// pipeline is one pass over the blocks: a reader, and workers that copy and hash.
type pipeline struct {
	*program
	o      Options
	files  []*sourceFile
	hashes *hashes // nil where nothing is hashed
	todo   uint32  // of every block

	slots  []slot
	free   stack
	ready  chan *slot // room for all of them
	shop   *shop
	tuner  *Tuner // nil where the depth is given
	failed failure

	stats   readStats
	workers []*worker
}

// failure is the first error; whoever has one makes the others stop.
type failure struct {
	once sync.Once
	stop chan struct{}
	err  error
}

func (f *failure) set(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.stop)
	})
}

// worker copies and hashes. It runs on a thread of its own.
type worker struct {
	*pipeline
	scatterer scatterer
	flights   []flight
	spare     []flight    // whose lists are used again
	last      []time.Time // of locals: when the copies of a block of theirs ended
	before    []int64     // of locals: copies when the block began
}

// flight is a slot, and what was assembled with its bytes, whose copies are
// under way.
type flight struct {
	slot   *slot
	built  []*assembly
	events []Event
	locals []int // that the copies are for
}

// run reads and places everything, and returns when nothing is under way.
func (p *pipeline) run(ctx context.Context, open func() (Engine, error), list []span) error {
	p.failed.stop = make(chan struct{})
	p.free.wake, p.ready = make(chan struct{}, 1), make(chan *slot, len(p.slots))
	for i := len(p.slots) - 1; i >= 0; i-- {
		p.slots[i].n, p.slots[i].free = i, &p.free
		p.free.push(&p.slots[i])
	}
	var wg sync.WaitGroup
	for _, w := range p.workers {
		wg.Go(func() {
			runtime.LockOSThread() // and never unlocked: what a runtime keeps with the thread ends with it
			if err := w.work(); err != nil {
				p.failed.set(err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer close(p.ready)
		r := reader{pipeline: p, ctx: ctx, lanes: newLanes(p.program, list, p.o)}
		if err := r.read(open); err != nil {
			p.failed.set(err)
		}
	}()
	<-done
	wg.Wait()
	return p.failed.err
}

// work takes slots until there are no more.
func (w *worker) work() (err error) {
	if err := w.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	for {
		s, more := w.next()
		if s == nil && !more {
			return nil
		}
		if s != nil {
			if err := w.slot(s); err != nil {
				return err
			}
		}
		if err := w.poll(); err != nil {
			return err
		}
	}
}

// next waits for a slot, or a little while where copies are under way.
func (w *worker) next() (s *slot, more bool) {
	if len(w.flights) == 0 {
		s, more = <-w.ready
		return s, more
	}
	select {
	case s, more = <-w.ready:
		if more {
			return s, true
		}
	default:
	}
	time.Sleep(pollPause)
	return nil, true
}

func (w *worker) slot(s *slot) error {
	select {
	case <-w.failed.stop:
		return nil // nobody waits for the slot any more
	default:
	}
	counts := w.scatterer.counts
	for l := range counts {
		w.before[l] = counts[l].copies
	}
	if err := w.scatterer.block(&s.block, s.buf); err != nil {
		return err
	}
	if err := w.launched(s); err != nil {
		return err
	}
	if w.todoHas(hashing) {
		w.hashes.block(s)
	}
	if w.todoHas(hashingFile) {
		w.hashes.whole(s)
	}
	return nil
}

func (p *pipeline) todoHas(what uint32) bool { return p.todo&what != 0 }

// launched records events behind the copies of a block and looks at once
// whether they are done, as they are on devices that copy at once.
func (w *worker) launched(s *slot) error {
	x := &w.scatterer
	var f flight
	if n := len(w.spare); n > 0 {
		f, w.spare = w.spare[n-1], w.spare[:n-1]
	}
	f.slot, f.built = s, x.done
	x.done = nil
	for l := range x.counts {
		if x.counts[l].copies != w.before[l] {
			f.locals = append(f.locals, l)
		}
	}
	for d, t := range x.touched {
		if !t {
			continue
		}
		x.touched[d] = false
		e, err := x.queues[d].Record()
		if err != nil {
			return err
		}
		f.events = append(f.events, e)
	}
	w.flights = append(w.flights, f)
	return w.poll()
}

// poll frees what has arrived. Flights of one worker end in their order, or
// nearly so; the first that has not arrived ends the look.
func (w *worker) poll() error {
	n := 0
	for ; n < len(w.flights); n++ {
		f := &w.flights[n]
		for len(f.events) > 0 {
			done, err := f.events[len(f.events)-1].Done()
			if err != nil {
				return err
			}
			if !done {
				break
			}
			f.events = f.events[:len(f.events)-1]
		}
		if len(f.events) > 0 {
			break
		}
		now := time.Now()
		for _, l := range f.locals {
			w.last[l] = now
		}
		for _, a := range f.built {
			w.scatterer.shop.give(a)
		}
		f.slot.release(copying)
		w.spare = append(w.spare, flight{events: f.events[:0], locals: f.locals[:0]})
	}
	w.flights = append(w.flights[:0], w.flights[n:]...)
	return nil
}
