package loader

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// deviceUnder is a device that the suite runs on.
type deviceUnder struct {
	name string
	open func(t *testing.T) []Device
}

// withDevices runs a test on every device that keeps what it gets. A device
// that is closed with something open fails it.
func withDevices(t *testing.T, test func(t *testing.T, d Device)) {
	for _, u := range devicesUnder() {
		t.Run(u.name, func(t *testing.T) {
			for _, d := range u.open(t) {
				t.Cleanup(func() {
					if err := d.Close(); err != nil {
						t.Errorf("closing: %v", err)
					}
				})
				test(t, d)
			}
		})
	}
}

func devicesUnder() []deviceUnder {
	all := []deviceUnder{
		{"host", func(*testing.T) []Device { return []Device{NewHost()} }},
	}
	for _, kind := range []string{"opencl", "cuda", "hip"} {
		all = append(all, deviceUnder{kind, func(t *testing.T) []Device {
			devices, _, err := OpenDevices(kind)
			if errors.Is(err, ErrUnavailable) {
				lacking(t, kind == "opencl", err.Error())
			}
			if err != nil {
				t.Fatal(err)
			}
			return devices
		}})
	}
	return append(all, fakeDevices()...)
}

// lacking skips a test for what the machine does not have; CI can demand some
// of it.
func lacking(t *testing.T, demanded bool, reason string) {
	t.Helper()
	if demanded && os.Getenv("CKPT_FORBID_SKIP") == "1" && deviceLibraries {
		t.Fatal(reason + ", and CKPT_FORBID_SKIP is set")
	}
	t.Skip(reason)
}

// onThread gives a test a thread and a queue of its own, as workers have them.
func onThread(t *testing.T, d Device, test func(q Queue)) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}()
	test(q)
}

func newArena(t *testing.T, d Device, bytes int64) Arena {
	t.Helper()
	a, err := d.Alloc(bytes)
	if err != nil {
		t.Fatal(err)
	}
	if a.Bytes() != bytes {
		t.Fatalf("an arena of %d bytes has %d", bytes, a.Bytes())
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// settle records an event and polls it.
func settle(t *testing.T, q Queue) {
	t.Helper()
	e, err := q.Record()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		done, err := e.Done()
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("an event is not done after a minute")
		}
		runtime.Gosched()
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// Every place and length, copies that touch, one byte at a time.
func TestDeviceCopies(t *testing.T) {
	withDevices(t, func(t *testing.T, d Device) {
		const size = 3<<20 + 13
		a, want, r := newArena(t, d, size), make([]byte, size), newRand()
		src := randomBytes(r, 1<<20)
		onThread(t, d, func(q Queue) {
			copyTo := func(off, from, n int) {
				t.Helper()
				copy(want[off:], src[from:from+n])
				if err := q.Copy(a, int64(off), src[from:from+n]); err != nil {
					t.Fatal(err)
				}
			}
			for off := 0; off < size; off += len(src) {
				copyTo(off, 0, min(len(src), size-off))
			}
			copyTo(size, 5, 0)
			copyTo(0, 5, 0)
			for i := range 200 {
				n := r.IntN(300)
				copyTo(r.IntN(size-n), r.IntN(len(src)-n), n)
				if i%17 == 0 {
					settle(t, q)
				}
			}
			copyTo(size-1, 77, 1)
			settle(t, q)
			compareArena(t, q, a, want)
		})
	})
}

func compareArena(t *testing.T, q Queue, a Arena, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	const odd = 1<<19 + 7
	for off := 0; off < len(got); off += odd {
		end := min(off+odd, len(got))
		if err := q.ReadBack(got[off:end], a, int64(off)); err != nil {
			t.Fatal(err)
		}
	}
	if i := difference(got, want); i >= 0 {
		t.Fatalf("byte %d is %#x, not %#x", i, got[i], want[i])
	}
}

func difference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// Rows of every width and distance arrive together, in all ways that a device
// has.
func TestDeviceRectangles(t *testing.T) {
	withDevices(t, func(t *testing.T, d Device) {
		const size = 2 << 20
		a, want, r := newArena(t, d, size), make([]byte, size), newRand()
		src := randomBytes(r, 1<<20)
		onThread(t, d, func(q Queue) {
			if err := q.Copy(a, 0, want); err != nil {
				t.Fatal(err)
			}
			for i := range 150 {
				run := 1 + r.IntN(2000)
				stride := run + r.IntN(3000)
				if i%10 == 0 {
					stride = run
				}
				rows := r.IntN(1 + (len(src)-run)/stride)
				if i%13 == 0 {
					rows = 1
				}
				rows = min(rows, size/run/2)
				off := r.IntN(size - rows*run + 1)
				from := r.IntN(len(src) - max(0, rows-1)*stride - run + 1)
				rect := Rect{Src: src[from:], Rows: rows, Run: run, Stride: stride}
				PackRows(want[off:], rect)
				for _, way := range d.Ways() {
					placeRect(t, q, a, int64(off), rect, way)
				}
			}
			settle(t, q)
			compareArena(t, q, a, want)
		})
	})
}

// placeRect takes one way, as the pipeline does.
func placeRect(t *testing.T, q Queue, a Arena, off int64, r Rect, way Way) {
	t.Helper()
	var err error
	if way == WayPack {
		packed := make([]byte, r.Rows*r.Run)
		PackRows(packed, r)
		err = q.Copy(a, off, packed)
		settle(t, q)
	} else {
		err = q.CopyRect(a, off, r)
	}
	if err != nil {
		t.Fatalf("%s of %d rows of %d, %d apart, at %d: %v", way, r.Rows, r.Run, r.Stride, off, err)
	}
}

// What does not lie in its arena is refused, whatever the numbers are.
func TestDeviceRanges(t *testing.T) {
	withDevices(t, func(t *testing.T, d Device) {
		a := newArena(t, d, 1000)
		onThread(t, d, func(q Queue) {
			for _, off := range []int64{-1, 991, 1000, 1001, math.MaxInt64, math.MinInt64} {
				refused(t, fmt.Sprint("copy at ", off), q.Copy(a, off, make([]byte, 10)))
				refused(t, fmt.Sprint("read at ", off), q.ReadBack(make([]byte, 10), a, off))
				refused(t, fmt.Sprint("rows at ", off), q.CopyRect(a, off, Rect{make([]byte, 20), 2, 5, 10}))
			}
			for _, r := range []Rect{
				{make([]byte, 20), -1, 5, 10}, {make([]byte, 20), 2, -5, 10}, {make([]byte, 20), 2, 5, 4},
				{make([]byte, 20), 3, 5, 10}, {make([]byte, 14), 2, 5, 10}, {make([]byte, 20), math.MaxInt, 5, 10},
				{make([]byte, 20), 2, 5, math.MaxInt}, {nil, 1, 1, 1},
			} {
				refused(t, fmt.Sprintf("%d rows of %d, %d apart, of %d", r.Rows, r.Run, r.Stride, len(r.Src)), q.CopyRect(a, 0, r))
			}
		})
	})
}

func refused(t *testing.T, what string, err error) {
	t.Helper()
	var e *RangeError
	if !errors.As(err, &e) {
		t.Errorf("%s: %v", what, err)
	}
}

// Workers have queues of their own, arenas are common to them.
func TestDeviceQueuesOnManyThreads(t *testing.T) {
	withDevices(t, func(t *testing.T, d Device) {
		const workers, each, chunk = 4, 1 << 18, 4096 + 512
		a, want := newArena(t, d, workers*each), randomBytes(newRand(), workers*each)
		staging := bytes.Clone(want)
		if err := d.Register(staging); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		} else if err == nil {
			defer func() {
				if err := d.Unregister(staging); err != nil {
					t.Error(err)
				}
			}()
		}
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				onThread(t, d, func(q Queue) {
					for off := w * each; off < (w+1)*each; off += chunk {
						end := min(off+chunk, (w+1)*each)
						if err := q.Copy(a, int64(off), staging[off:end]); err != nil {
							t.Error(err)
							return
						}
					}
					settle(t, q)
				})
			})
		}
		all.Wait()
		onThread(t, d, func(q Queue) { compareArena(t, q, a, want) })
	})
}

