package quant

import (
	"math"

	"ckpt/dtype"
)

// reckoning is how a system finds the exponent of a scale. In exact arithmetic
// all would agree; they differ in the last bit, at the bottom and at the top.
type reckoning uint8

const (
	// byBits: from the bits of the maximum, as ScaleRule says.
	byBits reckoning = iota
	// byQuotient: maximum / largest value in float32, its exponent rounded up;
	// below 2^-126 from half of it.
	byQuotient
	// byQuotientUp: the same, every subnormal rounded up to 2^-126.
	byQuotientUp
	// byLog2: the logarithm in float32, of the maximum or of the quotient.
	byLog2
	// byOwnQuotient: the quotient rounded to the type of the input, the
	// exponent of that exactly.
	byOwnQuotient
	// byOwnLog2: the logarithm rounded to the type of the input.
	byOwnLog2
)

// ends is what becomes of an exponent beyond the range of a scale byte.
type ends uint8

const (
	// clamped: byte 0 and division by 2^-127 below; the top is never left.
	clamped ends = iota
	// topNaN: at the top byte 255, every code NaN; below as clamped.
	topNaN
	// topLost: at the top byte 127, every code zero; below as clamped. Of F16
	// both ends are those of F16: see fromHalf.
	topLost
	// bottom126: byte 0 and division by 2^-126.
	bottom126
	// bottom1: byte 0 and division by 1.
	bottom1
	// quark1: byte at least 1 while division is by 2^-127; 254 at the top.
	quark1
	// quarkOwn: byte at least 1, division by the scale itself in the input's
	// type; a scale of 0 there becomes 2^-23.
	quarkOwn
	// wrapOwn: the byte modulo 256, division by the true scale.
	wrapOwn
	// wrapByte: the byte modulo 256, division by what that byte says.
	wrapByte
)

// scaled is what the rule of a scale says of a block.
type scaled struct {
	byte byte
	exp  int  // elements are divided by 2^exp
	nan  bool // every code is NaN
	zero bool // every code is zero
	lost bool // the byte stored is not that of the division
}

// scale is the rule: amax is the largest magnitude, finite, and not zero.
func (r *Recipe) scale(amax float32, source dtype.Type) scaled {
	if r.halves(source) {
		return r.fromHalf(amax)
	}
	switch r.reckon {
	case byQuotient:
		return r.settle(int(CastUp.Cast(amax/r.Format.Element().Max())), 0)
	case byQuotientUp:
		d := math.Float32bits(amax / r.Format.Element().Max())
		return r.settle(int((d+1<<23-1)>>23), 0)
	case byLog2:
		return r.settle(r.log2(amax)+127, 0)
	case byOwnQuotient, byOwnLog2:
		return r.own(amax, source)
	default:
		return r.fromBits(amax)
	}
}

// fromBits is the integer form.
func (r *Recipe) fromBits(amax float32) scaled {
	bits := math.Float32bits(amax)
	field, m := int(bits>>23), bits&(1<<23-1)
	k, t := r.Rule.Threshold(r.Format.Element())
	if field == 0 { // subnormal: 2^-127 * (1 + m), or less, which is beyond every byte
		field -= int(^m >> 22 & 1)
		m = m << 1 & (1<<23 - 1)
	}
	if m >= t {
		field++
	}
	return r.settle(field-k, field)
}

// halves says whether the exponent is found in the bits of F16: by
// compressed-tensors, in the type of the input.
func (r *Recipe) halves(source dtype.Type) bool { return r.ends == topLost && source == dtype.F16 }

// fromHalf is Even for one bit of mantissa on the bits of F16. A maximum that
// rounds to infinity or to no normal number has lost its scale.
func (r *Recipe) fromHalf(amax float32) scaled {
	k, _ := r.Rule.Threshold(r.Format.Element())
	switch field := int(toF16(float64(amax))+1<<8) >> 10; field {
	case 0: // the scale would be 0: division by 1
		return scaled{byte: 127, lost: true}
	case 31:
		return scaled{byte: 127, zero: true, lost: true}
	default:
		return scaled{byte: byte(field + 112 - k), exp: field - 15 - k}
	}
}

// log2 is the exponent by a logarithm in float32.
func (r *Recipe) log2(amax float32) int {
	spec := r.Format.Element().spec()
	switch r.Rule {
	case Floor:
		return int(math.Floor(float64(log2f(amax)))) - spec.emax
	case RCeil:
		return int(math.Ceil(float64(log2f(amax / r.Format.Element().Max()))))
	default:
		return int(math.RoundToEven(float64(log2f(amax / r.Format.Element().Max()))))
	}
}

// log2f is the logarithm as a float32.
func log2f(x float32) float32 { return float32(math.Log2(float64(x))) }

// settle brings a byte into the range of bytes. field is the exponent field
// that even rounding left, 255 where it overflowed.
func (r *Recipe) settle(b, field int) scaled {
	switch {
	case field == 255 && r.ends == topNaN:
		return scaled{byte: 255, nan: true}
	case field == 255 && r.ends == topLost:
		return scaled{byte: 127, zero: true, lost: true}
	case field == 255 && r.ends == quark1:
		b = 254
	case r.ends == wrapByte && b < 0:
		w := byte(b)
		return scaled{byte: w, exp: int(w) - 127, lost: true}
	case b <= 0:
		return r.bottom()
	}
	b = min(b, 254) // reached by MXINT8 alone
	return scaled{byte: byte(b), exp: b - 127}
}

// bottom is the scale of a block whose byte is 0 or would be below it.
func (r *Recipe) bottom() scaled {
	switch r.ends {
	case bottom126:
		return scaled{exp: -126}
	case bottom1:
		return scaled{exp: 0}
	case quark1:
		return scaled{byte: 1, exp: -127}
	default:
		return scaled{exp: -127}
	}
}
