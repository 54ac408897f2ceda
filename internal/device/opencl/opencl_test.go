package opencl

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"ckpt/internal/device"
	"ckpt/internal/device/dl"
)

// first opens the first device, or skips where there is none.
func first(t *testing.T) *Device {
	t.Helper()
	r, err := Open()
	if err != nil {
		if os.Getenv("CKPT_FORBID_SKIP") == "1" && !errors.Is(err, errors.ErrUnsupported) && runtime.GOOS == "linux" {
			t.Fatalf("%v, and CKPT_FORBID_SKIP is set", err)
		}
		t.Skip(err)
	}
	d, err := r.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d.(*Device)
}

func TestRuntimeDescribesItself(t *testing.T) {
	first(t)
	r, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	if r.Kind() != "opencl" || !strings.Contains(r.Library(), "OpenCL") || r.Version() == "" {
		t.Errorf("%s %s %s", r.Kind(), r.Library(), r.Version())
	}
	for _, i := range r.Devices() {
		if i.Name == "" || i.Memory <= 0 || i.Detail == "" {
			t.Errorf("%+v", i)
		}
	}
	if _, err := r.Open(len(r.Devices())); !errors.Is(err, device.ErrNoDevice) {
		t.Errorf("a device behind the last: %v", err)
	}
}

// A buffer that is larger than one allocation may be is made of pieces; copies
// and rows that cross their borders arrive.
func TestBuffersOfPieces(t *testing.T) {
	d := first(t)
	d.most = 1000
	const size = 10_500
	b, err := d.Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if n := len(b.(*Buffer).mems); n != 11 {
		t.Fatalf("%d pieces", n)
	}
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
	want, r := make([]byte, size), rand.New(rand.NewPCG(3, 4))
	src := make([]byte, 2*size)
	for i := range src {
		src[i] = byte(r.Uint32())
	}
	for range 100 {
		n := r.IntN(3000)
		off, from := r.IntN(size-n), r.IntN(len(src)-n)
		copy(want[off:], src[from:from+n])
		if err := q.Copy(b, int64(off), src[from:from+n]); err != nil {
			t.Fatal(err)
		}
		run, rows := 1+r.IntN(400), 1+r.IntN(20)
		stride := run + r.IntN(100)
		off = r.IntN(size - run*rows)
		for i := range rows {
			copy(want[off+i*run:], src[i*stride:i*stride+run])
		}
		if err := q.CopyRect(b, int64(off), src, rows, run, stride); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, size)
	if err := q.Read(got, b, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the buffer is not what was copied")
	}
}

// New memory is zero, of every size: it was written to, not only promised.
func TestBuffersAreFilled(t *testing.T) {
	d := first(t)
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	for _, size := range []int64{1, 15, 16, 4099, 1 << 20} {
		b, err := d.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		got := bytes.Repeat([]byte{1}, int(size))
		if err := q.Read(got, b, 0); err != nil || !bytes.Equal(got, make([]byte, size)) {
			t.Errorf("%d bytes are not zero: %v", size, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLeaksAreCounted(t *testing.T) {
	d := first(t)
	other, err := (&Runtime{api: d.api, devices: []entry{d.entry}}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	var leak *device.LeakError
	if err := other.Close(); !errors.As(err, &leak) || leak.Buffers != 1 {
		t.Errorf("%v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestMissingLibrary(t *testing.T) {
	_, err := Load("libOpenCL-of-nobody.so.1")
	var missing *dl.NotFoundError
	if !errors.As(err, &missing) && !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

func TestErrorsNameTheCall(t *testing.T) {
	err := check("clCreateBuffer", memObjectAllocationFailure)
	if !errors.Is(err, device.ErrMemory) || !strings.Contains(err.Error(), "CL_MEM_OBJECT_ALLOCATION_FAILURE") {
		t.Error(err)
	}
	if err := check("clFlush", -9999); err == nil || !strings.Contains(err.Error(), "-9999") {
		t.Error(err)
	}
}