// Events may be taken and left; a queue is closed with some of them open.
func TestDeviceEvents(t *testing.T) {
	withDevices(t, func(t *testing.T, d Device) {
		a, src := newArena(t, d, 1<<20), make([]byte, 1<<20)
		onThread(t, d, func(q Queue) {
			var events []Event
			for range 64 {
				if err := q.Copy(a, 0, src); err != nil {
					t.Fatal(err)
				}
				e, err := q.Record()
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, e)
			}
			settle(t, q)
			for i, e := range events[:32] {
				if done, err := e.Done(); !done || err != nil {
					t.Fatalf("event %d came before another that is done, and is not: %v", i, err)
				}
			}
		})
	})
}

func TestDeviceArenaSizes(t *testing.T) {
	withDevices(t, func(t *testing.T, d Device) {
		newArena(t, d, 0)
		newArena(t, d, 1)
		if _, err := d.Alloc(-1); err == nil {
			t.Error("an arena of -1 bytes")
		}
		a, err := d.Alloc(4096)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := a.Close(); err == nil {
			t.Error("closed twice, and no word")
		}
	})
}

// More than there is, by the device's own account, is ErrMemory and not a
// killed process.
func TestDeviceMemory(t *testing.T) {
	withDevices(t, func(t *testing.T, d Device) {
		free, total, err := d.Memory()
		if err != nil || free < 0 || total < free {
			t.Fatalf("%d free of %d: %v", free, total, err)
		}
		if total == 0 {
			t.Skip("the device does not say what memory it has")
		}
		if a, err := d.Alloc(total * 4); !errors.Is(err, ErrMemory) {
			t.Errorf("four times what there is: %v", err)
			if err == nil {
				_ = a.Close()
			}
		}
	})
}

// A device that is closed too early says so.
func TestDeviceLeaks(t *testing.T) {
	for _, u := range devicesUnder() {
		t.Run(u.name, func(t *testing.T) {
			for i, d := range u.open(t) {
				if i > 0 {
					_ = d.Close()
					continue
				}
				if _, err := d.Alloc(4096); err != nil {
					t.Fatal(err)
				}
				if d.Close() == nil {
					t.Error("an arena is left, and no word")
				}
			}
		})
	}
}

func TestDevicePinsAreOptional(t *testing.T) {
	withDevices(t, func(t *testing.T, d Device) {
		if err := d.Register(nil); err != nil {
			t.Errorf("registering nothing: %v", err)
		}
		if err := d.Unregister(nil); err != nil {
			t.Errorf("unregistering nothing: %v", err)
		}
	})
}
