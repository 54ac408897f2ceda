package fs

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// Host says what machine this is.
type Host struct {
	OS, Arch string
	Kernel   string  // as uname gives it; empty where it is not known
	CPU      string  // the processor's own name; empty where it is not known
	CPUs     int     // logical processors that this process may run on
	Quota    float64 // processors that the control groups allow; 0 is no limit
	Features []string
}

// Limit is one limit of the process; Unlimited stands for none.
type Limit struct {
	Soft, Hard uint64
}

// Unlimited is the value of a limit that is none.
const Unlimited = ^uint64(0)

// features names the vector extensions that kernels can use, in the spelling
// of CKPT_DISABLE.
func features() []string {
	type feature struct {
		name string
		has  bool
	}
	var all []feature
	switch runtime.GOARCH {
	case "amd64":
		all = []feature{
			{"sse4.1", cpu.X86.HasSSE41}, {"avx", cpu.X86.HasAVX},
			{"fma", cpu.X86.HasFMA}, {"avx2", cpu.X86.HasAVX2},
			{"avx512f", cpu.X86.HasAVX512F}, {"avx512bw", cpu.X86.HasAVX512BW},
			{"avx512vl", cpu.X86.HasAVX512VL}, {"avx512vbmi", cpu.X86.HasAVX512VBMI},
			{"avx512bf16", cpu.X86.HasAVX512BF16}, {"amx", cpu.X86.HasAMXTile},
		}
	case "arm64":
		all = []feature{
			{"asimd", cpu.ARM64.HasASIMD}, {"fphp", cpu.ARM64.HasFPHP},
			{"asimddp", cpu.ARM64.HasASIMDDP}, {"sve", cpu.ARM64.HasSVE},
			{"sve2", cpu.ARM64.HasSVE2},
		}
	}
	var out []string
	for _, f := range all {
		if f.has {
			out = append(out, f.name)
		}
	}
	return out
}
