package quant

import "math"

// Decoders of many blocks, with the results of those in ggml_simple.go and
// ggml_k.go. What codes of four bits can mean is computed once for each run.

// signed8 are the values of an int8 by its byte.
var signed8 = func() (t [256]float32) {
	for i := range t {
		t[i] = float32(int8(i))
	}
	return t
}()

func decodesQ8_0(dst []float32, src []byte) {
	for len(dst) >= 32 && len(src) >= 34 {
		d := fastHalf(word(src, 0))
		out, codes := (*[32]float32)(dst), (*[32]byte)(src[2:])
		for j := 0; j < 32; j += 4 {
			out[j] = d * signed8[codes[j]]
			out[j+1] = d * signed8[codes[j+1]]
			out[j+2] = d * signed8[codes[j+2]]
			out[j+3] = d * signed8[codes[j+3]]
		}
		dst, src = dst[32:], src[34:]
	}
}

func decodesQ4_K(dst []float32, src []byte) {
	var low, high [16]float32
	for len(dst) >= 256 && len(src) >= 144 {
		d, m, scales := fastHalf(word(src, 0)), fastHalf(word(src, 2)), src[4:16]
		for pair := range 4 {
			s, o := ggmlScaleMin(scales, 2*pair)
			fill4(&low, d*float32(s), m*float32(o))
			s, o = ggmlScaleMin(scales, 2*pair+1)
			fill4(&high, d*float32(s), m*float32(o))
			codes := (*[32]byte)(src[16+32*pair:])
			out := (*[64]float32)(dst[64*pair:])
			for j, b := range codes {
				out[j] = low[b&15]
				out[j+32] = high[b>>4]
			}
		}
		dst, src = dst[256:], src[144:]
	}
}

// fill4 computes code × scale - offset for all sixteen codes.
func fill4(t *[16]float32, scale, offset float32) {
	for i := range t {
		t[i] = float32(scale*float32(i)) - offset
	}
}

func decodesQ6_K(dst []float32, src []byte) {
	for len(dst) >= 256 && len(src) >= 210 {
		d := fastHalf(word(src, 208))
		for part := range 2 {
			low := (*[64]byte)(src[64*part:])
			high := (*[32]byte)(src[128+32*part:])
			scales := (*[8]byte)(src[192+8*part:])
			out := (*[128]float32)(dst[128*part:])
			for half := range 2 {
				s0, s1 := d*signed8[scales[half]], d*signed8[scales[2+half]]
				s2, s3 := d*signed8[scales[4+half]], d*signed8[scales[6+half]]
				for j := 16 * half; j < 16*half+16; j++ {
					a, b, h := low[j&31], low[j&31+32], high[j&31]
					out[j&31] = s0 * six[a&15|h<<4&48]
					out[j&31+32] = s1 * six[b&15|h<<2&48]
					out[j&31+64] = s2 * six[a>>4|h&48]
					out[j&31+96] = s3 * six[b>>4|h>>2&48]
				}
			}
		}
		dst, src = dst[256:], src[210:]
	}
}

// six are the values of a code of six bits, less 32.
var six = func() (t [64]float32) {
	for i := range t {
		t[i] = float32(i - 32)
	}
	return t
}()

// fastHalf is fromF16 without a branch but for the ends of the range.
func fastHalf(b uint16) float32 {
	if e := b >> 10 & 31; e == 0 || e == 31 {
		return fromF16(b)
	}
	return math.Float32frombits(uint32(b>>15)<<31 | (uint32(b&0x7FFF)<<13 + 112<<23))
}
