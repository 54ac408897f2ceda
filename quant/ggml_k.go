package quant

// The K types: 256 elements in runs of 16 or 32 that have a scale of a few bits,
// a multiple of the block's d, and sometimes an offset, a multiple of its m.

// decodeQ2_K: a scale byte a run of 16, low nibble × d, high nibble × m. Two bits
// an element; 32 bytes hold 128 elements, the lowest codes of all bytes first.
func decodeQ2_K(dst []float32, src []byte) {
	scales, codes, d, m := src[:16], src[16:80], half(src, 80), half(src, 82)
	for run, s := range scales {
		scale, offset := d*float32(s&15), m*float32(s>>4)
		at, shift := codes[run/8*32+run%2*16:][:16], run%8/2*2
		for j, b := range at {
			dst[16*run+j] = float32(scale*float32(b>>shift&3)) - offset
		}
	}
}

// decodeQ3_K: as Q2_K without offsets; the scale is six bits less 32, the code
// three bits less 4. Its third bit is bit i of byte j for element 32i + j.
func decodeQ3_K(dst []float32, src []byte) {
	high, codes, scales, d := src[:32], src[32:96], src[96:108], half(src, 108)
	for run := range 16 {
		low := scales[run%8] >> (run / 8 * 4) & 15
		up := scales[8+run%4] >> (run / 4 * 2) & 3
		scale := d * float32(int(low|up<<4)-32)
		at, shift := codes[run/8*32+run%2*16:][:16], run%8/2*2
		for j, b := range at {
			code := int(b>>shift&3) | int(high[run%2*16+j]>>(run/2)&1)<<2
			dst[16*run+j] = scale * float32(code-4)
		}
	}
}

// ggmlScaleMin gives scale and offset of run i of 32, six bits each, from twelve
// bytes: those of the first four runs are bytes 0…3 and 4…7; those of the others
// have their low bits in the nibbles of bytes 8…11 and the upper two on top of
// the first eight.
func ggmlScaleMin(b []byte, i int) (scale, offset byte) {
	if i < 4 {
		return b[i] & 63, b[i+4] & 63
	}
	return b[i+4]&15 | b[i-4]>>6<<4, b[i+4]>>4 | b[i]>>6<<4
}

// decodeQ4_K: code × scale × d - offset × m. 32 bytes hold two runs, the first in
// the low nibbles.
func decodeQ4_K(dst []float32, src []byte) {
	d, m, scales, codes := half(src, 0), half(src, 2), src[4:16], src[16:144]
	for run := range 8 {
		s, o := ggmlScaleMin(scales, run)
		scale, offset := d*float32(s), m*float32(o)
		at, shift := codes[run/2*32:][:32], run%2*4
		for j, b := range at {
			dst[32*run+j] = float32(scale*float32(b>>shift&15)) - offset
		}
	}
}

// decodeQ5_K: as Q4_K; the fifth bit is bit i of byte j for element 32i + j.
func decodeQ5_K(dst []float32, src []byte) {
	d, m, scales, high, codes := half(src, 0), half(src, 2), src[4:16], src[16:48], src[48:176]
	for run := range 8 {
		s, o := ggmlScaleMin(scales, run)
		scale, offset := d*float32(s), m*float32(o)
		at, shift := codes[run/2*32:][:32], run%2*4
		for j, b := range at {
			code := b>>shift&15 | high[j]>>run&1<<4
			dst[32*run+j] = float32(scale*float32(code)) - offset
		}
	}
}

// decodeQ6_K: (code - 32) × scale × d, a signed scale a run of 16. 64 bytes hold
// the lower four bits of 128 elements, 32 bytes the upper two of the same.
func decodeQ6_K(dst []float32, src []byte) {
	low, high, scales, d := src[:128], src[128:192], src[192:208], half(src, 208)
	for i := range dst {
		part, row, j := i/128, i%128/32, i%32
		code := low[part*64+row%2*32+j]>>(row/2*4)&15 | high[part*32+j]>>(row*2)&3<<4
		scale := d * float32(int8(scales[i/16]))
		dst[i] = scale * float32(int(code)-32)
	}
}

// decodeQ8_K: d × code. The sums are there for dot products.
func decodeQ8_K(dst []float32, src []byte) {
	var d [1]float32
	decodeF32(d[:], src)
	for j, b := range src[4:260] {
		dst[j] = d[0] * float32(int8(b))
	}
}
