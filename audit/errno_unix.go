//go:build unix

package audit

import (
	"errors"
	"syscall"
)

// errnoNames are the errors that reading a file meets; the system's own text
// stands beside the name.
var errnoNames = map[syscall.Errno]string{
	syscall.EACCES: "EACCES", syscall.EPERM: "EPERM", syscall.EIO: "EIO", syscall.ESTALE: "ESTALE",
	syscall.ENODEV: "ENODEV", syscall.ENXIO: "ENXIO", syscall.ELOOP: "ELOOP", syscall.EMFILE: "EMFILE",
	syscall.ENFILE: "ENFILE", syscall.ENOTDIR: "ENOTDIR", syscall.ETIMEDOUT: "ETIMEDOUT", syscall.ENAMETOOLONG: "ENAMETOOLONG",
}

func errnoText(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if name, ok := errnoNames[errno]; ok {
			return name + " (" + errno.Error() + ")"
		}
		return errno.Error()
	}
	return err.Error()
}
