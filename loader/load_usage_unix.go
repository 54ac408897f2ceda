//go:build unix

package loader

import (
	"runtime"
	"syscall"
)

func usage() cpuTime {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return cpuTime{}
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }
	peak := u.Maxrss
	if runtime.GOOS != "darwin" {
		peak <<= 10
	}
	return cpuTime{seconds(u.Utime), seconds(u.Stime), peak}
}
