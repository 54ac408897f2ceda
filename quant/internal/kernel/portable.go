package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
)

// Portable is the Set in plain Go.
func Portable() *Set {
	return &Set{
		Name:       "portable",
		EncodeE2M1: encodeE2M1,
		EncodeE4M3: func(codes, scales, src []byte, r *Rule) Counts { return encode8(codes, scales, src, r, &e4m3) },
		EncodeE5M2: func(codes, scales, src []byte, r *Rule) Counts { return encode8(codes, scales, src, r, &e5m2) },
		DecodeE2M1: decodeE2M1,
		DecodeE4M3: func(dst, codes, scales []byte) int { return decode8(dst, codes, scales, &e4m3) },
		DecodeE5M2: func(dst, codes, scales []byte) int { return decode8(dst, codes, scales, &e5m2) },
		NarrowF32:  narrowF32,
		NarrowF16:  narrowF16,
		WidenBF16:  widenBF16,
		Split:      split,
		Join:       join,
		Errors:     errorSums,
		Beyond:     beyond,
	}
}

// An element is a type as the loops need it.
type element struct {
	mant, emin int // bits of the mantissa, exponent of the smallest normal number
	top        int // largest code without sign
	lo, hi     int // scale bytes whose every number is a normal bf16

	once   sync.Once
	places [3][]byte // by rule of ties: codes by distance, see place
	values [256]uint16
}

var (
	e2m1 = element{mant: 1, emin: 0, top: 0x07, lo: 2, hi: 252}
	e4m3 = element{mant: 3, emin: -6, top: 0x7E, lo: 10, hi: 246}
	e5m2 = element{mant: 2, emin: -14, top: 0x7B, lo: 17, hi: 239}
)

// The distance of a number from its scale is the difference of their bf16 bits:
// 128 a power of two. It lies within these for every element whose code is
// neither 0 nor the largest.
const (
	nearest  = -17 * 128
	farthest = 17 * 128
)

// value is the magnitude of a code, in units of the scale.
func (e *element) value(code int) float64 {
	field, m := code>>e.mant, code&(1<<e.mant-1)
	if field > 0 {
		m, field = m|1<<e.mant, field-1
	}
	return math.Ldexp(float64(m), field+e.emin-e.mant)
}

// limit is the distance of the largest code.
func (e *element) limit() int { return distance(e.value(e.top)) }

// distance is the bf16 of v less that of 1.
func distance(v float64) int { return int(math.Float32bits(float32(v))>>16) - 127*128 }

// place fills the codes by distance: the code nearest to each number.
func (e *element) fill() {
	for tie := range e.places {
		t := make([]byte, farthest-nearest+1)
		code := 0
		for d := nearest; d <= farthest; d++ {
			v := float64(math.Float32frombits(uint32(d+127*128) << 16))
			for code < e.top {
				half := (e.value(code) + e.value(code+1)) / 2
				if v < half || v == half && (tie == tieZero || tie == tieOdd && code&1 == 0) {
					break
				}
				code++
			}
			t[d-nearest] = byte(code)
		}
		e.places[tie] = t
	}
	for c := range e.values {
		sign, mag := uint16(0), c
		if e.mant == 1 {
			sign, mag = uint16(c&8)<<12, c&7
		} else {
			sign, mag = uint16(c&0x80)<<8, c&0x7F
		}
		e.values[c] = sign
		if mag != 0 {
			e.values[c] = sign | uint16(distance(e.value(mag)))&0x7FFF
		}
	}
}

const (
	tieZero = iota
	tieOdd
	tieAll
)

// table is the codes by distance for r's rule of ties.
func (e *element) table(r *Rule) []byte {
	e.once.Do(e.fill)
	return e.places[r.TieOdd+2*r.TieAll]
}

// scale gives the scale byte of a block with the largest magnitude m, or false.
func (r *Rule) scale(m uint16) (int, bool) {
	b := int(m+r.Add)>>7 - int(r.Sub)
	return b, m < 0x7F80 && b >= int(r.Lo) && b <= int(r.Hi)
}

// sign is the sign that an element keeps, as bit 15.
func (r *Rule) sign(w uint16) uint16 {
	if w&0x7FFF == 0 {
		w = w&^r.ZeroDrop | r.ZeroSet
	}
	return w & 0x8000
}

// largest is the largest magnitude of a block of bf16, four lanes at a time.
func largest(src []byte) uint16 {
	const low, high = 0x7FFF7FFF7FFF7FFF, 0x8000800080008000
	var m uint64
	for i := 0; i+8 <= len(src); i += 8 {
		v := binary.LittleEndian.Uint64(src[i:]) & low
		less := ((m | high) - v) & high // bit 15 of a lane: m >= v
		keep := less - less>>15 | less  // the whole lane
		m = m&keep | v&^keep
	}
	m = max(m&0xFFFF, m>>16&0xFFFF, m>>32&0xFFFF, m>>48)
	return uint16(m)
}

// encodeE2M1 takes blocks one by one: scale, then element by element its code by
// the distance from the scale, two codes to a byte.
func encodeE2M1(codes, scales, src []byte, r *Rule) (n Counts) {
	t, limit := e2m1.table(r), e2m1.limit()
	for b := range scales {
		x := src[b*2*Block:][:2*Block]
		m := largest(x)
		scale, ok := r.scale(m)
		if !ok {
			scales[b] = Redo
			n.Redo++
			continue
		}
		scales[b] = byte(scale)
		if int(m)-scale<<7 > limit {
			n.Clipped += clipped(x, scale<<7+limit)
		}
		out := codes[b*Block/2:][:Block/2]
		for i := range out {
			w := binary.LittleEndian.Uint32(x[4*i:])
			out[i] = r.nibble(t, uint16(w), scale) | r.nibble(t, uint16(w>>16), scale)<<4
		}
	}
	return n
}

