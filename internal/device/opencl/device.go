package opencl

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"ckpt/internal/device"
)

// Device is a device with a context of its own.
type Device struct {
	*api
	entry
	context         uintptr
	bytes           atomic.Int64 // allocated
	buffers, queues atomic.Int64
}

// Open makes a context on a device.
func (r *Runtime) Open(index int) (device.Device, error) {
	if index < 0 || index >= len(r.devices) {
		return nil, fmt.Errorf("opencl has %d devices and no number %d: %w", len(r.devices), index, device.ErrNoDevice)
	}
	d := &Device{api: r.api, entry: r.devices[index]}
	properties := []uintptr{contextPlatform, d.platform, 0}
	var code int32
	d.context = d.createContext.Call(uintptr(unsafe.Pointer(&properties[0])), 1, uintptr(unsafe.Pointer(&d.id)),
		0, 0, uintptr(unsafe.Pointer(&code)))
	if err := check("clCreateContext", code); err != nil {
		return nil, err
	}
	return d, nil
}

// Memory is what the device says. Where it does not say what is free, that is
// all of it without what was allocated here; others may have some of it.
func (d *Device) Memory() (free, total int64, err error) {
	total = d.info.Memory
	if d.free {
		var kib [2]uintptr
		if d.getDeviceInfo.Call(d.id, deviceFreeAMD, unsafe.Sizeof(kib), uintptr(unsafe.Pointer(&kib)), 0) == 0 {
			return int64(kib[0]) << 10, total, nil
		}
	}
	return max(0, total-d.bytes.Load()), total, nil
}

// Import has nothing to import.
func (d *Device) Import(device.Handle) (device.Buffer, error) {
	return nil, fmt.Errorf("opencl buffers stay in their process: %w", errors.ErrUnsupported)
}

// Register refuses: OpenCL pins only what it has allocated itself.
func (d *Device) Register(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	return fmt.Errorf("opencl cannot pin memory of the program: %w", errors.ErrUnsupported)
}

// Unregister undoes nothing.
func (d *Device) Unregister([]byte) error { return nil }

// Close releases the context.
func (d *Device) Close() error {
	err := check("clReleaseContext", int32(d.releaseContext.Call(d.context)))
	if b, q := d.buffers.Load(), d.queues.Load(); b+q > 0 {
		return errors.Join(&device.LeakError{Device: d.info.Name, Buffers: b, Queues: q}, err)
	}
	return err
}
