package quant

var compressedTensors = &Scheme{
	Name: "compressed-tensors", System: "compressed-tensors", Release: "0.20.1 on CPU; the same bytes from 0.17.1, 0.18.0, 0.19.0",
	Doc: "what llm-compressor writes. MXFP8 rounds the maximum to FP4's mantissa and adds a zero point, so -0 becomes +0. " +
		"Maxima from 0x7F60 up overflow its scale: the block is lost. Of F16 those from 57344 up and below 0.75 * 2^-14 are lost, and a block of zeros has byte 127. " +
		"Its GPU kernel differs: compressed-tensors-gpu. " +
		"NVFP4 was run on float32 and on bf16, where maximum / 6 is rounded to bf16",
	Recipes: []Recipe{
		{
			Format: MXFP4, Rule: Even, Signs: SignsTiny, Clamp: clampLost, Input: inputLost, Layout: LayoutCompressedTensors,
			Rows: []string{"compressed_tensors_cpu"}, ends: topLost, system: scaleInf,
		},
		{
			Format: MXFP8E4M3, Rule: EvenFP4, Signs: SignsTiny, Clamp: clampLost, Input: inputLost, Layout: LayoutCompressedTensors8,
			Rows: []string{"compressed_tensors_mxfp8(cpu)"}, ends: topLost, system: scaleInf,
		},
		{
			Format: NVFP4, Rule: Nearest, Signs: SignsTiny, Zero: 0x20, Layout: LayoutCompressedTensorsNVFP4,
			Clamp: "a scale that is 0 or vanishes becomes 0.125", Input: "undefined", Rows: []string{"compressed_tensors_f32_weights"},
		},
	},
}

const (
	clampLost = clampAt0 + "; a maximum that rounds to 2^128: byte 127 and zeros"
	inputLost = "byte 127 and zeros"
)

var compressedTensorsBare = &Scheme{
	Name: "compressed-tensors-bare", System: "compressed-tensors", Release: "0.20.1 on CPU, initialized without a zero point",
	Doc: "keeps -0",
	Recipes: []Recipe{{
		Format: MXFP8E4M3, Rule: EvenFP4, Signs: SignsKept, Clamp: clampLost, Input: inputLost, Layout: LayoutCompressedTensors8,
		Rows: []string{"compressed_tensors_mxfp8(cpu, no zero point)"}, ends: topLost, system: scaleInf,
	}},
}

var compressedTensorsGPU = &Scheme{
	Name: "compressed-tensors-gpu", System: "compressed-tensors, its Triton kernel", Release: "0.20.1, since 0.19.0",
	Doc: "differs from the CPU for NaN and infinity only",
	Recipes: []Recipe{{
		Format: MXFP4, Rule: Even, Signs: SignsTiny, Clamp: clampLost, Input: inputLost, Layout: LayoutCompressedTensors,
		Rows: []string{"compressed_tensors_triton(0.20.1)"}, ends: topLost, system: scaleInfDropped,
	}},
}

var quark = &Scheme{
	Name: "quark", System: "AMD Quark", Release: "0.13, scale_calculation_mode even, its default",
	Doc: "maxima below 1.75 * 2^-125 are stored one step high and decode doubled. Quark packs no MXFP8: its bytes are those of its fake quantization. " +
		"Its floor and ceil take a logarithm in the tensor's type: quark-floor, quark-ceil",
	Recipes: []Recipe{
		{
			Format: MXFP4, Rule: Even, Signs: SignsDropped, Zero: 1, Clamp: clampQuark, Input: inputQuark, Layout: LayoutQuark,
			Rows: []string{"quark_even"}, ends: quark1, system: quarkInput,
		},
		{
			Format: MXFP8E4M3, Rule: Even, Signs: SignsKept, Zero: 1, Clamp: clampQuark, Input: inputQuark,
			Rows: []string{"quark_even"}, ends: quark1, system: quarkInput,
		},
		{
			Format: MXFP6E2M3, Rule: Even, Signs: SignsKept, Zero: 1, Clamp: clampQuark, Input: "undefined", Layout: LayoutQuark,
			Rows: []string{"quark EVEN"}, ends: quark1,
		},
		{
			Format: MXFP6E3M2, Rule: Even, Signs: SignsKept, Zero: 1, Clamp: clampQuark, Input: "undefined", Layout: LayoutQuark,
			Rows: []string{"quark EVEN"}, ends: quark1,
		},
	},
}

const (
	clampQuark = "byte 1 below, elements divided by 2^-127; a maximum that rounds to 2^128: byte 254"
	inputQuark = "infinity: byte 254; NaN: byte 127, every code the largest"
)

