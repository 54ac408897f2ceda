package quant

import "math"

// ggmlHalfE8M0 is 2^(b-128): half of what E8M0 means, because the table of E2M1
// is doubled. 255 is 2^127.
func ggmlHalfE8M0(b byte) float32 {
	if b < 2 {
		return math.Float32frombits(0x200000 << b)
	}
	return math.Float32frombits(uint32(b-1) << 23)
}

// ggmlHalfE4M3 is half the value of an unsigned E4M3. Bit 7 is ignored, but the
// NaN that decodes as zero is 0x7F alone.
func ggmlHalfE4M3(b byte) float32 {
	if b == 0x7F {
		return 0
	}
	exp, m := int(b>>3&15), float32(b&7)
	if exp == 0 {
		return m / 1024
	}
	return math.Float32frombits(uint32(exp-8+127)<<23) * (1 + m/8)
}

// ggmlE4M3 is the unsigned E4M3 of x as ggml rounds: to nearest, half up. What is
// not above zero gives 0; what rounds to 256 or more gives 448, the codes of 256
// to 416 are not used.
func ggmlE4M3(x float32) byte {
	if !(x > 0) {
		return 0
	}
	bits := math.Float32bits(min(x, 448))
	exp := int(bits>>23) - 127 + 7
	if exp <= 0 {
		return min(byte(int(x*512+0.5)), 7) // x < 2^-6
	}
	// the carry of the rounded mantissa into the exponent is the sum's
	if b := exp<<3 + int(bits>>20&7+bits>>19&1); b < 15<<3 {
		return byte(b)
	}
	return 0x7E
}
