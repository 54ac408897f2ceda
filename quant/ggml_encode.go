package quant

import (
	"encoding/binary"
	"math"
)

// The encoders follow ggml's reference quantizers operation by operation in
// float32, because their bytes depend on every rounding. Products are rounded
// before sums (no fused operation), and conversions to integers give what
// x86-64 gives where C leaves them undefined.

// trunc8 is the low byte of x cut to a 32-bit integer, 0 where none holds it.
func trunc8(x float32) int8 {
	if x > -(1<<31) && x < 1<<31 {
		return int8(int32(x))
	}
	return 0
}

// away rounds half away from zero.
func away(x float32) float32 { return float32(math.Round(float64(x))) }

// inverse is 1/d, and 0 for 0.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// farthest is the first element of largest magnitude; NaN is not seen.
func farthest(x []float32) (v float32) {
	var most float32
	for _, e := range x {
		if a := abs(e); most < a {
			most, v = a, e
		}
	}
	return v
}

// maximum is the largest magnitude by the macro MAX: NaN hides what is before it.
func maximum(x []float32) (most float32) {
	for _, e := range x {
		if a := abs(e); !(most > a) {
			most = a
		}
	}
	return most
}

// span gives the least and the greatest element.
func span(x []float32) (low, high float32) {
	low, high = math.MaxFloat32, -math.MaxFloat32
	for _, e := range x {
		if e < low {
			low = e
		}
		if e > high {
			high = e
		}
	}
	return low, high
}

// encodeQ1_0: the scale is the mean magnitude, summed in order.
func encodeQ1_0(dst []byte, src []float32) {
	var sum float32
	clear(dst[2:])
	for j, x := range src {
		sum += abs(x)
		if x >= 0 {
			dst[2+j/8] |= 1 << (j % 8)
		}
	}
	putHalf(dst, 0, sum/128)
}

// encodeQ2_0: the scale is the maximum, so the code 3 is never written.
func encodeQ2_0(dst []byte, src []float32) {
	var d float32
	for _, x := range src {
		d = maxOf(d, abs(x))
	}
	id := inverse(d)
	putHalf(dst, 0, d)
	clear(dst[2:])
	for j, x := range src {
		q := int32(math.MinInt32) // C's int of what it cannot hold, plus 1 below
		if r := away(x * id); r > -(1<<31) && r < 1<<31 {
			q = int32(r)
		}
		dst[2+j/4] |= byte(min(max(q+1, 0), 3)) << (j % 4 * 2)
	}
}

// maxOf is b if it is greater than a: NaN is not seen.
func maxOf(a, b float32) float32 {
	if b > a {
		return b
	}
	return a
}

// codes of four and five bits: x × id + bias, cut, at most top.
func ggmlCode(x, id, bias float32, top int8) byte {
	return byte(min(trunc8(float32(x*id)+bias), top))
}

// encodeQ4_0: the scale maps the farthest element to code 0.
func encodeQ4_0(dst []byte, src []float32) {
	d := farthest(src) / -8
	id := inverse(d)
	putHalf(dst, 0, d)
	for j := range 16 {
		dst[2+j] = ggmlCode(src[j], id, 8.5, 15) | ggmlCode(src[j+16], id, 8.5, 15)<<4
	}
}

// encodeQ4_1: from the least element to the greatest.
func encodeQ4_1(dst []byte, src []float32) {
	low, high := span(src)
	d := (high - low) / 15
	id := inverse(d)
	putHalf(dst, 0, d)
	putHalf(dst, 2, low)
	for j := range 16 {
		dst[4+j] = ggmlCode(src[j]-low, id, 0.5, 15) | ggmlCode(src[j+16]-low, id, 0.5, 15)<<4
	}
}

// encodeQ5_0: as Q4_0 with five bits.
func encodeQ5_0(dst []byte, src []float32) {
	d := farthest(src) / -16
	id := inverse(d)
	putHalf(dst, 0, d)
	put5(dst[2:], src, func(x float32) byte { return ggmlCode(x, id, 16.5, 31) })
}

// encodeQ5_1: as Q4_1 with five bits.
func encodeQ5_1(dst []byte, src []float32) {
	low, high := span(src)
	d := (high - low) / 31
	id := inverse(d)
	putHalf(dst, 0, d)
	putHalf(dst, 2, low)
	put5(dst[4:], src, func(x float32) byte { return ggmlCode(x-low, id, 0.5, 127) })
}

// put5 writes four bytes of fifth bits and sixteen of the others.
func put5(dst []byte, src []float32, code func(float32) byte) {
	var high uint32
	for j := range 16 {
		a, b := code(src[j]), code(src[j+16])
		dst[4+j] = a&15 | b<<4
		high |= uint32(a>>4&1)<<j | uint32(b>>4&1)<<(j+16)
	}
	binary.LittleEndian.PutUint32(dst, high)
}

// encodeQ8_0: half away from zero.
func encodeQ8_0(dst []byte, src []float32) {
	d := maximum(src) / 127
	id := inverse(d)
	putHalf(dst, 0, d)
	for j, x := range src {
		dst[2+j] = byte(trunc8(away(x * id)))
	}
}

