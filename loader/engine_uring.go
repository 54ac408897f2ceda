package loader

import (
	"errors"
	"slices"
	"syscall"

	"ckpt/internal/uring"
)

// ringFiles is how many files are registered with a ring at once. A load has two
// or three open.
const ringFiles = 16

// mostBuffer is the largest piece of the staging area that is registered at once:
// the kernel takes up to 1 GiB.
const mostBuffer = 256 << 20

// uringEngine reads by io_uring. It is used and closed on the thread that made it.
type uringEngine struct {
	ring  *uring.Ring
	tasks []task // by the id of their read
	place []int  // of their file, by the same; -1 where it is not registered
	free  []int
	later []int // to be read on, once the ring has room
	fault fault

	files [ringFiles]ringFile
}

// ringFile is a place of the ring's table of files.
type ringFile struct {
	file  *File
	reads int // in flight
}

// newUring makes one. The reason says why the staging area is not registered with
// it, and is empty where it is.
func newUring(o EngineOptions) (e *uringEngine, reason string, err error) {
	ring, err := uring.New(o.Depth)
	if err != nil {
		return nil, "", err
	}
	depth := min(o.Depth, ring.Entries())
	e = &uringEngine{ring: ring, fault: o.fault, tasks: make([]task, depth), place: make([]int, depth)}
	for i := range depth {
		e.free = append(e.free, depth-1-i)
	}
	_ = ring.RegisterFiles(ringFiles) // without the table, reads name descriptors
	if o.Staging == nil {
		return e, "there is no staging area", nil
	}
	area, block := o.Staging.Area(), int(o.Staging.Block())
	whole := max(1, mostBuffer/block) * block // no slot lies in two
	if refused := ring.RegisterBuffers(slices.Collect(slices.Chunk(area, whole))); refused != nil {
		reason = refused.Error() // plain reads do as well
	}
	return e, reason, nil
}

// Name is the name of the engine.
func (e *uringEngine) Name() string { return "uring" }

// Depth is how many requests may be in flight.
func (e *uringEngine) Depth() int { return len(e.tasks) }

// Submit starts a request.
func (e *uringEngine) Submit(r Request) error {
	if err := r.check(); err != nil {
		return err
	}
	if len(e.free) == 0 {
		return errDepth
	}
	id := e.free[len(e.free)-1]
	e.tasks[id] = newTask(r)
	if err := e.read(id); err != nil {
		return err
	}
	e.free = e.free[:len(e.free)-1]
	return e.ring.Submit()
}

// read queues what a task still wants.
func (e *uringEngine) read(id int) error {
	t := &e.tasks[id]
	off, buf := t.rest()
	q := uring.Request{FD: int(t.File.f.Fd()), Buf: buf, Offset: off, ID: uint64(id)}
	place := e.placeOf(t.File)
	if place >= 0 {
		q.FD, q.Fixed = place, true
	}
	if err := e.ring.Read(q); err != nil {
		return err
	}
	e.place[id] = place
	if place >= 0 {
		e.files[place].reads++
	}
	return nil
}

// placeOf finds the place of a file in the ring's table, or gives it one that no
// read uses; -1 where there is none.
func (e *uringEngine) placeOf(f *File) int {
	unused := -1
	for i := range e.ring.Files() {
		switch {
		case e.files[i].file == f:
			return i
		case e.files[i].reads == 0 && (unused < 0 || e.files[i].file == nil && e.files[unused].file != nil):
			unused = i
		}
	}
	if unused < 0 || e.ring.SetFile(unused, int(f.f.Fd())) != nil {
		return -1
	}
	e.files[unused] = ringFile{file: f}
	return unused
}

// Wait waits for requests.
func (e *uringEngine) Wait(done []Completion) (int, error) {
	if len(e.free) == len(e.tasks) || len(done) == 0 {
		return 0, errIdle
	}
	n := 0
	for n == 0 {
		if err := e.continueReads(); err != nil {
			return 0, err
		}
		if err := e.ring.Wait(1); err != nil {
			return 0, err
		}
		n = e.take(done)
	}
	return n, e.continueReads()
}

// take goes through the completions that are there. Requests that are not at
// their end are read on.
func (e *uringEngine) take(done []Completion) (n int) {
	for n < len(done) {
		id, res, ok := e.ring.Pop()
		if !ok {
			break
		}
		t := &e.tasks[id]
		if p := e.place[id]; p >= 0 {
			e.files[p].reads--
		}
		var err error
		if res < 0 {
			res, err = 0, syscall.Errno(-res)
		}
		if !t.answer(e.fault.inject(&t.Request, res, err)) {
			e.later = append(e.later, int(id))
			continue
		}
		done[n] = t.completion()
		n++
		*t = task{}
		e.free = append(e.free, int(id))
	}
	return n
}

// continueReads starts what take has left to be read on.
func (e *uringEngine) continueReads() error {
	for len(e.later) > 0 {
		err := e.read(e.later[0])
		if errors.Is(err, uring.ErrFull) {
			break
		}
		if err != nil {
			return err
		}
		e.later = e.later[1:]
	}
	return e.ring.Submit()
}

// Close waits for what is in flight.
func (e *uringEngine) Close() error {
	e.later = nil
	return e.ring.Close()
}
