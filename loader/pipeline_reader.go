package loader

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

// reader submits requests in the order of the files as long as there are free
// slots, and hands what was read to the workers.
type reader struct {
	*pipeline
	ctx      context.Context
	lanes    *lanes
	engine   Engine
	depth    int
	inflight int
	next     block
	have     bool // next was not submitted yet
	order    order
	starved  bool // for want of a slot, or of memory to assemble in
	done     []Completion
}

// readStats is what the reader counts.
type readStats struct {
	began     time.Time // first request
	firstByte time.Time
	lastRead  time.Time
	bytes     int64
	requests  int64
	retries   int64
	depth     int
	latency   histogram
	stalls    stalls
}

// read goes over all blocks.
func (r *reader) read(open func() (Engine, error)) (err error) {
	if r.engine, err = open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.engine.Close()) }()
	r.done = make([]Completion, r.engine.Depth())
	r.depth = r.engine.Depth()
	if r.tuner != nil {
		r.depth = min(r.depth, r.tuner.Depth())
	}
	r.advance()
	r.stats.began = time.Now()
	for r.have || r.inflight > 0 {
		if err := r.submit(); err != nil {
			return err
		}
		if r.inflight == 0 {
			if err := r.await(); err != nil {
				return err
			}
			continue
		}
		if err := r.complete(); err != nil {
			return err
		}
	}
	r.stats.lastRead = time.Now()
	r.stats.depth = r.depth
	return nil
}

// submit fills the engine as far as there are blocks and free slots.
func (r *reader) submit() error {
	r.starved = false
	for r.have && r.inflight < r.depth {
		if err := r.stopped(); err != nil {
			return err
		}
		s := r.slot()
		if s == nil {
			r.starved = true
			return nil
		}
		if err := r.request(s); err != nil {
			return err
		}
	}
	return nil
}

// advance goes to the next block.
func (r *reader) advance() {
	if r.have = r.lanes.next(&r.next); r.have {
		f := r.files[r.next.file]
		r.order = r.program.order(&r.next, f.reserved, f.open)
	}
}

// slot gives a free slot for the next block; nil where there is none, or where
// tensors that have been read whole still take the memory in which those of the
// block are assembled.
func (r *reader) slot() *slot {
	if r.order.bytes > 0 {
		open := int64(0)
		for _, f := range r.files {
			open += f.open
		}
		if used := r.shop.used.Load() - open; used > 0 && used+r.order.bytes > assemblyRoom {
			return nil
		}
	}
	return r.free.pop()
}

// stopped is why nothing more is to be read.
func (r *reader) stopped() error {
	select {
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case <-r.failed.stop:
		return errStopped
	default:
		return nil
	}
}

// errStopped ends the reader after a worker's error, which is the one that counts.
var errStopped = errors.New("stopped")

func (r *reader) request(s *slot) error {
	t := time.Now()
	s.block = r.next
	f := r.files[s.block.file]
	if f.file == nil {
		if err := f.begin(r.o); err != nil {
			return err
		}
	}
	f.pending++
	f.submitted = s.block.last
	f.reserved, f.open = r.order.next, r.order.open
	r.shop.used.Add(r.order.bytes)
	r.advance()
	now := time.Now()
	r.stats.stalls.planner += now.Sub(t)
	err := r.engine.Submit(Request{
		File: f.file, Offset: s.block.offset, Buf: s.buf[:s.block.length], Need: s.block.need(), Tag: uint64(s.n),
	})
	r.inflight++
	r.stats.stalls.storage += time.Since(now)
	return err
}

// await blocks until a slot is free.
func (r *reader) await() error {
	t := time.Now()
	copying := r.copyBehind()
	for {
		if s := r.slot(); s != nil {
			r.stats.stalls.add(copying, time.Since(t))
			return r.request(s)
		}
		select {
		case <-r.free.wake:
		case <-r.failed.stop:
			return errStopped
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
}

// copyBehind says whether more slots wait to be copied than to be hashed.
func (p *pipeline) copyBehind() bool {
	c, h := 0, 0
	for i := range p.slots {
		switch todo := p.slots[i].todo.Load(); {
		case todo&copying != 0:
			c++
		case todo != 0:
			h++
		}
	}
	return c >= h
}

// complete waits for requests and hands their slots on.
func (r *reader) complete() error {
	t := time.Now()
	copying := r.starved && r.copyBehind()
	n, err := r.engine.Wait(r.done)
	if err != nil {
		return err
	}
	now := time.Now()
	if r.starved {
		r.stats.stalls.add(copying, now.Sub(t))
	} else {
		r.stats.stalls.storage += now.Sub(t)
	}
	if r.stats.firstByte.IsZero() {
		r.stats.firstByte = now
	}
	before := r.stats.bytes
	for i := range r.done[:n] {
		if err := r.completion(&r.done[i], now); err != nil {
			return err
		}
	}
	if r.tuner != nil {
		r.depth = min(r.engine.Depth(), r.tuner.Add(r.stats.bytes-before, now))
	}
	return nil
}

func (r *reader) completion(c *Completion, now time.Time) error {
	r.inflight--
	s := &r.slots[c.Tag]
	f := r.files[s.block.file]
	f.pending--
	if c.Err != nil {
		return f.explain(c.Err)
	}
	if c.N < s.block.need() {
		return fmt.Errorf("the engine %s gave %d of %d bytes", r.engine.Name(), c.N, s.block.need())
	}
	f.bytes += int64(c.N)
	f.ended = now
	r.stats.bytes += int64(c.N)
	r.stats.requests++
	r.stats.retries += int64(c.Retries)
	r.stats.latency.add(c.Latency)
	if r.o.Progress != nil {
		r.o.Progress.Add(s.block.hi - s.block.lo)
	}
	s.todo.Store(r.todo)
	r.ready <- s
	if f.submitted && f.pending == 0 {
		return f.finish()
	}
	return nil
}

// stalls is what the reader waited for.
type stalls struct {
	storage, copy, hash, planner time.Duration
}

func (s *stalls) add(copying bool, d time.Duration) {
	if copying {
		s.copy += d
	} else {
		s.hash += d
	}
}

// histogram counts durations in buckets of an eighth of a power of two.
type histogram struct {
	counts [64 * 8]int64
	n      int64
	max    time.Duration
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(d)]++
	h.n++
	h.max = max(h.max, d)
}

func bucket(d time.Duration) int {
	if d < 8 {
		return int(max(d, 0))
	}
	top := bits.Len64(uint64(d)) - 1
	return (top-2)*8 + int(uint64(d)>>(top-3)&7)
}

// quantile is a duration that a share q of all do not exceed, to an eighth.
func (h *histogram) quantile(q float64) time.Duration {
	left := int64(q * float64(h.n))
	for i, n := range h.counts {
		if left -= n; left < 0 && n > 0 {
			if i < 8 {
				return time.Duration(i)
			}
			top := i/8 + 2
			return min(h.max, time.Duration((8+uint64(i%8)+1)<<(top-3)))
		}
	}
	return h.max
}
