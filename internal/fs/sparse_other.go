//go:build !unix

package fs

import "os"

// Sparse cannot be told on this system and is false.
func Sparse(os.FileInfo) bool { return false }

// Allocated cannot be told on this system.
func Allocated(os.FileInfo) (int64, bool) { return 0, false }
