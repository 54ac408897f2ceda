//go:build !nogpu && (linux || darwin || windows) && (amd64 || arm64)

package dl

import "github.com/ebitengine/purego"

const unsupported = ""

// Call calls the function. Pointers are converted in the call itself,
// uintptr(unsafe.Pointer(&x)), and live as long as it takes; what C keeps for
// longer is not Go's memory or kept alive by the caller.
//
//go:uintptrescapes
func (p Proc) Call(args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(uintptr(p), args...)
	return r
}

// Func makes a Go function of a C function, for those that take structures by
// value: fptr points to a variable of a function type.
func Func(fptr any, p Proc) { purego.RegisterFunc(fptr, uintptr(p)) }
