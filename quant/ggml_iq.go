package quant

import "math"

// The IQ types: 256 elements in runs of 32. Groups of four or eight magnitudes
// are entries of a codebook (see ggml_grid.go), their signs are bits.

// ggmlSigns is the signs of eight elements from seven: the last makes their
// number even.
func ggmlSigns(seven uint32) byte {
	b := byte(seven & 127)
	p := b ^ b>>4
	p ^= p >> 2
	p ^= p >> 1
	return b | p<<7
}

// put writes scale × magnitude, negative where the sign bit is set.
func put(dst []float32, scale float32, grid []int8, signs byte) {
	for j, g := range grid {
		v := math.Float32bits(scale * float32(g))
		dst[j] = math.Float32frombits(v ^ uint32(signs>>j)<<31)
	}
}

// decodeIQ2_XXS: a run is four indices of a byte and a word with four times
// seven signs and four bits of scale.
func decodeIQ2_XXS(dst []float32, src []byte) {
	grid, d := gridIQ2XXS(), half(src, 0)
	for run := range 8 {
		at := src[2+8*run:][:8]
		signs := dword(at, 4)
		scale := d * (0.5 + float32(signs>>28)) * 0.25
		for g, index := range at[:4] {
			put(dst[32*run+8*g:][:8], scale, grid.entry(int(index)), ggmlSigns(signs>>(7*g)))
		}
	}
}

// decodeIQ2_XS: a group of eight is a word of nine bits of index and seven signs;
// a run has a byte of two scales, of sixteen elements each.
func decodeIQ2_XS(dst []float32, src []byte) {
	grid, d, scales := gridIQ2XS(), half(src, 0), src[66:74]
	for i := range 32 {
		w := word(src, 2+2*i)
		scale := d * (0.5 + float32(scales[i/4]>>(i%4/2*4)&15)) * 0.25
		put(dst[8*i:][:8], scale, grid.entry(int(w&511)), ggmlSigns(uint32(w>>9)))
	}
}

// decodeIQ2_S: an index of ten bits, eight signs, scales as IQ2_XS.
func decodeIQ2_S(dst []float32, src []byte) {
	grid, d := gridIQ2S(), half(src, 0)
	low, signs, high, scales := src[2:34], src[34:66], src[66:74], src[74:82]
	for i := range 32 {
		index := int(low[i]) | int(high[i/4]>>(i%4*2)&3)<<8
		scale := d * (0.5 + float32(scales[i/4]>>(i%4/2*4)&15)) * 0.25
		put(dst[8*i:][:8], scale, grid.entry(index), signs[i])
	}
}

// decodeIQ3_XXS: a byte of index for four elements; four times seven signs and
// four bits of scale a run.
func decodeIQ3_XXS(dst []float32, src []byte) {
	grid, d, codes, words := gridIQ3XXS(), half(src, 0), src[2:66], src[66:98]
	for i := range 32 {
		w := dword(words, i/4*4)
		scale := d * (0.5 + float32(w>>28)) * 0.5
		signs := ggmlSigns(w >> (i % 4 * 7))
		put(dst[8*i:][:4], scale, grid.entry(int(codes[2*i])), signs)
		put(dst[8*i+4:][:4], scale, grid.entry(int(codes[2*i+1])), signs>>4)
	}
}

// decodeIQ3_S: nine bits of index for four elements, eight signs for eight, four
// bits of scale a run.
func decodeIQ3_S(dst []float32, src []byte) {
	grid, d := gridIQ3S(), half(src, 0)
	low, high, signs, scales := src[2:66], src[66:74], src[74:106], src[106:110]
	for i := range 64 {
		index := int(low[i]) | int(high[i/8]>>(i%8)&1)<<8
		scale := d * float32(1+2*(scales[i/16]>>(i%16/8*4)&15))
		put(dst[4*i:][:4], scale, grid.entry(index), signs[i/2]>>(i%2*4))
	}
}

// iq1Delta is added to the three values -1, 0, 1 of IQ1, or subtracted.
const iq1Delta = 0.125

func putIQ1(dst []float32, scale float32, grid []int8, minus bool) {
	delta := float32(iq1Delta)
	if minus {
		delta = -delta
	}
	for j, g := range grid {
		dst[j] = scale * (float32(g) + delta)
	}
}

// decodeIQ1_S: a run is four bytes of index and a word with three more bits for
// each of them, three bits of scale and the sign of delta.
func decodeIQ1_S(dst []float32, src []byte) {
	grid, d := gridIQ1S(), half(src, 0)
	for i := range 32 {
		w := word(src, 34+i/4*2)
		index := int(src[2+i]) | int(w>>(i%4*3)&7)<<8
		scale := d * float32(2*(w>>12&7)+1)
		putIQ1(dst[8*i:][:8], scale, grid.entry(index), w>>15 == 1)
	}
}

// decodeIQ1_M: a nibble for eight elements has three bits of index and the sign
// of delta, three bits of scale are for sixteen; the four top nibbles of the
// words of scales are d.
func decodeIQ1_M(dst []float32, src []byte) {
	grid, low, high, scales := gridIQ1S(), src[:32], src[32:48], src[48:56]
	var d16 uint16
	for i := range 4 {
		d16 |= word(scales, 2*i) >> 12 << (4 * i)
	}
	d := fromF16(d16)
	for i := range 32 {
		up := high[i/2] >> (i % 2 * 4)
		index := int(low[i]) | int(up&7)<<8
		scale := d * float32(2*(word(scales, i/8*2)>>(i/2%4*3)&7)+1)
		putIQ1(dst[8*i:][:8], scale, grid.entry(index), up>>3&1 == 1)
	}
}

// decodeIQ4_XS: the values of IQ4_NL, a scale of six bits less 32 a run.
func decodeIQ4_XS(dst []float32, src []byte) {
	d, high, low, codes := half(src, 0), word(src, 2), src[4:8], src[8:136]
	for run := range 8 {
		s := low[run/2]>>(run%2*4)&15 | byte(high>>(2*run)&3)<<4
		scale := d * float32(int(s)-32)
		for j, b := range codes[16*run:][:16] {
			dst[32*run+j] = scale * ggmlIQ4[b&15]
			dst[32*run+16+j] = scale * ggmlIQ4[b>>4]
		}
	}
}
