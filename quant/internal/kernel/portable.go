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
	places [1 << 16]byte // codes by 0x8000 + distance, ties to even
	values [256]uint16
}

var (
	e2m1 = element{mant: 1, emin: 0, top: 0x07, lo: 2, hi: 252}
	e4m3 = element{mant: 3, emin: -6, top: 0x7E, lo: 10, hi: 246}
	e5m2 = element{mant: 2, emin: -14, top: 0x7B, lo: 17, hi: 239}
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

// The distance of a number from its scale is the difference of their bf16 bits:
// 128 a power of two. distance is that of v from 1.
func distance(v float64) int { return int(math.Float32bits(float32(v))>>16) - 127*128 }

// fill makes the tables.
func (e *element) fill() {
	code := 0
	for i := range e.places {
		v := math.Ldexp(1+float64(i&127)/128, (i-0x8000)>>7)
		for code < e.top {
			half := (e.value(code) + e.value(code+1)) / 2
			if v < half || v == half && code&1 == 0 {
				break
			}
			code++
		}
		e.places[i] = byte(code)
	}
	for c := range e.values {
		sign, mag := uint16(c&0x80)<<8, c&0x7F
		e.values[c] = sign
		if mag != 0 {
			e.values[c] = sign | uint16(distance(e.value(mag)))&0x7FFF
		}
	}
}

// scale gives the scale byte of a block with the largest magnitude m, or false.
func (r *Rule) scale(m uint16) (int, bool) {
	b := int(m+r.Add)>>7 - int(r.Sub)
	return b, m < 0x7F80 && b >= int(r.Lo) && b <= int(r.Hi)
}

// largest is the largest magnitude of a block of bf16, four lanes at a time, in
// two chains.
func largest(x *[2 * Block]byte) uint16 {
	var m, n uint64
	for i := 0; i < len(x); i += 16 {
		m = larger(m, binary.LittleEndian.Uint64(x[i:i+8])&^signs)
		n = larger(n, binary.LittleEndian.Uint64(x[i+8:i+16])&^signs)
	}
	m = larger(m, n)
	return uint16(max(m&0xFFFF, m>>16&0xFFFF, m>>32&0xFFFF, m>>48))
}

// larger is the maximum in each of four lanes of 15 bits.
func larger(m, n uint64) uint64 {
	d := (m | signs) - n // H + m - n in each lane; bit 15: m >= n
	h := d & signs
	return n + d&(h-h>>15)
}

// each repeats a word of 16 bits in four lanes.
func each(w uint16) uint64 { return uint64(w) * ones }

const (
	ones  = 0x0001000100010001
	signs = 0x8000 * ones
)

// signs4 gives the signs that four elements keep, as bit 15.
func (r *Rule) signs4(x uint64) uint64 {
	if r.zeros() {
		zero := ^(x&^signs + 0x7FFF*ones) & signs
		x = x&^(zero&each(r.ZeroDrop)) | zero&each(r.ZeroSet)
	}
	return x & signs
}

// byStep are the codes of E2M1 by 1024 + n, the number of steps of 32 from the
// distance at which the code becomes 1. Ties have been decided before.
var byStep = func() (t [2048]byte) {
	codes := [...]byte{1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}
	for i := range t {
		switch {
		case i >= 1024+len(codes):
			t[i] = 7
		case i >= 1024:
			t[i] = codes[i-1024]
		}
	}
	return t
}()

// encodeE2M1 takes blocks one by one: scale, then four elements at a time their
// codes by the distance from the scale, two codes to a byte. A distance lies
// above 0x8000 in its lane, so that no lane borrows from the next.
func encodeE2M1(codes, scales, src []byte, r *Rule) (n Counts) {
	limit, odd, keep := e2m1.limit(), each(r.TieOdd), each(^r.CodeDrop)
	for b := range scales {
		x, out := (*[2 * Block]byte)(src[b*2*Block:]), (*[Block / 2]byte)(codes[b*Block/2:])
		scale, ok := n.begin(&scales[b], x, r, limit)
		if !ok {
			continue
		}
		base := each(uint16(scale<<7 + 1 - 256 - int(r.TieAll)))
		for i := 0; i < Block/2; i += 2 {
			w := binary.LittleEndian.Uint64(x[4*i : 4*i+8])
			d := w | signs
			d += d >> 6 & odd
			d -= base
			c := uint64(byStep[uint16(d)>>5]) | uint64(byStep[uint16(d>>16)>>5])<<16 |
				uint64(byStep[uint16(d>>32)>>5])<<32 | uint64(byStep[uint16(d>>48)>>5])<<48
			c |= r.signs4(w) >> 12 & (c + 7*ones | keep) & (8 * ones)
			c |= c >> 12
			out[i], out[i+1] = byte(c), byte(c>>32)
		}
	}
	return n
}

// begin finds the scale of a block and counts what it clips; false leaves the
// block to the caller.
func (n *Counts) begin(to *byte, x *[2 * Block]byte, r *Rule, limit int) (int, bool) {
	m := largest(x)
	scale, ok := r.scale(m)
	if !ok {
		*to = Redo
		n.Redo++
		return 0, false
	}
	*to = byte(scale)
	if int(m)-scale<<7 > limit {
		n.Clipped += clipped(x, scale<<7+limit)
	}
	return scale, true
}

// clipped counts elements whose bits are beyond limit, which is a number's.
func clipped(x *[2 * Block]byte, limit int) (n int) {
	above := each(uint16(limit + 1))
	for i := 0; i < len(x); i += 8 {
		v := binary.LittleEndian.Uint64(x[i:i+8]) | signs
		n += bits.OnesCount64((v - above) & signs)
	}
	return n
}

// encode8 finds codes by 0x8000 + distance.
func encode8(codes, scales, src []byte, r *Rule, e *element) (n Counts) {
	e.once.Do(e.fill)
	t, limit, keep := &e.places, e.limit(), each(^r.CodeDrop)
	for b := range scales {
		x, out := (*[2 * Block]byte)(src[b*2*Block:]), (*[Block]byte)(codes[b*Block:])
		scale, ok := n.begin(&scales[b], x, r, limit)
		if !ok {
			continue
		}
		base := each(uint16(scale << 7))
		for i := 0; i < Block; i += 4 {
			w := binary.LittleEndian.Uint64(x[2*i : 2*i+8])
			d := w | signs
			d -= base
			c := uint64(t[uint16(d)]) | uint64(t[uint16(d>>16)])<<16 | uint64(t[uint16(d>>32)])<<32 | uint64(t[d>>48])<<48
			c |= r.signs4(w) >> 8 & (c + 0x7F*ones | keep) & (0x80 * ones)
			out[i], out[i+1], out[i+2], out[i+3] = byte(c), byte(c>>16), byte(c>>32), byte(c>>48)
		}
	}
	return n
}

// pairs are, by two codes of E2M1, their bf16 under the scale byte 2 and, above
// them, ones where a code is not zero: where the scale's exponent is added.
var pairs = func() (t [256]uint64) {
	for i := range t {
		for h, c := range []int{i & 15, i >> 4} {
			w := uint64(c&8) << 12
			if c&7 != 0 {
				w |= uint64(distance(e2m1.value(c&7))+2*128) | 1<<32
			}
			t[i] |= w << (16 * h)
		}
	}
	return t
}()

// decodeE2M1 adds the scale's exponent to that of every code but zero.
func decodeE2M1(dst, codes, scales []byte) int {
	for b, s := range scales {
		if int(s) < e2m1.lo || int(s) > e2m1.hi {
			return b
		}
		in, out := (*[Block / 2]byte)(codes[b*Block/2:]), (*[2 * Block]byte)(dst[b*2*Block:])
		exp := uint32(s-2) << 7
		for i := 0; i < len(in); i += 2 {
			v, w := pairs[in[i]], pairs[in[i+1]]
			binary.LittleEndian.PutUint64(out[4*i:4*i+8], uint64(uint32(v)+uint32(v>>32)*exp)|uint64(uint32(w)+uint32(w>>32)*exp)<<32)
		}
	}
	return len(scales)
}

// number is the bf16 of a code of eight bits.
func (e *element) number(code, scale byte) uint16 {
	v := e.values[code]
	if code&0x7F == 0 {
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
			putWord(out, i, e.number(c, s))
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
