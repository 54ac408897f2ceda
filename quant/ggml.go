package quant

import (
	"fmt"
	"math"

	"ckpt/dtype"
)

// A ggmlType is how the blocks of one GGML type are read and written. dst and
// src hold one block each.
type ggmlType struct {
	decode func(dst []float32, src []byte)
	encode func(dst []byte, src []float32) // nil: decoded only
	// run decodes any number of blocks with the result of decode, faster.
	run func(dst []float32, src []byte)
}

// ggmlTypes says what is done with each type. The comments give the number of
// elements and the bytes of a block, and its fields in order; d and m are F16.
var ggmlTypes = [dtype.Count + 1]ggmlType{
	dtype.F32:  {decode: decodeF32, encode: encodeF32, run: loads(dtype.F32)},
	dtype.F16:  {decode: decodeF16, encode: encodeF16, run: loads(dtype.F16)},
	dtype.BF16: {decode: decodeBF16, encode: encodeBF16, run: loads(dtype.BF16)},
	dtype.F64:  {decode: decodeF64},
	dtype.I8:   {decode: decodeI8},
	dtype.I16:  {decode: decodeI16},
	dtype.I32:  {decode: decodeI32},
	dtype.I64:  {decode: decodeI64},

	dtype.Q1_0: {decode: decodeQ1_0, encode: encodeQ1_0},                   // 128, 18: d, 16 bytes of signs
	dtype.Q2_0: {decode: decodeQ2_0, encode: encodeQ2_0},                   // 64, 18: d, 16 bytes
	dtype.Q4_0: {decode: decodeQ4_0, encode: encodeQ4_0},                   // 32, 18: d, 16 bytes
	dtype.Q4_1: {decode: decodeQ4_1, encode: encodeQ4_1},                   // 32, 20: d, m, 16 bytes
	dtype.Q5_0: {decode: decodeQ5_0, encode: encodeQ5_0},                   // 32, 22: d, 4 bytes of fifth bits, 16 bytes
	dtype.Q5_1: {decode: decodeQ5_1, encode: encodeQ5_1},                   // 32, 24: d, m, 4 bytes of fifth bits, 16 bytes
	dtype.Q8_0: {decode: decodeQ8_0, encode: encodeQ8_0, run: decodesQ8_0}, // 32, 34: d, 32 bytes
	dtype.Q8_1: {decode: decodeQ8_1, encode: encodeQ8_1},                   // 32, 36: d, d × sum as F16, 32 bytes

	dtype.Q2_K: {decode: decodeQ2_K},                     // 256, 84: 16 scales, 64 bytes, d, m
	dtype.Q3_K: {decode: decodeQ3_K},                     // 256, 110: 32 bytes of third bits, 64 bytes, 12 of scales, d
	dtype.Q4_K: {decode: decodeQ4_K, run: decodesQ4_K},   // 256, 144: d, m, 12 bytes of scales, 128 bytes
	dtype.Q5_K: {decode: decodeQ5_K},                     // 256, 176: d, m, 12 bytes of scales, 32 of fifth bits, 128
	dtype.Q6_K: {decode: decodeQ6_K, run: decodesQ6_K},   // 256, 210: 128 bytes, 64 of upper bits, 16 scales, d
	dtype.Q8_K: {decode: decodeQ8_K, encode: encodeQ8_K}, // 256, 292: d as F32, 256 bytes, 16 sums as int16

	dtype.IQ1_S:   {decode: decodeIQ1_S},   // 256, 50: d, 32 bytes, 8 words
	dtype.IQ1_M:   {decode: decodeIQ1_M},   // 256, 56: 32 bytes, 16 of upper bits, 4 words of scales
	dtype.IQ2_XXS: {decode: decodeIQ2_XXS}, // 256, 66: d, 8 × (4 bytes, signs and scale)
	dtype.IQ2_XS:  {decode: decodeIQ2_XS},  // 256, 74: d, 32 words, 8 scales
	dtype.IQ2_S:   {decode: decodeIQ2_S},   // 256, 82: d, 32 bytes, 32 of signs, 8 of upper bits, 8 scales
	dtype.IQ3_XXS: {decode: decodeIQ3_XXS}, // 256, 98: d, 64 bytes, 8 × signs and scale
	dtype.IQ3_S:   {decode: decodeIQ3_S},   // 256, 110: d, 64 bytes, 8 of upper bits, 32 of signs, 4 of scales
	dtype.IQ4_NL:  {decode: decodeIQ4_NL},  // 32, 18: d, 16 bytes
	dtype.IQ4_XS:  {decode: decodeIQ4_XS},  // 256, 136: d, upper bits of scales, 4 bytes of lower ones, 128 bytes

	dtype.TQ1_0: {decode: decodeTQ1_0, encode: encodeTQ1_0}, // 256, 54: 48 bytes of five trits, 4 of four, d
	dtype.TQ2_0: {decode: decodeTQ2_0, encode: encodeTQ2_0}, // 256, 66: 64 bytes, d

	dtype.MXFP4: {decode: decodeGGMLMXFP4, encode: encodeGGMLMXFP4}, // 32, 17: E8M0, 16 bytes
	dtype.NVFP4: {decode: decodeGGMLNVFP4, encode: encodeGGMLNVFP4}, // 64, 36: 4 scales, 32 bytes
}

