package quant

import (
	"slices"
	"strings"
)

// schemes is the table. The order is that of the list people see: what we do by
// ourselves, then the systems, then older releases of them.
var schemes = []*Scheme{
	plain("floor", Floor), plain("even", Even), plain("rceil", RCeil),
	plain("ceil", Ceil), plain("nearest", Nearest), plain("mse", MSE),

	{
		Name: "ocp", System: "OCP Microscaling Formats", Release: "specification 1.0",
		Doc:     "the exponent of the maximum; the specification leaves the sign of zero and NaN to the implementer, here they are torchao's",
		Recipes: every(Recipe{Rule: Floor, Signs: SignsKept, Clamp: clampAt0, Input: inputNaNBlock, system: nanBlock}, rowFloor4, rowFloor8),
	},
	torchao("floor", Floor, byBits, clamped, rowFloor4, rowFloor8),
	torchao("even", Even, byBits, topNaN, "torchao_EVEN(main 36027d8)", "torchao_EVEN(main 36027d8)"),
	torchao("rceil", RCeil, byQuotient, clamped, "torchao_RCEIL(main 36027d8, NVIDIA rule)", "torchao_RCEIL(main 36027d8)"),
	torchao("ceil", Ceil, byBits, clamped, "torchao_CEIL(main 36027d8)", "torchao_CEIL(main 36027d8)"),
	compressedTensors,
	quark,
	{
		Name: "aiter", System: "AITER", Release: "e404860, RoundUp, its default; derived from the source, not run",
		Doc: "what is below 2^-126 after division by 6 takes byte 1",
		Recipes: []Recipe{{
			Format: MXFP4, Rule: RCeil, Signs: SignsKept, Clamp: "byte 1 below, unless the quotient vanishes", Input: inputNaNBlock,
			Rows: []string{"aiter_RoundUp(default)"}, reckon: byQuotientUp, system: nanBlock,
		}},
	},
	{
		Name: "nvidia", System: "TransformerEngine, cuBLAS", Release: "d0067d0; derived from the source, not run",
		Doc: "the NVIDIA rule: the scale rounded up as cvt.rp.satfinite does it",
		Recipes: each(Recipe{Rule: RCeil, Signs: SignsKept, Clamp: clampAt0, Input: "infinity: 254; NaN is not seen by the maximum", reckon: byQuotient, system: teInput},
			rows{MXFP4: {"torchao_RCEIL(main 36027d8, NVIDIA rule) finite"}, MXFP8E4M3: {"transformer_engine"}, MXFP8E5M2: nil}),
	},
	modelopt,
	triton("triton", "what gpt-oss is quantized with; before #8110 ties went away from zero (triton-8109)"),
	triton("gpt-oss", "as triton; blocks and scales are two tensors, gate and up rows interleaved"),
	mlx,
	ggml,
	{
		Name: "kimi-linear-v2", System: "the early Kimi Linear converter", Release: "tinygrad-kimi-mxfp4-v2; confirmed by running it",
		Doc: "for byte parity only: costs 0.4 dB in MXFP4 and 7 dB in MXFP8, and quantizing its output again changes values",
		Recipes: append(
			each(early(SignsDropped), rows{MXFP4: {"tinygrad_quant_py"}}),
			each(early(SignsTiny), rows{MXFP8E4M3: {"tinygrad_quant_py"}})...),
	},

	{
		Name: "aiter-even", System: "AITER", Release: "e404860, Even, torch reference; derived, not run",
		Doc: "its HIP kernel clamps nothing: the largest bf16 gives byte 253 there",
		Recipes: []Recipe{{
			Format: MXFP4, Rule: Even, Signs: SignsKept, Clamp: clampNaN, Input: inputNaNBlock,
			Rows: []string{"aiter_Even(torch ref)"}, ends: topNaN, system: nanBlock,
		}},
	},
	torchao018("floor", Floor, byBits, bottom126, torchao018Ordinary),
	torchao018("even", Even, byBits, bottom126, torchao018Ordinary),
	torchao018("rceil", RCeil, byLog2, bottom1, torchao018Up),
	torchao018("ceil", Ceil, byBits, bottom126, torchao018Ordinary),
	compressedTensorsGPU, compressedTensorsBare,
	quarkLog("floor", Floor), quarkLog("ceil", Ceil),
	tritonOld, mlxOld, mlxCUDA, mlxMetal, gguf, amdKernel,
}

