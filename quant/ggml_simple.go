package quant

import "math"

// The types of 32, 64 and 128 elements: a scale, sometimes an offset, and codes.
// Codes of four bits lie in halves: byte j of 16 holds element j in its low
// nibble and element j+16 in its high one.

// decodeQ1_0: bit j of the codes says whether element j is d or -d.
func decodeQ1_0(dst []float32, src []byte) {
	minus, codes := math.Float32bits(-half(src, 0)), src[2:]
	for j := range dst {
		dst[j] = math.Float32frombits(minus ^ uint32(codes[j/8]>>(j%8))<<31)
	}
}

// decodeQ2_0: two bits an element in order, the value d × (code - 1).
func decodeQ2_0(dst []float32, src []byte) {
	d, codes := half(src, 0), src[2:]
	for j := range dst {
		dst[j] = d * float32(int(codes[j/4]>>(j%4*2)&3)-1)
	}
}

// decodeQ4_0: d × (code - 8).
func decodeQ4_0(dst []float32, src []byte) {
	d, codes := half(src, 0), src[2:]
	for j, b := range codes {
		dst[j] = d * float32(int(b&15)-8)
		dst[j+16] = d * float32(int(b>>4)-8)
	}
}

// decodeQ4_1: d × code + m. The product is rounded before the sum.
func decodeQ4_1(dst []float32, src []byte) {
	d, m, codes := half(src, 0), half(src, 2), src[4:]
	for j, b := range codes {
		dst[j] = float32(d*float32(b&15)) + m
		dst[j+16] = float32(d*float32(b>>4)) + m
	}
}

// decodeQ5_0: d × (code - 16); bit j of the fifth bits belongs to element j.
func decodeQ5_0(dst []float32, src []byte) {
	d, high, codes := half(src, 0), dword(src, 2), src[6:]
	for j, b := range codes {
		dst[j] = d * float32(int(b&15|byte(high>>j&1)<<4)-16)
		dst[j+16] = d * float32(int(b>>4|byte(high>>(j+16)&1)<<4)-16)
	}
}

// decodeQ5_1: d × code + m.
func decodeQ5_1(dst []float32, src []byte) {
	d, m, high, codes := half(src, 0), half(src, 2), dword(src, 4), src[8:]
	for j, b := range codes {
		dst[j] = float32(d*float32(b&15|byte(high>>j&1)<<4)) + m
		dst[j+16] = float32(d*float32(b>>4|byte(high>>(j+16)&1)<<4)) + m
	}
}

// decodeQ8_0: d × code.
func decodeQ8_0(dst []float32, src []byte) {
	d := half(src, 0)
	for j, b := range src[2:] {
		dst[j] = d * float32(int8(b))
	}
}

// decodeQ8_1: d × code. The sum is there for dot products.
func decodeQ8_1(dst []float32, src []byte) {
	d := half(src, 0)
	for j, b := range src[4:] {
		dst[j] = d * float32(int8(b))
	}
}

// ggmlIQ4 are the sixteen values of IQ4_NL and IQ4_XS.
var ggmlIQ4 = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// decodeIQ4_NL: d × the value of the code.
func decodeIQ4_NL(dst []float32, src []byte) {
	d, codes := half(src, 0), src[2:]
	for j, b := range codes {
		dst[j] = d * ggmlIQ4[b&15]
		dst[j+16] = d * ggmlIQ4[b>>4]
	}
}

// ggmlE2M1 are the values of E2M1, doubled. Both zeros are +0.
var ggmlE2M1 = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// decodeGGMLMXFP4: the value of the code × 2^(e-127). The byte 255 is a power of
// two like the others.
func decodeGGMLMXFP4(dst []float32, src []byte) {
	d, codes := ggmlHalfE8M0(src[0]), src[1:]
	for j, b := range codes {
		dst[j] = ggmlE2M1[b&15] * d
		dst[j+16] = ggmlE2M1[b>>4] * d
	}
}

// decodeGGMLNVFP4: four groups of sixteen, each in halves with a scale of its own.
func decodeGGMLNVFP4(dst []float32, src []byte) {
	for g := range 4 {
		d, codes := ggmlHalfE4M3(src[g]), src[4+8*g:][:8]
		out := dst[16*g:][:16]
		for j, b := range codes {
			out[j] = ggmlE2M1[b&15] * d
			out[j+8] = ggmlE2M1[b>>4] * d
		}
	}
}

// decodeTQ1_0: five trits a byte. The byte is the fraction of 243 in 256ths,
// rounded up, that the trits are as digits after the point; so a multiplication
// by 3 brings the next one before it. Trits of 32 bytes, of 16 and of 4 (four
// trits each) follow one another, first all first trits, then all second.
func decodeTQ1_0(dst []float32, src []byte) {
	d, codes := half(src, 52), src[:52]
	for _, part := range ggmlTrits {
		at := codes[:part.bytes]
		codes = codes[part.bytes:]
		scale := byte(1)
		for range part.trits {
			for j, b := range at {
				dst[j] = d * float32(int(uint16(b*scale)*3>>8)-1)
			}
			dst, scale = dst[part.bytes:], scale*3
		}
	}
}

// ggmlTrits are the parts of a block of TQ1_0.
var ggmlTrits = [...]struct{ bytes, trits int }{{32, 5}, {16, 5}, {4, 4}}

// decodeTQ2_0: d × (code - 1), two bits an element. A run of 128 elements takes
// 32 bytes: the lowest codes of all bytes first.
func decodeTQ2_0(dst []float32, src []byte) {
	d := half(src, 64)
	for i := range dst {
		dst[i] = d * float32(int(src[i/128*32+i%32]>>(i%128/32*2)&3)-1)
	}
}
