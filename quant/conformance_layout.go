package quant

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
)

// checkLayouts compares what is no scheme: casts to E8M0, swizzles, transcodes.
func (v conformer) checkLayouts() ([]Conformance, error) {
	casts, err := v.checkCasts()
	if err != nil {
		return nil, err
	}
	swizzles, err := v.checkSwizzles()
	if err != nil {
		return nil, err
	}
	transcodes, err := v.checkTranscodes()
	return append(append(casts, swizzles...), transcodes), err
}

func (v conformer) checkCasts() (out []Conformance, err error) {
	for _, one := range []struct {
		column string
		cast   E8M0Cast
	}{
		{"floor (exponent field)", CastFloor}, {"cvt.rp(torchao RCEIL)", CastUp},
		{"cvt.rp.satfinite(TE)", CastUpSaturate}, {"torch float8_e8m0fnu cast", CastNearest},
	} {
		c := Conformance{Scheme: "cast", Row: one.column, Confirmed: one.cast == CastNearest}
		for _, row := range v.E8M0 {
			text, _ := row["f32"].(string)
			bits, err := strconv.ParseUint(text, 16, 32)
			if err != nil {
				return nil, fmt.Errorf("vectors: cast: %w", err)
			}
			c.compare(text, fmt.Sprint(one.cast.Cast(math.Float32frombits(uint32(bits)))), fmt.Sprint(row[one.column]))
		}
		out = append(out, c)
	}
	return out, nil
}

func (v conformer) checkSwizzles() (out []Conformance, err error) {
	for _, one := range []struct {
		name    string
		swizzle Swizzle
	}{
		{"cublas_128x4", CuBLASScales}, {"aiter_e8m0_shuffle", AMDScales}, {"tinygrad_store_scale", AMDScales},
		{"aiter_shuffle_weight_16x16_bytes", AMDWeights}, {"tinygrad_store_fp4", AMDWeights},
	} {
		want := v.Layouts[one.name]
		c := Conformance{Scheme: "swizzle", Row: one.name, Confirmed: one.swizzle == CuBLASScales}
		src := make([]byte, want.Rows*want.Cols)
		for i := range src {
			src[i] = byte(i*167 + i>>8)
		}
		dst := make([]byte, len(src))
		if err := one.swizzle.Apply(dst, src, want.Rows, want.Cols); err != nil {
			return nil, fmt.Errorf("vectors: %s: %w", one.name, err)
		}
		c.compare("bytes", fmt.Sprintf("%x", sha256.Sum256(dst)), want.SHA256)
		for i, at := range want.First {
			c.compare(fmt.Sprintf("byte %d", i), fmt.Sprint(one.swizzle.offset(i/want.Cols, i%want.Cols, want.Cols)), fmt.Sprint(at))
		}
		out = append(out, c)
	}
	return out, nil
}

func (v conformer) checkTranscodes() (Conformance, error) {
	c := Conformance{Scheme: "transcode", Format: MXFP4, Row: "one block in four layouts", Confirmed: true}
	list, _ := v.Transcode["codes"].([]any)
	words, _ := v.Transcode["mlx_uint32_words"].([]any)
	if len(list) != 32 || len(words) != 4 {
		return c, fmt.Errorf("vectors: %d codes and %d words to transcode", len(list), len(words))
	}
	var codes [32]uint8
	for i, x := range list {
		n, _ := x.(float64)
		codes[i] = uint8(n)
	}
	plain := Packed{make([]byte, 16), []byte{99}}
	MXFP4.pack(plain.Codes, codes[:])
	block, mlx, halves := Packed{Codes: make([]byte, 17)}, Packed{make([]byte, 16), make([]byte, 1)}, make([]byte, 16)
	if err := Transcode(MXFP4, LayoutGGML, block, LayoutPlain, plain, 1, 32); err != nil {
		return c, err
	}
	if err := Transcode(MXFP4, LayoutMLX, mlx, LayoutGGML, block, 1, 32); err != nil {
		return c, err
	}
	splitHalves(halves[:8], plain.Codes[:8])
	splitHalves(halves[8:], plain.Codes[8:])
	c.compare("consecutive", hex.EncodeToString(plain.Codes), fmt.Sprint(v.Transcode["adjacent(HF,CT,Quark,torchao,gpt-oss)"]))
	c.compare("GGML MXFP4", hex.EncodeToString(block.Codes), "63"+fmt.Sprint(v.Transcode["ggml_mxfp4_split"]))
	c.compare("GGML NVFP4", hex.EncodeToString(halves), fmt.Sprint(v.Transcode["ggml_nvfp4_two_subblocks"]))
	for i, want := range words {
		w := mlx.Codes[4*i : 4*i+4]
		c.compare(fmt.Sprintf("MLX word %d", i), fmt.Sprintf("%02x%02x%02x%02x", w[3], w[2], w[1], w[0]), fmt.Sprint(want))
	}
	return c, nil
}
