package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// Device is a device with its primary context.
type Device struct {
	*api
	entry
	runtime               *Runtime
	context               uintptr
	buffers, queues, pins atomic.Int64
}

// Open takes the primary context of a device.
func (r *Runtime) Open(index int) (device.Device, error) {
	if index < 0 || index >= len(r.devices) {
		return nil, fmt.Errorf("cuda has %d devices and no number %d: %w", len(r.devices), index, device.ErrNoDevice)
	}
	d := &Device{api: r.api, entry: r.devices[index], runtime: r}
	err := d.check("cuDevicePrimaryCtxRetain", d.retain.Call(uintptr(unsafe.Pointer(&d.context)), uintptr(d.id)))
	if err != nil {
		return nil, err
	}
	return d, nil
}

// on runs something with the context of the device on one thread.
func (d *Device) on(run func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := d.choose(); err != nil {
		return err
	}
	return run()
}

// choose selects the context on this thread: another device's queue may have
// selected its own.
func (d *Device) choose() error { return d.check("cuCtxSetCurrent", d.setCurrent.Call(d.context)) }

// Memory is what the driver says.
func (d *Device) Memory() (free, total int64, err error) {
	var f, t uintptr
	err = d.on(func() error {
		return d.check("cuMemGetInfo", d.memInfo.Call(uintptr(unsafe.Pointer(&f)), uintptr(unsafe.Pointer(&t))))
	})
	return int64(f), int64(t), err
}

// Register pins memory for all devices, in pieces.
func (d *Device) Register(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	pin := func(piece []byte) error {
		return d.check("cuMemHostRegister", d.hostRegister.Call(dl.Pointer(piece), uintptr(len(piece)), hostRegisterPortable))
	}
	unpin := func(piece []byte) error {
		return d.on(func() error { return d.check("cuMemHostUnregister", d.hostForget.Call(dl.Pointer(piece))) })
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

// Close gives the primary context back.
func (d *Device) Close() error {
	if d.context == 0 {
		return errors.New("the device is closed already")
	}
	d.context = 0
	err := d.check("cuDevicePrimaryCtxRelease", d.release.Call(uintptr(d.id)))
	if b, q, p := d.buffers.Load(), d.queues.Load(), d.pins.Load(); b != 0 || q != 0 || p != 0 {
		return errors.Join(&device.LeakError{Device: d.info.Name, Buffers: b, Queues: q, Pins: p}, err)
	}
	return err
}
