package quant

import "math"

// E8M0 is the value of a scale byte: 2^(b-127), from the subnormal 2^-127 at 0
// to 2^127 at 254; 255 is NaN. A scale byte is an exponent, never a number.
func E8M0(b uint8) float32 {
	switch b {
	case 0:
		return math.Float32frombits(1 << 22)
	case 255:
		return float32(math.NaN())
	default:
		return math.Float32frombits(uint32(b) << 23)
	}
}

// E8M0Cast is a way of turning a number into a scale byte. The number is not
// negative; NaN is 255.
type E8M0Cast uint8

// The casts.
const (
	// CastFloor drops the mantissa.
	CastFloor E8M0Cast = iota
	// CastUp rounds up, from half of 2^-126 to 2^-126; beyond 2^127 is 255.
	// It is cvt.rp and torchao's rceil.
	CastUp
	// CastUpSaturate is cvt.rp.satfinite, and TransformerEngine's: 254 at most.
	CastUpSaturate
	// CastNearest rounds to the nearer exponent by the mantissa, half up: the
	// cast of torch.float8_e8m0fnu.
	CastNearest
)

// Cast gives the byte for x.
func (c E8M0Cast) Cast(x float32) uint8 {
	bits := math.Float32bits(x)
	field, m := bits>>23&255, bits&(1<<23-1)
	switch {
	case x != x:
		return 255
	case c == CastFloor:
		return uint8(field)
	case field == 255 && c == CastUpSaturate:
		return 254
	case field == 255:
		return 255
	case field == 0:
		return b2u(m > 1<<22)
	case c == CastNearest:
		return uint8(field) + b2u(m >= 1<<22)
	case c == CastUpSaturate:
		return min(uint8(field)+b2u(m > 0), 254)
	default:
		return uint8(field) + b2u(m > 0)
	}
}

func b2u(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
