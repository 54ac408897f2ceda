package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// ipcUnit is what sizes of buffers from cuMemAlloc are multiples of: smaller
// ones share an allocation, and a handle for one gives all of it away.
const ipcUnit = 2 << 20

// Buffer is memory of a device.
type Buffer struct {
	d     *Device
	at    uintptr // CUdeviceptr
	bytes int64
	whole int64 // bytes of the allocation

	handle  uint64 // CUmemGenericAllocationHandle; 0 where it is from cuMemAlloc
	virtual bool
	opened  bool // by an IPC handle
	closed  bool
}

// Alloc makes a buffer.
func (d *Device) Alloc(bytes int64) (device.Buffer, error) {
	b := &Buffer{d: d, bytes: bytes}
	err := d.on(func() error {
		if bytes == 0 {
			return nil
		}
		if d.posix {
			err := b.create()
			if err == nil || errors.Is(err, device.ErrMemory) {
				return err
			}
			// Some containers and virtual GPUs have the functions and not the right.
		}
		return b.plain()
	})
	if err != nil {
		return nil, err
	}
	d.buffers.Add(1)
	return b, nil
}

func (b *Buffer) plain() error {
	b.whole = roundUp(b.bytes, ipcUnit)
	return b.d.check("cuMemAlloc", b.d.memAlloc.Call(uintptr(unsafe.Pointer(&b.at)), uintptr(b.whole)))
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

func (d *Device) allocation() *allocation {
	return &allocation{kind: allocationPinned, handles: handlePosix, location: location{locationDevice, d.id}}
}

func (d *Device) granularity() (int64, error) {
	prop, unit := d.allocation(), uintptr(0)
	err := d.check("cuMemGetAllocationGranularity", d.vmm.granularity.Call(
		uintptr(unsafe.Pointer(&unit)), uintptr(unsafe.Pointer(prop)), granularityRecommended))
	return int64(max(unit, 1)), err
}

// create makes memory and maps it.
func (b *Buffer) create() error {
	d := b.d
	unit, err := d.granularity()
	if err != nil {
		return err
	}
	b.whole = roundUp(b.bytes, unit)
	prop := d.allocation()
	if err := d.check("cuMemCreate", d.vmm.create.Call(uintptr(unsafe.Pointer(&b.handle)), uintptr(b.whole), uintptr(unsafe.Pointer(prop)), 0)); err != nil {
		b.handle = 0
		return err
	}
	return b.mapHandle()
}

// mapHandle gives the memory of the handle a place; without one, the handle is
// released.
func (b *Buffer) mapHandle() error {
	d, size := b.d, uintptr(b.whole)
	err := d.check("cuMemAddressReserve", d.vmm.reserve.Call(uintptr(unsafe.Pointer(&b.at)), size, 0, 0, 0))
	if err == nil {
		if err = d.check("cuMemMap", d.vmm.mapIt.Call(b.at, size, 0, uintptr(b.handle), 0)); err == nil {
			desc := &access{location{locationDevice, d.id}, accessReadWrite}
			if err = d.check("cuMemSetAccess", d.vmm.access.Call(b.at, size, uintptr(unsafe.Pointer(desc)), 1)); err == nil {
				b.virtual = true
				return nil
			}
			err = errors.Join(err, d.check("cuMemUnmap", d.vmm.unmap.Call(b.at, size)))
		}
		err = errors.Join(err, d.check("cuMemAddressFree", d.vmm.free.Call(b.at, size)))
	}
	err = errors.Join(err, d.check("cuMemRelease", d.vmm.release.Call(uintptr(b.handle))))
	b.at, b.handle = 0, 0
	return err
}

// Bytes is the size that was asked for.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Pointer is where the buffer lies on its device.
func (b *Buffer) Pointer() uintptr { return b.at }

// Export makes a file descriptor, or an IPC handle where the memory has none.
func (b *Buffer) Export() (device.Handle, error) {
	h := device.Handle{Bytes: b.whole}
	if b.closed || b.opened || b.bytes == 0 {
		return h, errors.New("there is no memory of this process to export")
	}
	err := b.d.on(func() error {
		if b.virtual {
			var fd int32
			err := b.d.check("cuMemExportToShareableHandle", b.d.vmm.export.Call(
				uintptr(unsafe.Pointer(&fd)), uintptr(b.handle), handlePosix, 0))
			if err == nil {
				h.Kind, h.File = device.CUDAFile, dl.File(fd, "cuda memory")
			}
			return err
		}
		h.Kind, h.Data = device.CUDAIPC, make([]byte, device.IPCBytes)
		return b.d.check("cuIpcGetMemHandle", b.d.ipcGet.Call(dl.Pointer(h.Data), b.at))
	})
	return h, err
}

// Import maps memory of another process. The descriptor stays the caller's.
func (d *Device) Import(h device.Handle) (device.Buffer, error) {
	b := &Buffer{d: d, bytes: h.Bytes, whole: h.Bytes}
	err := d.on(func() error {
		switch {
		case h.Kind == device.CUDAFile && h.File != nil && d.virtual:
			return b.importFile(h)
		case h.Kind == device.CUDAIPC && len(h.Data) == device.IPCBytes:
			return b.importIPC(h)
		}
		return fmt.Errorf("a handle of kind %q: %w", h.Kind, errors.ErrUnsupported)
	})
	if err != nil {
		return nil, err
	}
	d.buffers.Add(1)
	return b, nil
}

func (b *Buffer) importFile(h device.Handle) error {
	// Fd of some releases of Go made the file blocking, which is right here.
	err := b.d.check("cuMemImportFromShareableHandle", b.d.vmm.importFD.Call(
		uintptr(unsafe.Pointer(&b.handle)), h.File.Fd(), handlePosix))
	if err != nil {
		return err
	}
	return b.mapHandle()
}

func (b *Buffer) importIPC(h device.Handle) error {
	// CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *, CUipcMemHandle, unsigned)
	var call func(at *uintptr, handle struct{ W device.Words }, flags uint32) int32
	dl.Func(&call, b.d.ipcOpen)
	var handle struct{ W device.Words }
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&handle)), device.IPCBytes), h.Data)
	if err := b.d.check("cuIpcOpenMemHandle", uintptr(call(&b.at, handle, ipcLazyPeerAccess))); err != nil {
		return err
	}
	b.opened = true
	return nil
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
		d, size := b.d, uintptr(b.whole)
		switch {
		case b.opened:
			return d.check("cuIpcCloseMemHandle", d.ipcClose.Call(b.at))
		case b.virtual:
			return errors.Join(
				d.check("cuMemUnmap", d.vmm.unmap.Call(b.at, size)),
				d.check("cuMemAddressFree", d.vmm.free.Call(b.at, size)),
				d.check("cuMemRelease", d.vmm.release.Call(uintptr(b.handle))))
		}
		return d.check("cuMemFree", d.memFree.Call(b.at))
	})
}
