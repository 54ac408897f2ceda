//go:build unix

package dl

import (
	"os"
	"syscall"
)

// File takes a descriptor over that a library made.
func File(fd int32, name string) *os.File {
	syscall.CloseOnExec(int(fd))
	return os.NewFile(uintptr(fd), name)
}
