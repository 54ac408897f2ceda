package hip

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// Device is a device in use.
type Device struct {
	*api
	entry
	runtime               *Runtime
	closed                bool
	buffers, queues, pins atomic.Int64
}

// Open takes a device.
func (r *Runtime) Open(index int) (device.Device, error) {
	if index < 0 || index >= len(r.devices) {
		return nil, fmt.Errorf("hip has %d devices and no number %d: %w", len(r.devices), index, device.ErrNoDevice)
	}
	d := &Device{api: r.api, entry: r.devices[index], runtime: r}
	if err := d.on(func() error { return nil }); err != nil {
		return nil, err
	}
	return d, nil
}

// on runs something with the device selected, on one thread.
func (d *Device) on(run func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := d.choose(); err != nil {
		return err
	}
	return run()
}

// choose selects the device on this thread: another device's queue may have
// selected its own.
func (d *Device) choose() error { return d.check("hipSetDevice", d.setDevice.Call(uintptr(d.ordinal))) }

// Memory is what the runtime says.
func (d *Device) Memory() (free, total int64, err error) {
	var f, t uintptr
	err = d.on(func() error {
		return d.check("hipMemGetInfo", d.memInfo.Call(uintptr(unsafe.Pointer(&f)), uintptr(unsafe.Pointer(&t))))
	})
	return int64(f), int64(t), err
}

// Register pins memory for all devices, in pieces.
func (d *Device) Register(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	pin := func(piece []byte) error {
		return d.check("hipHostRegister", d.hostRegister.Call(dl.Pointer(piece), uintptr(len(piece)), hostRegisterPortable))
	}
	unpin := func(piece []byte) error {
		return d.on(func() error { return d.check("hipHostUnregister", d.hostForget.Call(dl.Pointer(piece))) })
	}
	err := d.on(func() error { return d.runtime.pins.Pin(mem, pin, unpin) })
	if err == nil {
		d.pins.Add(1)
	}
	return err
}

// Unregister undoes one Register.
func (d *Device) Unregister(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	d.pins.Add(-1)
	return d.runtime.pins.Unpin(mem)
}

// Close has nothing to release but tells of what is still open.
func (d *Device) Close() error {
	if d.closed {
		return errors.New("the device is closed already")
	}
	d.closed = true
	if b, q, p := d.buffers.Load(), d.queues.Load(), d.pins.Load(); b != 0 || q != 0 || p != 0 {
		return &device.LeakError{Device: d.info.Name, Buffers: b, Queues: q, Pins: p}
	}
	return nil
}
