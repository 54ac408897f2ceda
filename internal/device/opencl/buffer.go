package opencl

import (
	"errors"
	"fmt"
	"unsafe"

	"ckpt/internal/device"
)

// pieceAlign keeps pieces of a buffer at places that copies like.
const pieceAlign = 2 << 20

// Buffer is one or more allocations, all of piece bytes but the last.
type Buffer struct {
	d     *Device
	mems  []uintptr
	piece int64
	bytes int64
}

// Alloc allocates and fills with zeros: many runtimes take memory only at the
// first write.
func (d *Device) Alloc(bytes int64) (device.Buffer, error) {
	b := &Buffer{d: d, bytes: bytes, piece: max(bytes, 1)}
	if d.most > 0 && bytes > d.most {
		b.piece = max(d.most&^(pieceAlign-1), min(d.most, pieceAlign))
	}
	for at := int64(0); at < bytes; at += b.piece {
		var code int32
		size := min(b.piece, bytes-at)
		mem := d.createBuffer.Call(d.context, memReadWrite, uintptr(size), 0, uintptr(unsafe.Pointer(&code)))
		if err := check("clCreateBuffer", code); err != nil {
			return nil, errors.Join(fmt.Errorf("%d bytes: %w", size, err), b.release())
		}
		b.mems = append(b.mems, mem)
	}
	if err := b.fill(); err != nil {
		return nil, errors.Join(err, b.release())
	}
	d.bytes.Add(bytes)
	d.buffers.Add(1)
	return b, nil
}

func (b *Buffer) fill() error {
	q, err := b.d.newQueue()
	if err != nil {
		return err
	}
	var zeros [16]byte
	for i, mem := range b.mems {
		size := min(b.piece, b.bytes-int64(i)*b.piece)
		pattern := uintptr(len(zeros))
		for size%int64(pattern) != 0 {
			pattern /= 2
		}
		err = errors.Join(err, check("clEnqueueFillBuffer", int32(b.d.enqueueFill.Call(q.id, mem,
			uintptr(unsafe.Pointer(&zeros)), pattern, 0, uintptr(size), 0, 0, 0))))
	}
	return errors.Join(err, q.finishAll(), q.release())
}

// Bytes is the size that was asked for.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Export has no portable way in OpenCL.
func (b *Buffer) Export() (device.Handle, error) {
	return device.Handle{}, fmt.Errorf("opencl buffers stay in their process: %w", errors.ErrUnsupported)
}

// Close frees the memory.
func (b *Buffer) Close() error {
	if b.mems == nil && b.bytes > 0 {
		return errors.New("the buffer is closed already")
	}
	err := b.release()
	b.d.bytes.Add(-b.bytes)
	b.d.buffers.Add(-1)
	return err
}

func (b *Buffer) release() error {
	var errs []error
	for _, mem := range b.mems {
		errs = append(errs, check("clReleaseMemObject", int32(b.d.releaseMem.Call(mem))))
	}
	b.mems = nil
	return errors.Join(errs...)
}

// at finds the piece of a place: its memory, the place in it and the bytes that
// it has from there on.
func (b *Buffer) at(off int64) (mem uintptr, in, left int64) {
	i := off / b.piece
	in = off - i*b.piece
	return b.mems[i], in, min(b.piece, b.bytes-i*b.piece) - in
}
