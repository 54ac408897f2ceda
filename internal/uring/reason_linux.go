package uring

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// refusal says in words why a ring was refused.
func refusal(err error) string { return refusalWith(err, disabled()) }

func refusalWith(err error, disabled string) string {
	switch {
	case errors.Is(err, unix.EPERM) && disabled == "2":
		return "switched off by kernel.io_uring_disabled = 2"
	case errors.Is(err, unix.EPERM) && disabled == "1":
		return "kernel.io_uring_disabled = 1 leaves it to the group kernel.io_uring_group"
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES):
		return "not permitted: a seccomp filter forbids it, as containers' do"
	case errors.Is(err, unix.ENOSYS):
		return "the kernel has none, or a seccomp filter hides it"
	case errors.Is(err, unix.ENOMEM):
		return "no memory for its queues, or the limit of locked memory (ulimit -l) is too low"
	case errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE):
		return "no descriptor is left (ulimit -n)"
	}
	return err.Error()
}

// disabled is the kernel's switch; empty where there is none.
func disabled() string {
	text, err := os.ReadFile("/proc/sys/kernel/io_uring_disabled")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// bufferRefusal says why buffers were not registered.
func bufferRefusal(errno unix.Errno, bytes int64) string {
	if errno != unix.ENOMEM {
		return errno.Error()
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil || limit.Cur == unix.RLIM_INFINITY {
		return errno.Error()
	}
	return fmt.Sprintf("%d bytes are over the limit of locked memory of %d (ulimit -l)", bytes, limit.Cur)
}
