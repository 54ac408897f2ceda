package loader

import (
	"errors"
	"fmt"

	"ckpt/internal/device"
)

// runtimeDevice is a device of a vendor's runtime.
type runtimeDevice struct {
	device.Device
	name string
	ways []Way
	// memory replaces what the device says, where its memory is the host's.
	memory func() (free, total int64, err error)
}

// Name is of Device.
func (d *runtimeDevice) Name() string { return d.name }

// Ways are packed rows first: the device's own copies of rectangles are slower
// by orders of magnitude for some shapes on some devices.
func (d *runtimeDevice) Ways() []Way { return d.ways }

// Memory is of Device.
func (d *runtimeDevice) Memory() (free, total int64, err error) {
	free, total, err = d.Device.Memory()
	if err != nil || d.memory == nil {
		return free, total, err
	}
	hostFree, hostTotal, err := d.memory()
	if hostTotal > 0 {
		free, total = min(free, hostFree), min(total, hostTotal)
	}
	return free, total, err
}

// Alloc is of Device.
func (d *runtimeDevice) Alloc(bytes int64) (Arena, error) {
	if bytes < 0 {
		return nil, arenaSizeError(bytes)
	}
	// Some runtimes promise more than there is and fail, or kill, at the first use.
	free, total, err := d.Memory()
	if err != nil {
		return nil, err
	}
	if total > 0 && bytes > free {
		return nil, fmt.Errorf("%s: an arena of %d bytes, and %d are free: %w", d.name, bytes, free, ErrMemory)
	}
	b, err := d.Device.Alloc(bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: an arena of %d bytes: %w", d.name, bytes, memoryError(err))
	}
	return &runtimeArena{b}, nil
}

// NewQueue is of Device.
func (d *runtimeDevice) NewQueue() (Queue, error) {
	q, err := d.Device.NewQueue()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, memoryError(err))
	}
	return &runtimeQueue{d.name, q}, nil
}

// memoryError makes errors of the runtimes match ErrMemory.
func memoryError(err error) error {
	if errors.Is(err, device.ErrMemory) {
		return fmt.Errorf("%w: %w", ErrMemory, err)
	}
	return err
}

type runtimeArena struct{ device.Buffer }

// Export makes a handle for one client.
func (a *runtimeArena) Export() (Handle, error) {
	h, err := a.Buffer.Export()
	if err != nil {
		return Handle{}, err
	}
	return Handle{Kind: h.Kind, File: h.File, Data: h.Data, Bytes: h.Bytes}, nil
}

type runtimeQueue struct {
	name string
	q    device.Queue
}

func (q *runtimeQueue) fail(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", q.name, err)
}

// Copy is of Queue.
func (q *runtimeQueue) Copy(dst Arena, off int64, src []byte) error {
	if err := checkRange(dst, off, int64(len(src))); err != nil {
		return err
	}
	return q.fail(q.q.Copy(dst.(*runtimeArena).Buffer, off, src))
}

// CopyRect is of Queue.
func (q *runtimeQueue) CopyRect(dst Arena, off int64, r Rect) error {
	if err := checkRect(dst, off, r); err != nil {
		return err
	}
	if r.Rows == 0 || r.Run == 0 {
		return nil
	}
	if r.Run == r.Stride || r.Rows == 1 {
		return q.Copy(dst, off, r.Src[:r.Rows*r.Run])
	}
	return q.fail(q.q.CopyRect(dst.(*runtimeArena).Buffer, off, r.Src, r.Rows, r.Run, r.Stride))
}

// Record is of Queue.
func (q *runtimeQueue) Record() (Event, error) {
	e, err := q.q.Record()
	if err != nil {
		return nil, q.fail(err)
	}
	return e, nil
}

// ReadBack is of Queue.
func (q *runtimeQueue) ReadBack(dst []byte, src Arena, off int64) error {
	if err := checkRange(src, off, int64(len(dst))); err != nil {
		return err
	}
	return q.fail(q.q.Read(dst, src.(*runtimeArena).Buffer, off))
}

// Close is of Queue.
func (q *runtimeQueue) Close() error { return q.fail(q.q.Close()) }
