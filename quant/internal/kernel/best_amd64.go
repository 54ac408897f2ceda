//go:build !noasm

package kernel

import "ckpt/internal/cpu"

// Sets lists the implementations that this processor runs, the fastest first.
func Sets() []*Set {
	if cpu.Has(cpu.AVX2) {
		return []*Set{AVX2(), Portable()}
	}
	return []*Set{Portable()}
}
