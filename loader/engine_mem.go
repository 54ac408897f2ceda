package loader

import (
	"bytes"
	"errors"
	"io"
)

// memEngine reads from memory, one request after the other, when it is waited
// for: the engine that tests understand. Files that are not in it are read as
// what they are.
type memEngine struct {
	depth int
	files map[string][]byte // by path
	tasks []task
	fault fault
}

// Name is the name of the engine.
func (e *memEngine) Name() string { return "mem" }

// Depth is how many requests may be in flight.
func (e *memEngine) Depth() int { return e.depth }

// Submit starts a request.
func (e *memEngine) Submit(r Request) error {
	if err := r.check(); err != nil {
		return err
	}
	if len(e.tasks) >= e.depth {
		return errDepth
	}
	e.tasks = append(e.tasks, newTask(r))
	return nil
}

// Wait waits for requests.
func (e *memEngine) Wait(done []Completion) (int, error) {
	if len(e.tasks) == 0 || len(done) == 0 {
		return 0, errIdle
	}
	t := e.tasks[0]
	e.tasks = e.tasks[1:]
	for finished := false; !finished; {
		off, buf := t.rest()
		var from io.ReaderAt = t.File.f
		if data, ok := e.files[t.File.Path]; ok {
			from = bytes.NewReader(data)
		}
		n, err := from.ReadAt(buf, off)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		finished = t.answer(e.fault.inject(&t.Request, n, err))
	}
	done[0] = t.completion()
	return 1, nil
}

// Close waits for what is in flight.
func (e *memEngine) Close() error {
	e.tasks = nil
	return nil
}
