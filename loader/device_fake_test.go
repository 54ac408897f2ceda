//go:build !nogpu && linux

package loader

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"ckpt/internal/device/cuda"
)

// fakeDevices are the bindings over a library that imitates a driver, where a C
// compiler is at hand: arguments arrive as the headers declare them. It shows
// nothing of hardware.
func fakeDevices() []deviceUnder {
	open := func(t *testing.T, which int) []Device {
		t.Helper()
		runtimes, err := imitations()
		if err != nil {
			t.Skip(err)
		}
		devices, err := openAll(runtimes[which], nil)
		if err != nil {
			t.Fatal(err)
		}
		return devices
	}
	return []deviceUnder{
		{"imitated-cuda", func(t *testing.T) []Device { return open(t, 0) }},
		{"imitated-cuda-without-vmm", func(t *testing.T) []Device { return open(t, 1) }},
	}
}

// imitations builds the library once and loads it as a driver with the virtual
// memory management and as one without.
var imitations = sync.OnceValues(func() (runtimes [2]*cuda.Runtime, err error) {
	source := "../internal/device/cuda/testdata/fakecuda.c"
	dir, err := os.MkdirTemp("", "imitation")
	if err != nil {
		return runtimes, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for i, option := range []string{"-DVMM=1", "-DVMM=0"} {
		library := filepath.Join(dir, option+".so")
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", option, "-o", library, source).CombinedOutput(); err != nil {
			return runtimes, fmt.Errorf("no shared library can be built: %w\n%s", err, out)
		}
		if runtimes[i], err = cuda.Load(library); err != nil {
			return runtimes, err
		}
	}
	return runtimes, nil
})
