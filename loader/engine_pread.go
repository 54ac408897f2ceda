package loader

import (
	"errors"
	"io"
	"sync"
)

// preadEngine reads with pread on as many threads as requests may be in flight.
// They are started when they are first needed.
type preadEngine struct {
	depth    int
	inflight int
	threads  int
	closed   bool
	tasks    chan *task
	finished chan *task
	workers  sync.WaitGroup
	fault    fault
}

// fault is what tests put between reads and engines: it may change what came of
// one.
type fault func(r *Request, n int, err error) (int, error)

func (f fault) inject(r *Request, n int, err error) (int, error) {
	if f == nil {
		return n, err
	}
	return f(r, n, err)
}

func newPread(o EngineOptions) *preadEngine {
	return &preadEngine{
		depth: o.Depth, fault: o.fault,
		tasks: make(chan *task, o.Depth), finished: make(chan *task, o.Depth),
	}
}

// Name is the name of the engine.
func (e *preadEngine) Name() string { return "pread" }

// Depth is how many requests may be in flight.
func (e *preadEngine) Depth() int { return e.depth }

// Submit starts a request.
func (e *preadEngine) Submit(r Request) error {
	if err := r.check(); err != nil {
		return err
	}
	if e.closed {
		return errClosed
	}
	if e.inflight >= e.depth {
		return errDepth
	}
	t := newTask(r)
	e.inflight++
	if e.threads < e.inflight {
		e.threads++
		e.workers.Go(e.work)
	}
	e.tasks <- &t
	return nil
}

func (e *preadEngine) work() {
	for t := range e.tasks {
		for {
			off, buf := t.rest()
			n, err := t.File.f.ReadAt(buf, off)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if t.answer(e.fault.inject(&t.Request, n, err)) {
				break
			}
		}
		e.finished <- t
	}
}

// Wait waits for requests.
func (e *preadEngine) Wait(done []Completion) (int, error) {
	if e.inflight == 0 || len(done) == 0 {
		return 0, errIdle
	}
	n := 0
	for t := <-e.finished; ; {
		done[n] = t.completion()
		n++
		e.inflight--
		if n == len(done) {
			return n, nil
		}
		select {
		case t = <-e.finished:
		default:
			return n, nil
		}
	}
}

// Close waits for what is in flight.
func (e *preadEngine) Close() error {
	if !e.closed {
		e.closed = true
		close(e.tasks)
	}
	e.workers.Wait()
	return nil
}
