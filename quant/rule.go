package quant

import "fmt"

// ScaleRule says which power of two the largest magnitude of a block gives. As
// exponent field e and mantissa m (a fraction of 1) of float32 the scale byte
// is
//
//	max(0, e - k + (m >= T ? 1 : 0))
//
// with k and T by element type, see Threshold.
type ScaleRule uint8

// The scale rules.
const (
	// Floor: the exponent of the maximum.
	Floor ScaleRule = iota + 1
	// Even: the maximum is first rounded to the mantissa of the element.
	Even
	// EvenFP4: the maximum is first rounded to one bit of mantissa, whatever
	// the element.
	EvenFP4
	// RCeil: the smallest scale that leaves the maximum within the range.
	RCeil
	// Ceil: the exponent of the maximum, one more unless it is a power of two.
	Ceil
	// Nearest: log2 of maximum / largest value, rounded half to even.
	Nearest
	// MSE: of Floor's scale and the one above it that with the smaller squared
	// error, Floor's if they are equal. For floating-point elements no other
	// scale is better; for INT8, whose grid is uniform, a smaller one can be.
	MSE
)

// String is the name of r.
func (r ScaleRule) String() string {
	return named8("ScaleRule", uint8(r), "", "floor", "even", "even (FP4)", "rceil", "ceil", "nearest", "mse")
}

// never is above every mantissa.
const never = 1 << 23

// Threshold gives the integer form of r for e: byte = max(0, field - k + up),
// where up is 1 from the mantissa t (23 bits) on. MSE has none of its own: its
// candidates are Floor's byte and the next.
func (r ScaleRule) Threshold(e Element) (k int, t uint32) {
	s := e.spec()
	top := uint32(s.top) & (1<<s.mant - 1) << (23 - s.mant) // mantissa of the largest value
	switch r {
	case Even:
		return s.emax, 1<<23 - 1<<(22-s.mant)
	case EvenFP4:
		return s.emax, 3 << 21
	case RCeil:
		return s.emax, top + 1
	case Ceil:
		return s.emax, 1
	case Nearest:
		return s.emax + 1, nearest[e]
	default:
		return s.emax, never
	}
}

// nearest is the first mantissa whose logarithm rounds up: that of the largest
// value times the square root of 2, the next float32.
var nearest = [...]uint32{E2M1: 0x07C3B7, E4M3: 0x1E6455, E5M2: 0x1E6455, E2M3: 0x29B4A5, E3M2: 0x1E6455, INT8: 0x339AEA}

// named8 is the name of a value of a type, or the value where it has none.
func named8(of string, value uint8, names ...string) string {
	if int(value) >= len(names) || names[value] == "" {
		return fmt.Sprintf("%s(%d)", of, value)
	}
	return names[value]
}

// Signs is what becomes of the sign of an element whose code is zero.
type Signs uint8

// The policies of minus zero.
const (
	// SignsDropped: every zero is +0.
	SignsDropped Signs = iota
	// SignsKept: -0 and negative numbers that round to zero become -0.
	SignsKept
	// SignsTiny: -0 becomes +0, a negative number that rounds to zero -0.
	SignsTiny
	// SignsMinus: zero of either sign becomes -0, a number that rounds to zero
	// keeps its sign.
	SignsMinus
)

// String says what s does.
func (s Signs) String() string {
	return named8("Signs", uint8(s), "+0 only", "kept", "dropped from -0, kept by what rounds to zero", "every zero is -0")
}

// NonFinite is what an encoder does with NaN and infinity.
type NonFinite uint8

// The policies of NaN and infinity.
const (
	// Refuse: an error names the element. The default.
	Refuse NonFinite = iota
	// Saturate: the scale is that of the finite elements; infinity becomes the
	// largest code of its sign, NaN becomes +0.
	Saturate
	// NaNBlock: the scale of the block is NaN (255; 0x7F in NVFP4), its codes 0.
	NaNBlock
	// AsSystem: what the scheme's system gives on x86-64. Only the conformance
	// tests need it, and schemes whose system leaves it undefined refuse it.
	AsSystem
)

// String is the name of n.
func (n NonFinite) String() string {
	return named8("NonFinite", uint8(n), "refuse", "saturate", "nan-block", "as-system")
}
