package quant

import (
	"math"
	"testing"

	"ckpt/dtype"
)

// maxima calls f with float32 maxima of every exponent: every mantissa of bf16
// and what lies within three units of the last place of each.
func maxima(f func(x float32)) {
	for x := range uint32(0x7F80) {
		for d := range uint32(4) {
			for _, bits := range []uint32{x<<16 + d, x<<16 - d} {
				if v := math.Float32frombits(bits); v > 0 && v <= math.MaxFloat32 {
					f(v)
				}
			}
		}
	}
}

// defined is a rule by its definition: the exponent for a maximum, in float64,
// where all of it is exact. guess is any exponent nearby.
func defined(r ScaleRule, e Element, amax float64, guess int) int {
	s := e.spec()
	top := float64(e.Max())
	exp := guess - 2
	up := func() bool { // whether the scale must be at least 2^(exp+1)
		next := pow2(exp + 1)
		switch r {
		case Floor: // the largest power of two of the element is at most the maximum
			return next*pow2(s.emax) <= amax
		case Even, EvenFP4: // the same after rounding to the mantissa, half up
			bits := s.mant
			if r == EvenFP4 {
				bits = 1
			}
			return next*pow2(s.emax) <= amax || next*pow2(s.emax)*(1-pow2(-bits-2)) <= amax
		case RCeil: // the maximum does not fit under 2^exp
			return amax > top*pow2(exp)
		case Ceil:
			return amax > pow2(exp+s.emax)
		default: // (max / top)^2 > 2^(2 exp + 1)
			return amax*amax > top*top*pow2(2*exp+1)
		}
	}
	for up() {
		exp++
	}
	return exp
}

// Our integer forms are the definitions, for float32 maxima of every exponent
// and around every mantissa of bf16.
func TestRulesAreTheirDefinitions(t *testing.T) {
	for _, rule := range []ScaleRule{Floor, Even, EvenFP4, RCeil, Ceil, Nearest} {
		for e := E2M1; e <= INT8; e++ {
			r := &Recipe{Format: formatOf(e), Rule: rule}
			k, _ := rule.Threshold(e)
			bad := 0
			maxima(func(x float32) {
				got := r.scale(x, dtype.F32)
				guess := math.Ilogb(float64(x)) - k
				want := min(max(defined(rule, e, float64(x), guess), -127), 127)
				if got.exp != want || int(got.byte) != want+127 {
					if bad++; bad < 4 {
						t.Errorf("%s %s of %v (%#x): byte %d, want %d", rule, e, x, math.Float32bits(x), got.byte, want+127)
					}
				}
			})
		}
	}
}

func formatOf(e Element) Format {
	return map[Element]Format{E2M1: MXFP4, E4M3: MXFP8E4M3, E5M2: MXFP8E5M2, E2M3: MXFP6E2M3, E3M2: MXFP6E3M2, INT8: MXINT8}[e]
}

// rceil by a quotient (torchao, NVIDIA) is rceil by bits, but for one float32 a
// format; by bits that one has byte 1. A sweep of all 2,139,095,040 finite
// magnitudes found these and no others.
func TestQuotientExceptions(t *testing.T) {
	for e, want := range map[Element]uint32{E2M1: 0x01400001, E4M3: 0x04600001, E5M2: 0x07E00001, E2M3: 0x01700001, E3M2: 0x02600001, INT8: 0} {
		var odd []uint32
		bits, quotient := &Recipe{Format: formatOf(e), Rule: RCeil}, &Recipe{Format: formatOf(e), Rule: RCeil, reckon: byQuotient}
		maxima(func(x float32) {
			if a, b := bits.scale(x, dtype.F32), quotient.scale(x, dtype.F32); a != b {
				odd = append(odd, math.Float32bits(x))
				if a.byte != 1 || b.byte != 0 {
					t.Errorf("%s %#x: %d by bits, %d by quotient", e, math.Float32bits(x), a.byte, b.byte)
				}
			}
		})
		if want == 0 && len(odd) > 0 || want != 0 && (len(odd) != 1 || odd[0] != want) {
			t.Errorf("%s: exceptions %#x, want %#x", e, odd, want)
		}
	}
}

// The table of scale bytes in the rules' description.
func TestScaleBytesOfFewMaxima(t *testing.T) {
	for rule, want := range map[ScaleRule][]byte{
		Floor: {127, 127, 127, 127, 128, 128}, Even: {127, 127, 127, 128, 128, 128}, RCeil: {127, 127, 128, 128, 128, 128},
		Ceil: {127, 128, 128, 128, 128, 129}, Nearest: {126, 127, 127, 127, 127, 128},
	} {
		r := &Recipe{Format: MXFP4, Rule: rule}
		for i, x := range []float32{4, 5, 6.5, 7, 8, 8.5} {
			if got := r.scale(x, dtype.F32).byte; got != want[i] {
				t.Errorf("%s of %v: %d, want %d", rule, x, got, want[i])
			}
		}
	}
}
