//go:build !nogpu && (linux || darwin) && (amd64 || arm64)

package dl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// open keeps to one thread: the reason of a failure is kept for each.
func open(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(handle uintptr, name string) uintptr {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return p
}
