//go:build !linux

package fs

import "os"

// DirectAlign is not implemented on this system.
func DirectAlign(*os.File) (Alignment, error) { return Alignment{}, unsupported("direct reads") }

// SetDirect is not implemented on this system; reads go through the page cache.
func SetDirect(_ *os.File, direct bool) error {
	if !direct {
		return nil
	}
	return unsupported("direct reads")
}

// ProbeDirect is not implemented on this system.
func ProbeDirect(*os.File, int64) (bool, error) { return false, unsupported("direct reads") }

// StateOf looks at an open file.
func StateOf(f *os.File) (State, error) {
	info, err := f.Stat()
	if err != nil {
		return State{}, err
	}
	return State{Size: info.Size(), Modified: info.ModTime().UnixNano()}, nil
}

// DropCache is not implemented on this system.
func DropCache(*os.File) error { return unsupported("dropping cached pages") }

// Resident is not implemented on this system.
func Resident(*os.File) (int64, error) { return 0, unsupported("cachestat") }

// ResidentRange is not implemented on this system.
func ResidentRange(*os.File, Range) (int64, error) { return 0, unsupported("cachestat") }

// DiskReads is not implemented on this system.
func DiskReads(string) (int64, error) { return 0, unsupported("disk statistics") }
