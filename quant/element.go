package quant

import "math"

// Element is the type of the numbers inside a block.
//
//	E2M1   s ee m        0 0.5 1 1.5 2 3 4 6
//	E4M3   s eeee mmm    to 448, no infinity, 0x7F and 0xFF are NaN
//	E5M2   s eeeee mm    to 57344, infinity 0x7C, NaN above it
//	E2M3   s ee mmm      to 7.5
//	E3M2   s eee mm      to 28
//	INT8   two's complement, in units of 1/64: to 1.984375
type Element uint8

// The elements of the microscaling formats.
const (
	E2M1 Element = iota + 1
	E4M3
	E5M2
	E2M3
	E3M2
	INT8
)

// element describes a type: a magnitude with exponent field f and mantissa m is
// 2^(f-1+emin) * (1 + m/2^mant), or 2^emin * m/2^mant where f is 0.
type element struct {
	name string
	bits int   // of a code, sign included
	mant int   // bits of the mantissa
	emin int   // exponent of the smallest normal number
	emax int   // exponent of the largest number
	top  uint8 // code of the largest finite magnitude
	inf  uint8 // code of infinity, 0 where there is none
	nan  uint8 // code of NaN, 0 where there is none
}

// elements holds INT8 as a type of one binade: its codes 64…127 are the normal
// numbers 1…1.984375, those below them the subnormals.
var elements = [...]element{
	E2M1: {name: "E2M1", bits: 4, mant: 1, emin: 0, emax: 2, top: 0x07},
	E4M3: {name: "E4M3", bits: 8, mant: 3, emin: -6, emax: 8, top: 0x7E, nan: 0x7F},
	E5M2: {name: "E5M2", bits: 8, mant: 2, emin: -14, emax: 15, top: 0x7B, inf: 0x7C, nan: 0x7F},
	E2M3: {name: "E2M3", bits: 6, mant: 3, emin: 0, emax: 2, top: 0x1F},
	E3M2: {name: "E3M2", bits: 6, mant: 2, emin: -2, emax: 4, top: 0x1F},
	INT8: {name: "INT8", bits: 8, mant: 6, emin: 0, emax: 0, top: 0x7F},
}

func (e Element) spec() *element { return &elements[e] }

// String is the name of e as the specification spells it.
func (e Element) String() string {
	if int(e) >= len(elements) || e == 0 {
		return "invalid"
	}
	return e.spec().name
}

// Bits is the number of bits of a code.
func (e Element) Bits() int { return e.spec().bits }

// Max is the largest finite value.
func (e Element) Max() float32 { return float32(e.spec().value(e.spec().top)) }

// Encode is the code nearest to x, ties to even. What is beyond the largest
// value takes its code, infinity too; NaN is the code of NaN with x's sign, or
// 0 where the type has none. Minus zero keeps its sign.
func (e Element) Encode(x float32) uint8 {
	s := e.spec()
	neg := math.Signbit(float64(x))
	if x != x {
		return s.signed(s.nan, neg)
	}
	return s.signed(s.round(math.Abs(float64(x)), TieEven), neg)
}

// Decode is the value of a code. Bits above e.Bits() are ignored.
func (e Element) Decode(code uint8) float32 { return decodeTables[e][code] }

// decodeTables is the value of every code of every element.
var decodeTables = func() (t [len(elements)][256]float32) {
	for e := E2M1; e <= INT8; e++ {
		for c := range 256 {
			t[e][c] = e.spec().decode(uint8(c))
		}
	}
	return t
}()

func (s *element) decode(code uint8) float32 {
	if s.bits == 8 && s.emax == 0 { // INT8
		return float32(int8(code)) / 64
	}
	sign := uint8(1) << (s.bits - 1)
	mag := code & (sign - 1)
	v := s.value(mag)
	switch {
	case mag == s.inf && s.inf != 0:
		v = math.Inf(1)
	case mag > s.top:
		v = math.NaN()
	}
	if code&sign != 0 {
		v = math.Copysign(v, -1)
	}
	return float32(v)
}

// value is the magnitude that a code without sign stands for.
func (s *element) value(mag uint8) float64 {
	field := int(mag) >> s.mant
	m := int(mag) & (1<<s.mant - 1)
	if field > 0 {
		m, field = m+1<<s.mant, field-1
	}
	return math.Ldexp(float64(m), field+s.emin-s.mant)
}

// signed puts the sign to a magnitude.
func (s *element) signed(mag uint8, neg bool) uint8 {
	switch {
	case !neg:
		return mag
	case s.emax == 0: // INT8
		return -mag
	default:
		return mag | 1<<(s.bits-1)
	}
}

// round is the code of the magnitude nearest to q >= 0, at most the largest
// finite one.
func (s *element) round(q float64, tie Tie) uint8 {
	if q >= 2*s.value(s.top) {
		return s.top
	}
	bits := math.Float64bits(q)
	exp := int(bits>>52) - 1023
	sig := bits&(1<<52-1) | 1<<52
	// the unit of the last place of the code at this exponent, in bits of sig
	at := max(exp, s.emin)
	drop := 52 - s.mant + at - exp
	if exp == -1023 || drop > 53 {
		return 0 // zero, or less than half of the smallest code
	}
	n := sig >> drop
	switch rest, half := sig&(1<<drop-1), uint64(1)<<(drop-1); {
	case rest > half, rest == half && (tie == TieAway || tie == TieEven && n&1 == 1):
		n++
	}
	return uint8(min((at-s.emin)<<s.mant+int(n), int(s.top)))
}

// Tie is what becomes of a value in the middle between two codes.
type Tie uint8

// The rules of ties.
const (
	TieEven Tie = iota // to the code that is even
	TieZero            // to the smaller magnitude
	TieAway            // to the larger magnitude
)

// String says what t does.
func (t Tie) String() string {
	return named8("Tie", uint8(t), "to even", "toward zero", "away from zero")
}
