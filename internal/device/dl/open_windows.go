//go:build !nogpu && (amd64 || arm64)

package dl

import "golang.org/x/sys/windows"

// open looks into the system's directory only: drivers install there, and the
// working directory is not to be trusted.
func open(name string) (uintptr, error) {
	h, err := windows.LoadLibraryEx(name, 0, windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	return uintptr(h), err
}

func symbol(handle uintptr, name string) uintptr {
	p, err := windows.GetProcAddress(windows.Handle(handle), name)
	if err != nil {
		return 0
	}
	return p
}
