//go:build !unix

package dl

import "os"

// File is nil: libraries make no descriptors here.
func File(int32, string) *os.File { return nil }
