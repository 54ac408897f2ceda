//go:build !linux

package fs

import (
	"os"
	"runtime"
)

func unsupported(feature string) error {
	return &UnsupportedError{Feature: feature, Reason: "not implemented on " + runtime.GOOS}
}

// Stat is not implemented on this system.
func Stat(string) (Volume, error) { return Volume{}, unsupported("statfs") }

// Holes is not implemented on this system.
func Holes(*os.File, int64, int64) ([]Range, error) { return nil, unsupported("SEEK_HOLE") }

// ExtentsOf is not implemented on this system.
func ExtentsOf(*os.File) (Extents, error) { return Extents{}, unsupported("FIEMAP") }

// ReadMemory is not implemented on this system.
func ReadMemory() (Memory, error) { return Memory{}, unsupported("memory") }

// OpenFiles is not implemented on this system.
func OpenFiles() (Limit, error) { return Limit{}, unsupported("limits") }

// Memlock is not implemented on this system.
func Memlock() (Limit, error) { return Limit{}, unsupported("limits") }

// ReadHost describes this machine as far as the language knows it.
func ReadHost() Host {
	return Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Features: features()}
}
