package hip

import (
	"errors"
	"fmt"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// unit is what sizes of buffers are multiples of: smaller ones may share an
// allocation, and a handle for one gives all of it away.
const unit = 2 << 20

// Buffer is memory of a device.
type Buffer struct {
	d      *Device
	at     uintptr
	bytes  int64
	whole  int64 // bytes of the allocation
	opened bool  // by an IPC handle
	closed bool
}

// Alloc makes a buffer.
func (d *Device) Alloc(bytes int64) (device.Buffer, error) {
	b := &Buffer{d: d, bytes: bytes, whole: (bytes + unit - 1) / unit * unit}
	err := d.on(func() error {
		if bytes == 0 {
			return nil
		}
		return d.check("hipMalloc", d.memAlloc.Call(uintptr(unsafe.Pointer(&b.at)), uintptr(b.whole)))
	})
	if err != nil {
		return nil, err
	}
	d.buffers.Add(1)
	return b, nil
}

// Bytes is the size that was asked for.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Pointer is where the buffer lies on its device.
func (b *Buffer) Pointer() uintptr { return b.at }

// Export makes an IPC handle. Whoever opens it checks what it sees: some
// releases of the runtime map another buffer and say nothing.
func (b *Buffer) Export() (device.Handle, error) {
	h := device.Handle{Kind: device.HIPIPC, Bytes: b.whole, Data: make([]byte, device.IPCBytes)}
	if b.closed || b.opened || b.bytes == 0 {
		return h, errors.New("there is no memory of this process to export")
	}
	b.d.runtime.exports.Lock()
	defer b.d.runtime.exports.Unlock()
	err := b.d.on(func() error {
		return b.d.check("hipIpcGetMemHandle", b.d.ipcGet.Call(dl.Pointer(h.Data), b.at))
	})
	return h, err
}

// Import maps memory of another process.
func (d *Device) Import(h device.Handle) (device.Buffer, error) {
	if h.Kind != device.HIPIPC || len(h.Data) != device.IPCBytes {
		return nil, fmt.Errorf("a handle of kind %q: %w", h.Kind, errors.ErrUnsupported)
	}
	b := &Buffer{d: d, bytes: h.Bytes, whole: h.Bytes, opened: true}
	// hipError_t hipIpcOpenMemHandle(void **, hipIpcMemHandle_t, unsigned)
	var call func(at *uintptr, handle struct{ W device.Words }, flags uint32) int32
	dl.Func(&call, d.ipcOpen)
	var handle struct{ W device.Words }
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&handle)), device.IPCBytes), h.Data)
	d.runtime.exports.Lock()
	defer d.runtime.exports.Unlock()
	err := d.on(func() error {
		return d.check("hipIpcOpenMemHandle", uintptr(call(&b.at, handle, ipcLazyPeerAccess)))
	})
	if err != nil {
		return nil, err
	}
	d.buffers.Add(1)
	return b, nil
}

// Close frees or unmaps the memory.
func (b *Buffer) Close() error {
	if b.closed {
		return errors.New("the buffer is closed already")
	}
	b.closed = true
	b.d.buffers.Add(-1)
	if b.at == 0 {
		return nil
	}
	return b.d.on(func() error {
		if b.opened {
			return b.d.check("hipIpcCloseMemHandle", b.d.ipcClose.Call(b.at))
		}
		return b.d.check("hipFree", b.d.memFree.Call(b.at))
	})
}
