package quant

import "ckpt/dtype"

var layouts = [...]LayoutInfo{
	LayoutPlain: {"plain", "*", "*_scale", dtype.U8, dtype.F8_E8M0, "[out, in/2], [out, in/32]", consecutive},
	LayoutCompressedTensors: {
		"compressed-tensors mxfp4-pack-quantized", "*.weight_packed", "*.weight_scale", dtype.U8, dtype.U8,
		"[out, in/2], [out, in/32]", consecutive,
	},
	LayoutCompressedTensors8: {
		"compressed-tensors mxfp8-quantized", "*.weight", "*.weight_scale", dtype.F8_E4M3, dtype.U8,
		"[out, in], [out, in/32]", "",
	},
	LayoutQuark: {"quark", "*.weight", "*.weight_scale", dtype.U8, dtype.U8, "[out, in/2], [out, in/32]", consecutive},
	LayoutGPTOSS: {
		"gpt-oss", "*_blocks", "*_scales", dtype.U8, dtype.U8,
		"[experts, out, in/32, 16], [experts, out, in/32], gate and up rows interleaved, gate first", consecutive,
	},
	LayoutDeepSeek: {"deepseek-v4", "*.weight", "*.scale", dtype.I8, dtype.F8_E8M0, "[out, in/2], [out, in/32]", consecutive},
	LayoutMLX: {
		"mlx", "*.weight", "*.scales", dtype.U32, dtype.U8,
		"[out, in*bits/32] little-endian words, [out, in/32]", consecutive,
	},
	LayoutKimiLinear: {
		"kimi-linear-v2", "*.weight", "*.weight_scale", dtype.U8, dtype.U8,
		"[experts, out, in/2], [experts, out, in/32]", consecutive,
	},
	LayoutGGML: {
		"ggml", "*", "", dtype.MXFP4, dtype.Invalid,
		"blocks of 17 bytes: the scale, then 16 bytes of codes", "byte j of a block: element j low, element j+16 high",
	},
	LayoutModelOptNVFP4: {
		"modelopt nvfp4", "*.weight", "*.weight_scale", dtype.U8, dtype.F8_E4M3,
		"[out, in/2], [out, in/16], *.weight_scale_2 F32, a multiplier", consecutive,
	},
	LayoutCompressedTensorsNVFP4: {
		"compressed-tensors nvfp4-pack-quantized", "*.weight_packed", "*.weight_scale", dtype.U8, dtype.F8_E4M3,
		"[out, in/2], [out, in/16], *.weight_global_scale F32, a divisor", consecutive,
	},
	LayoutGGMLNVFP4: {
		"ggml nvfp4", "*", "", dtype.NVFP4, dtype.Invalid,
		"blocks of 36 bytes: four scales, then four times 8 bytes of codes", "byte j of 8: element j low, element j+8 high",
	},
}

const consecutive = "low nibble = even element"
