package opencl

import (
	"errors"
	"runtime"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// Queue is a command queue that keeps its order.
type Queue struct {
	d  *Device
	id uintptr
}

// NewQueue makes a command queue.
func (d *Device) NewQueue() (device.Queue, error) {
	q, err := d.newQueue()
	if err != nil {
		return nil, err
	}
	d.queues.Add(1)
	return q, nil
}

func (d *Device) newQueue() (*Queue, error) {
	var code int32
	id := d.createQueue.Call(d.context, d.id, 0, uintptr(unsafe.Pointer(&code)))
	if err := check("clCreateCommandQueue", code); err != nil {
		return nil, err
	}
	return &Queue{d, id}, nil
}

// Copy starts copying.
func (q *Queue) Copy(dst device.Buffer, off int64, src []byte) error {
	b := dst.(*Buffer)
	for len(src) > 0 {
		mem, in, left := b.at(off)
		n := int(min(left, int64(len(src))))
		code := q.d.enqueueWrite.Call(q.id, mem, 0, uintptr(in), uintptr(n), dl.Pointer(src), 0, 0, 0)
		if err := check("clEnqueueWriteBuffer", int32(code)); err != nil {
			return err
		}
		src, off = src[n:], off+int64(n)
	}
	return nil
}

// CopyRect starts copying rows; those that lie in two pieces one by one.
func (q *Queue) CopyRect(dst device.Buffer, off int64, src []byte, rows, run, stride int) error {
	b := dst.(*Buffer)
	for rows > 0 && run > 0 {
		mem, in, left := b.at(off)
		n := int(min(left/int64(run), int64(rows)))
		if n == 0 {
			if err := q.Copy(dst, off, src[:run]); err != nil {
				return err
			}
			n = 1
		} else if err := q.rect(mem, in, src, n, run, stride); err != nil {
			return err
		}
		if rows -= n; rows > 0 {
			src, off = src[n*stride:], off+int64(n)*int64(run)
		}
	}
	return nil
}

// rect copies a rectangle: in the buffer its rows are run bytes apart.
func (q *Queue) rect(mem uintptr, in int64, src []byte, rows, run, stride int) error {
	// The origin of the buffer is given in bytes, rows and slices and need not
	// lie within a row: its first number alone is the offset.
	to := [3]uintptr{uintptr(in), 0, 0}
	from := [3]uintptr{}
	region := [3]uintptr{uintptr(run), uintptr(rows), 1}
	code := q.d.enqueueWriteRect.Call(q.id, mem, 0,
		uintptr(unsafe.Pointer(&to)), uintptr(unsafe.Pointer(&from)), uintptr(unsafe.Pointer(&region)),
		uintptr(run), 0, uintptr(stride), 0, dl.Pointer(src), 0, 0, 0)
	return check("clEnqueueWriteBufferRect", int32(code))
}

// Record makes a marker and sends everything to the device.
func (q *Queue) Record() (device.Event, error) {
	e := &Event{q: q}
	if err := check("clEnqueueMarkerWithWaitList", int32(q.d.enqueueMarker.Call(q.id, 0, 0, uintptr(unsafe.Pointer(&e.id))))); err != nil {
		return nil, err
	}
	return e, check("clFlush", int32(q.d.flush.Call(q.id)))
}

// Read waits for what was started before and copies.
func (q *Queue) Read(dst []byte, src device.Buffer, off int64) error {
	defer runtime.KeepAlive(dst)
	b := src.(*Buffer)
	for len(dst) > 0 {
		mem, in, left := b.at(off)
		n := int(min(left, int64(len(dst))))
		code := q.d.enqueueRead.Call(q.id, mem, 1, uintptr(in), uintptr(n), dl.Pointer(dst), 0, 0, 0)
		if err := check("clEnqueueReadBuffer", int32(code)); err != nil {
			return err
		}
		dst, off = dst[n:], off+int64(n)
	}
	return nil
}

// Close waits for what was started and releases the queue.
func (q *Queue) Close() error {
	if q.id == 0 {
		return errors.New("the queue is closed already")
	}
	err := errors.Join(q.finishAll(), q.release())
	q.id = 0
	q.d.queues.Add(-1)
	return err
}

func (q *Queue) finishAll() error { return check("clFinish", int32(q.d.finish.Call(q.id))) }

func (q *Queue) release() error {
	return check("clReleaseCommandQueue", int32(q.d.releaseQueue.Call(q.id)))
}

// Event is a marker.
type Event struct {
	q  *Queue
	id uintptr
}

// Done asks for the state of the marker.
func (e *Event) Done() (bool, error) {
	if e.id == 0 {
		return true, nil
	}
	var status int32
	code := e.q.d.getEventInfo.Call(e.id, eventStatus, unsafe.Sizeof(status), uintptr(unsafe.Pointer(&status)), 0)
	if err := check("clGetEventInfo", int32(code)); err != nil {
		return false, errors.Join(err, e.release())
	}
	if status > complete {
		return false, nil
	}
	err := e.release()
	if status < complete {
		return false, errors.Join(&Error{"copying", status}, err)
	}
	return true, err
}

func (e *Event) release() error {
	id := e.id
	e.id = 0
	return check("clReleaseEvent", int32(e.q.d.releaseEvt.Call(id)))
}
