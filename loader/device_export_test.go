package loader

import (
	"errors"
	"strings"
	"testing"

	"ckpt/internal/device"
)

// A handle leads to the arena it was made of, and each client has its own.
// Kinds that a process cannot open itself are only made.
func TestDeviceExports(t *testing.T) {
	withDevices(t, func(t *testing.T, d Device) {
		rd, ok := d.(*runtimeDevice)
		if !ok {
			t.Skip("its handles are memory files, tested by themselves")
		}
		const size = 3 << 20
		a, want := newArena(t, d, size), randomBytes(newRand(), size)
		onThread(t, d, func(q Queue) {
			if err := q.Copy(a, 0, want); err != nil {
				t.Fatal(err)
			}
			settle(t, q)
			for range 2 {
				h, err := a.(Exporter).Export()
				if errors.Is(err, errors.ErrUnsupported) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				if h.Bytes < size {
					t.Errorf("a handle of %d bytes", h.Bytes)
				}
				if h.Kind == device.CUDAFile || strings.Contains(d.Name(), "imitation") {
					b, err := rd.Import(device.Handle{Kind: h.Kind, File: h.File, Data: h.Data, Bytes: h.Bytes})
					if err != nil {
						t.Fatal(err)
					}
					compareArena(t, q, &runtimeArena{b}, want)
					if err := b.Close(); err != nil {
						t.Error(err)
					}
				}
				if err := h.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	})
}
