package quant

import (
	"math"

	"ckpt/dtype"
)

// own is the rule of systems that compute in the type of the input.
func (r *Recipe) own(amax float32, source dtype.Type) scaled {
	spec := r.Format.Element().spec()
	if r.ends == quarkOwn {
		l := float64(roundTo(source, log2f(amax)))
		if r.Rule == Floor {
			l = math.Floor(l)
		} else {
			l = math.Ceil(l)
		}
		exp := int(l) - spec.emax
		if roundTo(source, float32(math.Ldexp(1, exp))) == 0 {
			return scaled{byte: 127 - 23, exp: -23}
		}
		return scaled{byte: byte(max(exp+127, 1)), exp: exp}
	}
	d := roundTo(source, amax/r.Format.Element().Max())
	if d == 0 {
		return scaled{byte: 127}
	}
	var exp int
	if r.reckon == byOwnLog2 {
		exp = int(math.RoundToEven(float64(roundTo(source, log2f(d)))))
	} else {
		frac, e := math.Frexp(float64(d)) // frac in [0.5, 1)
		exp = e
		if frac == 0.5 {
			exp--
		}
	}
	return scaled{byte: byte(exp + 127), exp: exp, lost: exp < -127}
}

// roundTo rounds to the values of a type, ties to even.
func roundTo(t dtype.Type, x float32) float32 {
	switch t {
	case dtype.BF16:
		return fromBF16(toBF16(x))
	case dtype.F16:
		return fromF16(toF16(float64(x)))
	default:
		return x
	}
}