// encodeQ8_1: as Q8_0, and d × the sum of the codes.
func encodeQ8_1(dst []byte, src []float32) {
	d := maximum(src) / 127
	id, sum := inverse(d), 0
	putHalf(dst, 0, d)
	for j, x := range src {
		q := trunc8(away(x * id))
		dst[4+j] = byte(q)
		sum += int(q)
	}
	putHalf(dst, 2, float32(sum)*d)
}

// encodeQ8_K: the farthest element becomes -127; half to even. The sums of a
// block of zeros, which ggml leaves as they were, are 0.
func encodeQ8_K(dst []byte, src []float32) {
	clear(dst)
	far := farthest(src)
	if far == 0 {
		return
	}
	scale := -127 / far
	for j, x := range src {
		q := int32(math.Float32bits(float32(scale*x)+12582912)&0x7FFFFF) - 0x400000
		dst[4+j] = byte(min(q, 127))
	}
	for run := range 16 {
		sum := 0
		for _, b := range dst[4+16*run:][:16] {
			sum += int(int8(b))
		}
		binary.LittleEndian.PutUint16(dst[260+2*run:], uint16(sum))
	}
	binary.LittleEndian.PutUint32(dst, math.Float32bits(1/scale))
}

// trit is 0, 1 or 2 for -1, 0 or 1 of x × id.
func trit(x, id float32) byte {
	if r := away(x * id); r > -(1<<31) && r < 1<<31 {
		return byte(int32(r) + 1)
	}
	return 1
}

// encodeTQ1_0 is the inverse of decodeTQ1_0; the fraction is rounded up.
func encodeTQ1_0(dst []byte, src []float32) {
	d := maximum(src)
	id := inverse(d)
	putHalf(dst, 52, d)
	for _, part := range ggmlTrits {
		for j := range part.bytes {
			var q byte
			for n := range 5 {
				q *= 3
				if n < part.trits {
					q += trit(src[n*part.bytes+j], id)
				}
			}
			dst[j] = byte((uint16(q)*256 + 242) / 243)
		}
		dst, src = dst[part.bytes:], src[part.bytes*part.trits:]
	}
}

// encodeTQ2_0 is the inverse of decodeTQ2_0.
func encodeTQ2_0(dst []byte, src []float32) {
	d := maximum(src)
	id := inverse(d)
	putHalf(dst, 64, d)
	clear(dst[:64])
	for i, x := range src {
		dst[i/128*32+i%32] |= trit(x, id) & 3 << (i % 128 / 32 * 2)
	}
}

// encodeGGMLMXFP4: the exponent of the maximum, by a logarithm rounded to
// float32, which just below a power of two gives one more. Below 2^-125 the byte
// wraps.
func encodeGGMLMXFP4(dst []byte, src []float32) {
	var most float32
	for _, x := range src {
		most = maxOf(most, abs(x))
	}
	var e byte
	if most > 0 && !isInf(most) {
		e = byte(int(math.Floor(float64(float32(math.Log2(float64(most)))))) - 2 + 127)
	}
	dst[0] = e
	halves(dst[1:], src, ggmlHalfE8M0(e), most)
}

// encodeGGMLNVFP4: a scale of the maximum / 6 for each group of sixteen.
func encodeGGMLNVFP4(dst []byte, src []float32) {
	for g := range 4 {
		x := src[16*g:][:16]
		var most float32
		for _, v := range x {
			most = maxOf(most, abs(v))
		}
		dst[g] = ggmlE4M3(most / 6)
		halves(dst[4+8*g:][:8], x, ggmlHalfE4M3(dst[g]), most)
	}
}

// halves writes the nearest codes of E2M1 with the scale d, in halves. most is
// the largest magnitude.
func halves(dst []byte, src []float32, d, most float32) {
	nearest := ggmlNearest
	if d == 0 || most > 16*d || isInf(12*d) || isInf(most) {
		nearest = ggmlBest // some distances round to the same, or overflow
	}
	n := len(dst)
	for j := range dst {
		dst[j] = nearest(src[j], d) | nearest(src[j+n], d)<<4
	}
}

// ggmlBest is ggml's search: the first code of the least distance. Zero is
// always code 0.
func ggmlBest(x, d float32) (code byte) {
	best := abs(x)
	for i := 1; i < 16; i++ {
		if e := abs(float32(ggmlE2M1[i]*d) - x); e < best {
			code, best = byte(i), e
		}
	}
	return code
}

// ggmlNearest is ggmlBest by comparing with what lies between the values, for
// magnitudes up to 16 d and a d whose multiples are finite.
func ggmlNearest(x, d float32) (code byte) {
	a := abs(x)
	for _, t := range ggmlMiddles {
		if a > t*d {
			code++
		}
	}
	if code > 0 && x < 0 {
		code |= 8
	}
	return code
}

var ggmlMiddles = [7]float32{0.5, 1.5, 2.5, 3.5, 5, 7, 10}