// The rows of the vectors that two schemes share.
const (
	rowFloor4 = "ocp_floor_rne(torchao main 36027d8 FLOOR)"
	rowFloor8 = rowFloor4
)

// What the ends of the range do.
const (
	clampAt0      = "byte 0 below, elements divided by 2^-127"
	clampNaN      = clampAt0 + "; a maximum that rounds to 2^128: byte 255"
	inputNaNBlock = "byte 255"
)

// rows are the vectors of a recipe by format; a format is written where it has
// an entry.
type rows map[Format][]string

// each gives the recipe for every format of the rows, in the formats' order.
func each(r Recipe, of rows) (out []Recipe) {
	for _, f := range Formats() {
		if names, ok := of[f]; ok {
			r.Format, r.Rows = f, names
			out = append(out, r)
		}
	}
	return out
}

// every gives the recipe for all MX formats.
func every(r Recipe, row4, row8 string) []Recipe {
	of := rows{MXFP4: nil, MXFP8E4M3: nil, MXFP8E5M2: nil, MXFP6E2M3: nil, MXFP6E3M2: nil, MXINT8: nil}
	if row4 != "" {
		of[MXFP4], of[MXFP8E4M3] = []string{row4}, []string{row8}
		if mode := sixBits(row4); mode != "" {
			of[MXFP6E2M3], of[MXFP6E3M2] = []string{mode}, []string{mode}
		}
	}
	return each(r, of)
}

// floats leaves out MXINT8, which torchao does not have.
func floats(r []Recipe) []Recipe {
	return slices.DeleteFunc(r, func(r Recipe) bool { return r.Format == MXINT8 })
}

// sixBits is the row of MXFP6 that goes with one of MXFP4: that section has
// neither ceil nor 0.18.0's rows.
func sixBits(row4 string) string {
	for _, mode := range []string{"FLOOR", "EVEN", "RCEIL"} {
		if strings.Contains(row4, "_"+mode+"(main") || mode == "FLOOR" && row4 == rowFloor4 {
			return "torchao " + mode
		}
	}
	return ""
}

// plain is a rule with our own policies.
func plain(name string, rule ScaleRule) *Scheme {
	return &Scheme{
		Name: name, System: "ckpt", Release: "this",
		Doc:     "the rule by its integer form; ties to even, every zero is +0",
		Recipes: every(Recipe{Rule: rule, Signs: SignsDropped, Clamp: clampAt0, Input: "refused"}, "", ""),
	}
}

func torchao(mode string, rule ScaleRule, by reckoning, ends ends, row4, row8 string) *Scheme {
	clamp := clampAt0
	if ends == topNaN {
		clamp = clampNaN
	}
	return &Scheme{
		Name: "torchao-" + mode, System: "torchao", Release: "main 36027d8 (2026-08-21)",
		Doc:     "0.18.0 differs where the scale byte is 0, for infinity, and in even and rceil: torchao-" + mode + "-0.18",
		Recipes: floats(every(Recipe{Rule: rule, Signs: SignsKept, Clamp: clamp, Input: inputNaNBlock, reckon: by, ends: ends, system: nanBlock}, row4, row8)),
	}
}

func torchao018(mode string, rule ScaleRule, by reckoning, ends ends, input nonFinite) *Scheme {
	clamp := "byte 0 below, elements divided by 2^-126: they decode halved"
	if ends == bottom1 {
		clamp = "byte 0 below, elements divided by 1: all zero"
	}
	row := map[string]string{"floor": "torchao_FLOOR(0.18.0)", "even": "torchao_EVEN(0.18.0)", "rceil": "torchao_RCEIL(0.18.0)", "ceil": "torchao_CEIL(0.18.0)"}[mode]
	return &Scheme{
		Name: "torchao-" + mode + "-0.18", System: "torchao", Release: "0.18.0 (2026-08-03)",
		Doc:     "the last release before main 36027d8",
		Recipes: floats(every(Recipe{Rule: rule, Signs: SignsKept, Clamp: clamp, Input: "NaN: byte 255; infinity: an ordinary largest value", reckon: by, ends: ends, system: input}, row, row)),
	}
}

// early is the recipe of the early converter.
func early(signs Signs) Recipe {
	return Recipe{Rule: Nearest, Signs: signs, Zero: 127, Clamp: clampAt0, Input: "not handled", Layout: LayoutKimiLinear, reckon: byLog2}
}