func (r *Rule) nibble(t []byte, w uint16, scale int) byte {
	return r.signs[(t[within(int(w&0x7FFF)-scale<<7)]|byte(r.sign(w)>>12))&15]
}

// within is the index of a distance in a table of places.
func within(d int) int { return min(max(d-nearest, 0), farthest-nearest) }

// clipped counts elements whose bits are beyond limit.
func clipped(x []byte, limit int) (n int) {
	for i := range Block {
		n += (limit - int(word(x, i)&0x7FFF)) >> 63 & 1
	}
	return n
}

func encode8(codes, scales, src []byte, r *Rule, e *element) (n Counts) {
	t, limit := e.table(&Rule{TieOdd: 1}), e.limit()
	for b := range scales {
		x := src[b*2*Block:][:2*Block]
		m := largest(x)
		scale, ok := r.scale(m)
		if !ok {
			scales[b] = Redo
			n.Redo++
			continue
		}
		scales[b] = byte(scale)
		if int(m)-scale<<7 > limit {
			n.Clipped += clipped(x, scale<<7+limit)
		}
		out := codes[b*Block:][:Block]
		for i := range out {
			w := word(x, i)
			c, s := t[within(int(w&0x7FFF)-scale<<7)], byte(r.sign(w)>>8)
			if c == 0 {
				s &^= byte(r.CodeDrop)
			}
			out[i] = c | s
		}
	}
	return n
}

// decodeE2M1 adds the scale's exponent to that of every code but zero.
func decodeE2M1(dst, codes, scales []byte) int {
	e2m1.once.Do(e2m1.fill)
	for b, s := range scales {
		if int(s) < e2m1.lo || int(s) > e2m1.hi {
			return b
		}
		in, out := codes[b*Block/2:][:Block/2], dst[b*2*Block:][:2*Block]
		for i, c := range in {
			lo, hi := e2m1.number(c&15, s, 7), e2m1.number(c>>4, s, 7)
			binary.LittleEndian.PutUint32(out[4*i:], uint32(lo)|uint32(hi)<<16)
		}
	}
	return len(scales)
}

// number is the bf16 of a code; magnitude are the bits of the code below its sign.
func (e *element) number(code, scale, magnitude byte) uint16 {
	v := e.values[code]
	if code&magnitude == 0 {
		return v
	}
	return v&0x8000 | (v+uint16(scale)<<7)&0x7FFF
}

func decode8(dst, codes, scales []byte, e *element) int {
	e.once.Do(e.fill)
	for b, s := range scales {
		in, out := codes[b*Block:][:Block], dst[b*2*Block:][:2*Block]
		if int(s) < e.lo || int(s) > e.hi || e.beyond(in) {
			return b
		}
		for i, c := range in {
			putWord(out, i, e.number(c, s, 0x7F))
		}
	}
	return len(scales)
}

// beyond says whether a code is infinity or NaN.
func (e *element) beyond(codes []byte) bool {
	for _, c := range codes {
		if int(c&0x7F) > e.top {
			return true
		}
	}
	return false
}

func sticky(x uint32) uint16 {
	_, lost := bits.Sub32(0, x&0xFFFF, 0)
	return uint16(x>>16 | lost)
}

func narrowF32(dst, src []byte) {
	for i := range len(src) / 4 {
		putWord(dst, i, sticky(binary.LittleEndian.Uint32(src[4*i:])))
	}
}

func narrowF16(dst, src []byte) {
	for i := range len(src) / 2 {
		putWord(dst, i, sticky(widenF16(word(src, i))))
	}
}

// widenF16 gives the float32 bits of a half; of NaN the quiet one.
func widenF16(h uint16) uint32 {
	sign, field, m := uint32(h&0x8000)<<16, uint32(h>>10&31), uint32(h&0x3FF)
	switch {
	case field == 31 && m != 0:
		return sign | 0x7FC00000 | m<<13
	case field == 31:
		return sign | 0x7F800000
	case field == 0:
		return sign | math.Float32bits(float32(m)/(1<<24))
	default:
		return sign | (field+112)<<23 | m<<13
	}
}

func widenBF16(dst, src []byte) {
	for i := range len(src) / 2 {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(word(src, i))<<16)
	}
}

func split(dst, src []byte, dstStride, srcStride, blocks int) {
	for b := range blocks {
		in, out := src[b*srcStride:][:Block/2], dst[b*dstStride:][:Block/2]
		lo, hi := binary.LittleEndian.Uint64(in), binary.LittleEndian.Uint64(in[8:])
		for j := range 8 { // byte j of in holds elements 2j, 2j+1; 8 bytes on, 16 elements on
			l, h := byte(lo>>(8*j)), byte(hi>>(8*j))
			out[2*j], out[2*j+1] = l&15|h<<4, l>>4|h&0xF0
		}
	}
}

func join(dst, src []byte, dstStride, srcStride, blocks int) {
	for b := range blocks {
		in, out := src[b*srcStride:][:Block/2], dst[b*dstStride:][:Block/2]
		var lo, hi uint64
		for j := range 8 {
			l, h := in[2*j], in[2*j+1]
			lo |= uint64(l&15|h<<4) << (8 * j)
			hi |= uint64(l>>4|h&0xF0) << (8 * j)
		}
		binary.LittleEndian.PutUint64(out, lo)
		binary.LittleEndian.PutUint64(out[8:], hi)
	}
}