// quarkLog is an option of Quark that is not exact in bf16.
func quarkLog(mode string, rule ScaleRule) *Scheme {
	return &Scheme{
		Name: "quark-" + mode, System: "AMD Quark", Release: "0.13, scale_calculation_mode " + mode,
		Doc: "log2 in the tensor's own type: in bf16 the threshold drifts with the exponent",
		Recipes: []Recipe{{
			Format: MXFP4, Rule: rule, Signs: SignsDropped, Zero: 104, Layout: LayoutQuark,
			Clamp: "byte 1 below, elements divided by the true scale; a scale of 0 becomes 2^-23", Input: "undefined",
			Rows: []string{"quark_" + mode}, reckon: byOwnLog2, ends: quarkOwn, system: quarkOwnInput,
		}},
	}
}

var modelopt = &Scheme{
	Name: "modelopt", System: "NVIDIA ModelOpt", Release: "0.47.0",
	Doc: "MXFP4: ties toward zero, every zero is -0. The scale is ceil(log2) in float32, which misses the step just above 6 * 2^n where |n| is large",
	Recipes: []Recipe{
		{
			Format: MXFP4, Rule: RCeil, Tie: TieZero, Signs: SignsMinus, Clamp: clampAt0, Input: "byte 0 and zeros",
			Rows: []string{"modelopt_mxfp4"}, reckon: byLog2, system: zeroBlock,
		},
		{
			Format: MXFP8E4M3, Rule: RCeil, Signs: SignsKept, Clamp: clampAt0, Input: "infinity: byte 254; NaN: byte 0",
			Rows: []string{"modelopt_mxfp8"}, reckon: byLog2, system: modelopt8Input,
		},
		{
			Format: NVFP4, Rule: Nearest, Signs: SignsTiny, Zero: 0x38, Layout: LayoutModelOptNVFP4,
			Clamp: "a zero block has scale 1; a scale that vanishes becomes 2^-9", Input: "undefined", Rows: []string{"modelopt"},
		},
	},
}

// triton is the quantizer of Triton's kernels.
func triton(name, doc string) *Scheme {
	r := Recipe{
		Rule: RCeil, Signs: SignsKept, Layout: LayoutGPTOSS, Clamp: "byte 1 below, unless the quotient vanishes",
		Input: "infinity: byte 255; NaN: undefined", reckon: byQuotientUp, system: tritonInput,
	}
	r8 := r
	r8.system, r8.Layout = triton8Input, LayoutPlain
	return &Scheme{
		Name: name, System: "Triton kernels", Release: "since 2025-09; derived from the source, not run", Doc: doc,
		Recipes: append(each(r, rows{MXFP4: {"triton_kernels_RTNE(gpt-oss now)"}}), each(r8, rows{MXFP8E4M3: {"triton_kernels_ROUND_UP"}})...),
	}
}

var tritonOld = &Scheme{
	Name: "triton-8109", System: "Triton kernels", Release: "before #8110 (2025-09); derived, not run",
	Doc: "ties away from zero",
	Recipes: []Recipe{{
		Format: MXFP4, Rule: RCeil, Tie: TieAway, Signs: SignsKept, Clamp: "byte 1 below, unless the quotient vanishes",
		Input: "infinity: byte 255; NaN: undefined", Layout: LayoutGPTOSS,
		Rows: []string{"triton_kernels_old(before #8110)"}, reckon: byQuotientUp, system: tritonInput,
	}},
}

const (
	clampWrap = "below 2^-127 the byte wraps (x86-64), the codes are those of the true scale"
	inputMLX  = "byte 0, MXFP4 zeros, MXFP8 the largest code"
)

var mlx = &Scheme{
	Name: "mlx", System: "MLX on CPU", Release: "0.32.2 to 0.32.4",
	Doc: "the quotient is rounded to the tensor's type. Before 0.32.2 the scale was rounded to nearest with a threshold that drifts: mlx-0.32.1; on CUDA: mlx-cuda",
	Recipes: []Recipe{
		{
			Format: MXFP4, Rule: RCeil, Tie: TieZero, Signs: SignsDropped, Zero: 127, Clamp: clampWrap, Input: inputMLX, Layout: LayoutMLX,
			Rows: []string{"mlx_cpu(0.32.2-0.32.4)"}, reckon: byOwnQuotient, ends: wrapOwn, system: zeroBlock,
		},
		{
			Format: MXFP8E4M3, Rule: RCeil, Signs: SignsKept, Zero: 127, Clamp: clampWrap, Input: inputMLX, Layout: LayoutMLX,
			Rows: []string{"mlx_cpu(0.32.2-0.32.4)"}, reckon: byOwnQuotient, ends: wrapOwn, system: mlx8Input,
		},
	},
}

