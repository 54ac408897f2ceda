package hip

import (
	"errors"
	"runtime"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// Queue is a stream.
type Queue struct {
	d      *Device
	stream uintptr
	spent  []uintptr // events to use again
	open   map[*Event]struct{}
}

// NewQueue makes a stream that waits for no other.
func (d *Device) NewQueue() (device.Queue, error) {
	q := &Queue{d: d, open: map[*Event]struct{}{}}
	err := d.on(func() error {
		return d.check("hipStreamCreateWithFlags", d.streamCreate.Call(uintptr(unsafe.Pointer(&q.stream)), streamNonBlocking))
	})
	if err != nil {
		return nil, err
	}
	d.queues.Add(1)
	return q, nil
}

// Copy starts copying, in as many calls as the source has pinned pieces.
func (q *Queue) Copy(dst device.Buffer, off int64, src []byte) error {
	if err := q.d.choose(); err != nil {
		return err
	}
	at := dst.(*Buffer).at + uintptr(off)
	for len(src) > 0 {
		n := q.d.runtime.pins.Whole(src)
		if err := q.d.check("hipMemcpyHtoDAsync", q.d.toDevice.Call(at, dl.Pointer(src), uintptr(n), q.stream)); err != nil {
			return err
		}
		src, at = src[n:], at+uintptr(n)
	}
	return nil
}

// CopyRect starts copying rows in one call, or one by one where they lie in two
// pinned pieces.
func (q *Queue) CopyRect(dst device.Buffer, off int64, src []byte, rows, run, stride int) error {
	all := src[:(rows-1)*stride+run]
	if q.d.runtime.pins.Whole(all) < len(all) {
		for i := range rows {
			if err := q.Copy(dst, off+int64(i)*int64(run), src[i*stride:i*stride+run]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := q.d.choose(); err != nil {
		return err
	}
	// dst, dpitch, src, spitch, width, height, kind, stream
	err := q.d.check("hipMemcpy2DAsync", q.d.rect.Call(dst.(*Buffer).at+uintptr(off), uintptr(run),
		dl.Pointer(src), uintptr(stride), uintptr(run), uintptr(rows), memcpyHostToDevice, q.stream))
	runtime.KeepAlive(src)
	return err
}

// Read waits for what was started before and copies.
func (q *Queue) Read(dst []byte, src device.Buffer, off int64) error {
	if err := q.d.choose(); err != nil {
		return err
	}
	defer runtime.KeepAlive(dst)
	at := src.(*Buffer).at + uintptr(off)
	for rest := dst; len(rest) > 0; {
		n := q.d.runtime.pins.Whole(rest)
		if err := q.d.check("hipMemcpyDtoHAsync", q.d.toHost.Call(dl.Pointer(rest), at, uintptr(n), q.stream)); err != nil {
			return errors.Join(err, q.wait())
		}
		rest, at = rest[n:], at+uintptr(n)
	}
	return q.wait()
}

func (q *Queue) wait() error { return q.d.check("hipStreamSynchronize", q.d.streamWait.Call(q.stream)) }

// Event is an event that is recorded once.
type Event struct {
	q  *Queue
	id uintptr
}

// Record marks what was started so far.
func (q *Queue) Record() (device.Event, error) {
	if err := q.d.choose(); err != nil {
		return nil, err
	}
	e := &Event{q: q}
	if n := len(q.spent); n > 0 {
		e.id, q.spent = q.spent[n-1], q.spent[:n-1]
	} else if err := q.d.check("hipEventCreateWithFlags", q.d.eventCreate.Call(uintptr(unsafe.Pointer(&e.id)), eventDisableTiming)); err != nil {
		return nil, err
	}
	if err := q.d.check("hipEventRecord", q.d.eventRecord.Call(e.id, q.stream)); err != nil {
		q.spent = append(q.spent, e.id)
		return nil, err
	}
	q.open[e] = struct{}{}
	return e, nil
}

// Done asks for the state of the event.
func (e *Event) Done() (bool, error) {
	if e.id == 0 {
		return true, nil
	}
	if err := e.q.d.choose(); err != nil {
		return false, err
	}
	code := e.q.d.eventQuery.Call(e.id)
	if int32(code) == errorNotReady {
		e.q.d.lastError.Call()
		return false, nil
	}
	e.q.spent = append(e.q.spent, e.id)
	delete(e.q.open, e)
	e.id = 0
	err := e.q.d.check("hipEventQuery", code)
	return err == nil, err
}

// Close waits for what was started and releases stream and events.
func (q *Queue) Close() error {
	if q.stream == 0 {
		return errors.New("the queue is closed already")
	}
	if err := q.d.choose(); err != nil {
		return err
	}
	errs := []error{q.wait()}
	for e := range q.open {
		q.spent = append(q.spent, e.id)
		e.id = 0
	}
	for _, id := range q.spent {
		errs = append(errs, q.d.check("hipEventDestroy", q.d.eventDestroy.Call(id)))
	}
	errs = append(errs, q.d.check("hipStreamDestroy", q.d.streamDestroy.Call(q.stream)))
	q.stream, q.spent, q.open = 0, nil, nil
	q.d.queues.Add(-1)
	return errors.Join(errs...)
}
