package loader

import (
	"errors"
	"strings"
	"testing"
)

func TestOpenDevices(t *testing.T) {
	for _, name := range []string{"null", "host", "auto", ""} {
		devices, reasons, err := OpenDevices(name)
		if err != nil || len(devices) == 0 || len(reasons) == 0 {
			t.Errorf("%q: %d devices, %q, %v", name, len(devices), reasons, err)
		}
		if err := closeDevices(devices); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"gpu", "host:0", "null:1", "auto:0", "cuda:", "opencl:0,0", "opencl:-1", "opencl:a", "opencl:0,", "hip:70000"} {
		var e *OptionError
		if _, _, err := OpenDevices(name); !errors.As(err, &e) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, _, err := OpenDevices("opencl:9999"); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

// Auto goes from one runtime to the next and says why; what was never run on
// its hardware says that too. OpenCL is only taken when it is asked for.
func TestOpenDevicesAutoSaysWhy(t *testing.T) {
	devices, reasons, err := OpenDevices("auto")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeDevices(devices) }()
	all := strings.Join(reasons, "\n")
	if !strings.Contains(all, "cuda: ") || strings.Contains(all, "opencl") {
		t.Errorf("%s", all)
	}
	if devices[0].Name() == "host" && (len(devices) != 1 || !strings.Contains(all, "hip: ") || !strings.Contains(all, "host: ")) {
		t.Errorf("%s", all)
	}
	for _, kind := range []string{"cuda", "hip"} {
		if Untested(kind) != "never run on its hardware" {
			t.Errorf("%s: %s", kind, Untested(kind))
		}
	}
}

func TestRuntimes(t *testing.T) {
	for _, r := range Runtimes() {
		if r.Err == nil && (r.Library == "" || len(r.Devices) == 0) {
			t.Errorf("%+v", r)
		}
	}
}

func TestNullCounts(t *testing.T) {
	d := NewNull()
	a, err := d.Alloc(1 << 40)
	if err != nil {
		t.Fatal(err)
	}
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := q.Copy(a, 1<<39, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.CopyRect(a, 0, Rect{make([]byte, 20), 2, 5, 10}); err != nil {
		t.Fatal(err)
	}
	refused(t, "behind the end", q.Copy(a, 1<<40, []byte{1}))
	if err := q.ReadBack(make([]byte, 1), a, 0); err == nil {
		t.Error("read back what nobody kept")
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if copies, bytes := d.Copied(); copies != 4 || bytes != 310 {
		t.Errorf("%d copies of %d bytes", copies, bytes)
	}
}