var mlxOld = &Scheme{
	Name: "mlx-0.32.1", System: "MLX on CPU", Release: "0.31.2 to 0.32.1, before #4353",
	Doc: "rounds log2 to nearest, in the tensor's type",
	Recipes: []Recipe{
		{
			Format: MXFP4, Rule: Nearest, Tie: TieZero, Signs: SignsDropped, Zero: 127, Clamp: clampWrap, Input: inputMLX, Layout: LayoutMLX,
			Rows: []string{"mlx_cpu(0.31.2-0.32.1, before #4353)"}, reckon: byOwnLog2, ends: wrapOwn, system: zeroBlock,
		},
		{
			Format: MXFP8E4M3, Rule: Nearest, Signs: SignsKept, Zero: 127, Clamp: clampWrap, Input: inputMLX, Layout: LayoutMLX,
			Rows: []string{"mlx_cpu(0.31.2-0.32.1, before #4353)"}, reckon: byOwnLog2, ends: wrapOwn, system: mlx8Input,
		},
	},
}

var mlxCUDA = &Scheme{
	Name: "mlx-cuda", System: "MLX on CUDA", Release: "846d176; derived from the source, not run",
	Doc: "the scale rule of every MLX back end from 0.32.2 on, without the CPU's habits",
	Recipes: []Recipe{{
		Format: MXFP4, Rule: RCeil, Signs: SignsKept, Clamp: clampAt0, Input: "infinity: byte 254; NaN: undefined", Layout: LayoutMLX,
		Rows: []string{"mlx_cuda"}, reckon: byQuotient, system: infTop,
	}},
}

var mlxMetal = &Scheme{
	Name: "mlx-metal-0.32.1", System: "MLX on Metal", Release: "before #4353; derived from the source, not run",
	Doc: "rounds log2 to nearest",
	Recipes: []Recipe{
		{
			Format: MXFP4, Rule: Nearest, Signs: SignsKept, Clamp: clampAt0, Input: "infinity: byte 255; NaN: undefined", Layout: LayoutMLX,
			Rows: []string{"mlx_metal(before #4353)"}, reckon: byLog2, system: tritonInput,
		},
		{
			Format: MXFP8E4M3, Rule: Nearest, Signs: SignsKept, Clamp: clampAt0, Input: "infinity: byte 255; NaN: undefined", Layout: LayoutMLX,
			Rows: []string{"mlx_metal(before #4353)"}, reckon: byLog2, system: tritonInput,
		},
	},
}

var ggml = &Scheme{
	Name: "ggml", System: "ggml", Release: "0.25.3, the C reference quantizer",
	Doc: "ties toward zero. Maxima below 2^-125 wrap the byte to 248…255 (x86-64) and every code is 0; GGUF's validator refuses 255",
	Recipes: []Recipe{{
		Format: MXFP4, Rule: Floor, Tie: TieZero, Signs: SignsDropped, Clamp: "below 2^-125 the byte wraps (x86-64), the codes are 0",
		Input: "infinity: byte 0, zeros but for the smallest numbers; NaN is not seen by the maximum, its code is 0", Layout: LayoutGGML,
		Rows: []string{"ggml_mxfp4"}, reckon: byLog2, ends: wrapByte, system: ggmlInput,
	}},
}

var gguf = &Scheme{
	Name: "gguf", System: "gguf, the Python package", Release: "0.19.0",
	Doc: "as ggml, except for NaN",
	Recipes: []Recipe{{
		Format: MXFP4, Rule: Floor, Tie: TieZero, Signs: SignsDropped, Clamp: "below 2^-125 the byte wraps (x86-64), the codes are 0",
		Input: "byte 0, zeros but for the smallest numbers", Layout: LayoutGGML,
		Rows: []string{"gguf_py(0.19.0)"}, reckon: byLog2, ends: wrapByte, system: ggufInput,
	}},
}

var amdKernel = &Scheme{
	Name: "amd-kernel", System: "the AMD training kernel of tinygrad", Release: "derived from the source, not run",
	Doc: "without the Hadamard rotation of sixteen that the kernel applies first: a checkpoint made so cannot be told from its bytes",
	Recipes: []Recipe{{
		Format: MXFP4, Rule: Even, Signs: SignsKept, Zero: 127, Clamp: clampAt0, Input: "infinity: an ordinary largest value; NaN: not handled",
		Rows: []string{"tinygrad_amd_kernel"}, system: infLargest,
	}},
}