// GGMLDecodes says whether DecodeGGML reads blocks of t.
func GGMLDecodes(t dtype.Type) bool { return int(t) < len(ggmlTypes) && ggmlTypes[t].decode != nil }

// GGMLEncodes says whether EncodeGGML writes blocks of t.
func GGMLEncodes(t dtype.Type) bool { return int(t) < len(ggmlTypes) && ggmlTypes[t].encode != nil }

// DecodeGGML decodes len(dst) elements from whole blocks of t, little-endian.
// The values are ggml's, bit for bit; NaN is some NaN. Any bytes are legal: a
// scale byte of 255 in MXFP4 is 2^128, as ggml has it.
func DecodeGGML(t dtype.Type, dst []float32, src []byte) error {
	if !GGMLDecodes(t) {
		return fmt.Errorf("decoding GGML blocks of type %s: %w", t, ErrUnsupported)
	}
	if err := ggmlShape(t, len(dst), len(src)); err != nil {
		return err
	}
	if run := ggmlTypes[t].run; run != nil {
		run(dst, src)
		return nil
	}
	decode, n, size := ggmlTypes[t].decode, t.Block(), t.BlockBytes()
	for len(dst) > 0 {
		decode(dst[:n:n], src[:size:size])
		dst, src = dst[n:], src[size:]
	}
	return nil
}

// EncodeGGML encodes src as blocks of t with the bytes of ggml's reference
// quantizer. NaN and infinity are refused in block types and kept in F32, F16
// and BF16. The report counts blocks whose scale overflows F16 as NaNBlocks:
// no number can be read from them.
func EncodeGGML(t dtype.Type, dst []byte, src []float32) (Report, error) {
	return EncodeGGMLAs(t, dst, src, Refuse)
}

// EncodeGGMLAs is EncodeGGML with a policy for NaN and infinity: Refuse, or
// AsSystem for what ggml gives on x86-64.
func EncodeGGMLAs(t dtype.Type, dst []byte, src []float32, policy NonFinite) (Report, error) {
	var rep Report
	if !GGMLEncodes(t) || policy != Refuse && policy != AsSystem {
		return rep, fmt.Errorf("encoding GGML blocks of type %s, NaN and infinity: %s: %w", t, policy, ErrUnsupported)
	}
	if err := ggmlShape(t, len(src), len(dst)); err != nil {
		return rep, err
	}
	encode, n, size := ggmlTypes[t].encode, t.Block(), t.BlockBytes()
	for at := 0; at < len(src); at += n {
		block, out := src[at:at+n:at+n], dst[:size:size]
		zero, bad, first := survey(block)
		if bad > 0 && policy == Refuse && n > 1 {
			return rep, &NonFiniteError{Index: int64(at + first), Bits: math.Float32bits(block[first])}
		}
		encode(out, block)
		rep.NonFinite += int64(bad)
		switch {
		case zero:
			rep.ZeroBlocks++
		case bad == 0 && n > 1 && ggmlLost(t, out):
			if rep.NaNBlocks == 0 {
				rep.FirstNaN = rep.Blocks
			}
			rep.NaNBlocks++
		}
		if t == dtype.MXFP4 && bad == 0 && !zero && ggmlWrapped(block, out[0]) {
			if rep.LostBlocks == 0 {
				rep.FirstLost = rep.Blocks
			}
			rep.LostBlocks++
		}
		rep.Blocks++
		dst = dst[size:]
	}
	return rep, nil
}

// ggmlShape checks that the elements are whole blocks that take the bytes.
func ggmlShape(t dtype.Type, elements, size int) error {
	if elements%t.Block() != 0 || elements/t.Block()*t.BlockBytes() != size {
		return fmt.Errorf("%w: %d elements of %s in %d bytes, blocks of %d in %d",
			ErrShape, elements, t, size, t.Block(), t.BlockBytes())
	}
	return nil
}

// survey says whether every element is zero, how many are NaN or infinite, and
// where the first of these is.
func survey(x []float32) (zero bool, bad, first int) {
	var bits uint32
	for i, v := range x {
		b := math.Float32bits(v) << 1
		bits |= b
		if b >= 0xFF<<24 {
			if bad == 0 {
				first = i
			}
			bad++
		}
	}
	return bits == 0, bad, first
}

// ggmlWrapped says whether the scale byte of MXFP4 was below 0.
func ggmlWrapped(x []float32, scale byte) bool { return scale > 200 && maximum(x) < 1 }

// ggmlLost says whether a scale in the block is NaN or infinite.
func ggmlLost(t dtype.Type, block []byte) bool {
	inf16 := func(at int) bool { return word(block, at)&0x7C00 == 0x7C00 }
	switch t {
	case dtype.MXFP4:
		return block[0] == 255
	case dtype.NVFP4:
		return false // saturates
	case dtype.Q8_K:
		return dword(block, 0)&0x7F800000 == 0x7F800000
	case dtype.TQ1_0, dtype.TQ2_0:
		return inf16(len(block) - 2)
	case dtype.Q4_1, dtype.Q5_1, dtype.Q8_1:
		return inf16(0) || inf16(2)
	default:
		return inf16(0)
	}
}
