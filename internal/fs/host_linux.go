package fs

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadHost describes this machine.
func ReadHost() Host {
	return Host{
		OS: runtime.GOOS, Arch: runtime.GOARCH,
		Kernel: kernel(), CPU: cpuName(),
		CPUs: runtime.NumCPU(), Quota: cpuQuota(os.DirFS("/")),
		Features: features(),
	}
}

// ReadMemory says how much memory there is and what limits it.
func ReadMemory() (Memory, error) { return readMemory(os.DirFS("/")) }

// OpenFiles is the limit of descriptors of this process.
func OpenFiles() (Limit, error) { return limit(unix.RLIMIT_NOFILE) }

// Memlock is the limit of pinned memory of this process, in bytes.
func Memlock() (Limit, error) { return limit(unix.RLIMIT_MEMLOCK) }

func limit(resource int) (Limit, error) {
	var r unix.Rlimit
	if err := unix.Getrlimit(resource, &r); err != nil {
		return Limit{}, os.NewSyscallError("getrlimit", err)
	}
	return Limit{Soft: r.Cur, Hard: r.Max}, nil
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// cpuName is the first "model name" of /proc/cpuinfo; arm64 has none.
func cpuName() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
