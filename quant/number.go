package quant

import (
	"encoding/binary"
	"math"

	"ckpt/dtype"
)

// load reads numbers of type t as float32, exactly.
func load(dst []float32, t dtype.Type, src []byte) {
	switch t {
	case dtype.BF16:
		for i := range dst {
			dst[i] = fromBF16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case dtype.F16:
		for i := range dst {
			dst[i] = fromF16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	default:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	}
}

// store writes v as numbers of type t, each rounded once, ties to even; what is
// beyond the range becomes infinity.
func store(dst []byte, t dtype.Type, v []float64) {
	switch t {
	case dtype.BF16:
		for i, x := range v {
			binary.LittleEndian.PutUint16(dst[2*i:], narrow(x, 8, 7))
		}
	case dtype.F16:
		for i, x := range v {
			binary.LittleEndian.PutUint16(dst[2*i:], narrow(x, 5, 10))
		}
	default:
		for i, x := range v {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(x)))
		}
	}
}

func fromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

func toBF16(x float32) uint16 { return narrow(float64(x), 8, 7) }

func toF16(x float64) uint16 { return narrow(x, 5, 10) }

// fromF16 widens a half.
func fromF16(b uint16) float32 {
	sign, field, m := uint32(b>>15)<<31, int(b>>10&31), uint32(b&0x3FF)
	switch field {
	case 31:
		return math.Float32frombits(sign | 0x7F800000 | m<<13)
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(m)/(1<<24)))
	default:
		return math.Float32frombits(sign | uint32(field+112)<<23 | m<<13)
	}
}

// narrow rounds x to an IEEE number of sixteen bits, ties to even. NaN becomes
// the quiet NaN of its sign.
func narrow(x float64, expBits, mant int) uint16 {
	bias := 1<<(expBits-1) - 1
	inf := uint16(1<<expBits-1) << mant
	bits := math.Float64bits(x)
	sign := uint16(bits>>63) << 15
	exp := int(bits>>52&0x7FF) - 1023
	switch {
	case x != x:
		return sign | inf | 1<<(mant-1)
	case exp > bias:
		return sign | inf
	case exp == -1023:
		return sign
	}
	sig := bits&(1<<52-1) | 1<<52
	at := max(exp, 1-bias)
	drop := min(52-mant+at-exp, 63)
	n := sig >> drop
	if rest, half := sig&(1<<drop-1), uint64(1)<<(drop-1); rest > half || rest == half && n&1 == 1 {
		n++
	}
	// the carry of n into the exponent is the sum's
	return sign | uint16((at+bias-1)<<mant+int(n))
}
