//go:build !amd64 || noasm

package kernel

// Sets lists the implementations that this processor runs, the fastest first.
func Sets() []*Set { return []*Set{Portable()} }
