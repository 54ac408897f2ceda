// Package dl binds C libraries at run time, without cgo: [Open] takes the first
// of several names that the system's loader finds, and [Library.Bind] looks up
// every function before any is called, so that a library that is too old is an
// error with the name of what it lacks.
//
// # Limits
//
// It works on Linux, macOS and Windows on amd64 and arm64. With the build tag
// nogpu, and elsewhere, [Open] answers [ErrUnsupported]; without the tag the
// program is linked dynamically and needs the C library of its system.
//
// Libraries stay loaded: drivers keep threads of their own.
//
// # Concurrency
//
// Everything may be called from many goroutines. What the libraries allow is
// their own matter; many tie their state to threads.
package dl

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// ErrUnsupported: this program cannot load libraries, with the reason.
var ErrUnsupported = fmt.Errorf("%s: %w", unsupported, errors.ErrUnsupported)

// NotFoundError says that no library of several names could be loaded.
type NotFoundError struct {
	Names []string
	// Reason is the loader's own, of the name that it came furthest with.
	Reason string
}

func (e *NotFoundError) Error() string {
	if e.Reason == "" {
		return "no library " + strings.Join(e.Names, ", ")
	}
	return fmt.Sprintf("no library %s: %s", strings.Join(e.Names, ", "), e.Reason)
}

// SymbolError says that a library lacks a function.
type SymbolError struct{ Library, Symbol string }

func (e *SymbolError) Error() string {
	return fmt.Sprintf("%s has no %s: it is too old, or another library of this name", e.Library, e.Symbol)
}

// Library is a library that is loaded.
type Library struct {
	name   string
	handle uintptr
}

// Open loads the first of some libraries that is there.
func Open(names ...string) (*Library, error) {
	if unsupported != "" {
		return nil, ErrUnsupported
	}
	e := &NotFoundError{Names: names}
	for _, name := range names {
		handle, err := open(name)
		if err == nil {
			return &Library{name, handle}, nil
		}
		// A library that is there and does not load says more than one that is
		// absent.
		if e.Reason == "" || !strings.Contains(err.Error(), absent) {
			e.Reason = err.Error()
		}
	}
	return nil, e
}

// absent is what loaders say of a file that they do not find.
const absent = "No such file"

// Name is the name under which the library was found.
func (l *Library) Name() string { return l.name }

// Symbol is a function by name and where its address belongs.
type Symbol struct {
	Name string
	Proc *Proc
}

// Bind looks up functions. The error is a *SymbolError of the first that is not
// there.
func (l *Library) Bind(symbols []Symbol) error {
	for _, s := range symbols {
		p := l.Lookup(s.Name)
		if p == 0 {
			return &SymbolError{l.name, s.Name}
		}
		*s.Proc = p
	}
	return nil
}

// Lookup finds one function; 0 where there is none.
func (l *Library) Lookup(name string) Proc { return Proc(symbol(l.handle, name)) }

// Proc is a C function. It takes integers and pointers only, each as one
// uintptr; numbers narrower than that are sign- or zero-extended by conversion.
type Proc uintptr

// String copies a string that a C function returned.
func String(p uintptr) string {
	if p == 0 {
		return ""
	}
	// The memory is not Go's, so no rule of its collector is touched; the detour
	// tells vet so.
	return Text(*(**byte)(unsafe.Pointer(&p)))
}

// Text copies a string that a C function stored a pointer to.
func Text(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for n < maxText && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// maxText is more than any driver has to say.
const maxText = 4096

// Pointer is the address of the first byte, 0 of nothing.
func Pointer(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
