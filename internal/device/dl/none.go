//go:build nogpu || !((linux || darwin || windows) && (amd64 || arm64))

package dl

func open(string) (uintptr, error) { return 0, ErrUnsupported }

func symbol(uintptr, string) uintptr { return 0 }

// Call is never reached: nothing can be bound.
func (p Proc) Call(...uintptr) uintptr { panic("dl: " + unsupported) }

// Func does nothing: nothing can be bound.
func Func(any, Proc) {}
