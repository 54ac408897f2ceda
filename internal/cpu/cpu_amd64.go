//go:build amd64 && !noasm

package cpu

import "golang.org/x/sys/cpu"

func present(s Set) bool {
	avx2 := cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C && cpu.X86.HasPOPCNT
	if s == AVX512 {
		return avx2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
	}
	return avx2
}
