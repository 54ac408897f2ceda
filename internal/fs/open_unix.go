//go:build unix

package fs

import "golang.org/x/sys/unix"

const nonblock = unix.O_NONBLOCK
