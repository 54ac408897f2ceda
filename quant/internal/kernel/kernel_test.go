package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ckpt/internal/cpu"
)

// others are the implementations to be compared with the portable one.
func others(t testing.TB) []*Set {
	t.Helper()
	sets := Sets()
	if sets[len(sets)-1].Name != "portable" {
		t.Fatal("the portable implementation is not the last")
	}
	for _, s := range cpu.Disabled() {
		t.Logf("%s is disabled: its kernels are not run", s)
	}
	if len(sets) == 1 {
		t.Log("no assembly on this processor or in this build: no kernel is compared")
	}
	return sets[:len(sets)-1]
}

type encode func(codes, scales, src []byte, r *Rule) Counts

// encoders are those of a set by name; k is the exponent of the largest code.
type elementCase struct {
	name      string
	code      int // bytes of a block of codes
	k         uint16
	lo, hi    uint16
	encode    func(*Set) encode
	decode    func(*Set) func(dst, codes, scales []byte) int
	reference *element
}

var cases = []elementCase{
	{"E2M1", 16, 2, 3, 254, func(s *Set) encode { return s.EncodeE2M1 }, func(s *Set) func(a, b, c []byte) int { return s.DecodeE2M1 }, &e2m1},
	{"E4M3", 32, 8, 11, 245, func(s *Set) encode { return s.EncodeE4M3 }, func(s *Set) func(a, b, c []byte) int { return s.DecodeE4M3 }, &e4m3},
	{"E5M2", 32, 15, 18, 253, func(s *Set) encode { return s.EncodeE5M2 }, func(s *Set) func(a, b, c []byte) int { return s.DecodeE5M2 }, &e5m2},
}

// rules are the rules of every kind for an element.
func (c elementCase) rules() (rules []*Rule) {
	for _, add := range []uint16{0, 8, 32, 63, 127} {
		for _, tie := range [][2]uint16{{0, 0}, {1, 0}, {0, 1}} {
			for _, sign := range [][3]uint16{{0, 0, 0}, {0, 0, 0xFFFF}, {0xFFFF, 0, 0}, {0, 0xFFFF, 0}, {0xFFFF, 0, 0xFFFF}} {
				if c.code == 32 && tie != [2]uint16{1, 0} {
					continue
				}
				rules = append(rules, Rule{
					Add: add, Sub: c.k + add>>3&1, Lo: c.lo, Hi: c.hi, TieOdd: tie[0], TieAll: tie[1],
					ZeroDrop: sign[0], ZeroSet: sign[1], CodeDrop: sign[2],
				}.Seal())
			}
		}
	}
	return rules
}

// compare encodes src with both sets and compares every byte.
func (c elementCase) compare(t *testing.T, s *Set, r *Rule, src []byte) {
	t.Helper()
	n := len(src) / 64
	want, wantScales := make([]byte, n*c.code), make([]byte, n)
	got, gotScales := make([]byte, n*c.code), make([]byte, n)
	a := c.encode(Portable())(want, wantScales, src, r)
	b := c.encode(s)(got, gotScales, src, r)
	if a != b {
		t.Fatalf("%+v: counts %+v, want %+v", r, b, a)
	}
	for i := range n {
		if gotScales[i] != wantScales[i] {
			t.Fatalf("%+v: block %d of %d: scale %d, want %d, of % x", r, i, n, gotScales[i], wantScales[i], src[i*64:][:64])
		}
		x, y := got[i*c.code:][:c.code], want[i*c.code:][:c.code]
		if wantScales[i] != Redo && !bytes.Equal(x, y) {
			t.Fatalf("%+v: block %d of %d, scale %d:\ngot  % x\nwant % x\nof   % x", r, i, n, wantScales[i], x, y, src[i*64:][:64])
		}
	}
}

func eachSet(t *testing.T, run func(t *testing.T, s *Set, c elementCase)) {
	for _, s := range others(t) {
		for _, c := range cases {
			t.Run(s.Name+"/"+c.name, func(t *testing.T) { run(t, s, c) })
		}
	}
}

// Every bf16 value occurs under every scale that a maximum can give it.
func TestEncodeEveryValue(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set, c elementCase) {
		rules := c.rules()
		for high := range 256 { // the exponent of a block's maximum
			var src []byte
			for v := range 1 << 16 / 31 {
				for _, m := range []uint16{0, 64}[:1+high%2] {
					block := make([]byte, 64)
					putWord(block, 0, uint16(high)<<7|m)
					for i := range 31 {
						putWord(block, i+1, uint16(v*31+i))
					}
					src = append(src, block...)
				}
			}
			limitTo(src, uint16(high)<<7|127)
			c.compare(t, s, rules[high%len(rules)], src)
		}
	})
}

// limitTo halves what is larger than m until it is not, keeping NaN and infinity
// out where m is finite.
func limitTo(src []byte, m uint16) {
	for i := range len(src) / 2 {
		w := word(src, i)
		for w&0x7FFF > m {
			w -= 128
		}
		putWord(src, i, w)
	}
}

func TestEncodeEveryRule(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	eachSet(t, func(t *testing.T, s *Set, c elementCase) {
		for _, r := range c.rules() {
			for kind := range kinds {
				c.compare(t, s, r, random(rng, kind, 96))
			}
		}
	})
}

// Every length and every alignment; nothing beyond the output is touched.
func TestEncodeLengths(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	eachSet(t, func(t *testing.T, s *Set, c elementCase) {
		for n := range 70 {
			for _, shift := range []int{0, 1, 2, 7, 15, 31, 33} {
				src := append(make([]byte, shift), random(rng, n%kinds, n)...)
				r := c.rules()[(n+shift)%len(c.rules())]
				c.compare(t, s, r, src[shift:])
				const guard = 0xA5
				codes, scales := bytes.Repeat([]byte{guard}, shift+n*c.code+64), bytes.Repeat([]byte{guard}, shift+n+64)
				c.encode(s)(codes[shift:], scales[shift:shift+n:shift+n], src[shift:], r)
				for _, b := range [][]byte{codes[:shift], codes[shift+n*c.code:], scales[:shift], scales[shift+n:]} {
					if len(bytes.Trim(b, "\xA5")) > 0 {
						t.Fatalf("%d blocks at %d: bytes outside were written", n, shift)
					}
				}
			}
		}
	})
}

// kinds is the number of distributions of random.
const kinds = 10

// random gives blocks of bf16 of one kind.
func random(rng *rand.Rand, kind, blocks int) []byte {
	b := make([]byte, 64*blocks)
	for i := range 32 * blocks {
		putWord(b, i, number(rng, kind, i/32))
	}
	return b
}

func number(rng *rand.Rand, kind, block int) uint16 {
	gauss := func() uint16 { return uint16(math.Float32bits(float32(rng.NormFloat64()*0.02)) >> 16) }
	sign := uint16(rng.IntN(2)) << 15
	switch kind {
	case 0:
		return gauss()
	case 1: // any bits
		return uint16(rng.Uint32())
	case 2: // near ties and powers of two
		return sign | uint16(100+rng.IntN(28))<<7 | uint16(rng.IntN(8)*16+rng.IntN(3)-1)&0x7F
	case 3: // zeros
		return sign
	case 4: // mostly zeros
		if rng.IntN(20) > 0 {
			return sign
		}
		return gauss()
	case 5: // subnormals and the smallest normal numbers
		return sign | uint16(rng.IntN(24<<7))
	case 6: // the largest
		return sign | uint16(0x7F80-1-rng.IntN(20<<7))
	case 7: // few NaN and infinities
		if rng.IntN(200) == 0 {
			return sign | 0x7F80 | uint16(rng.IntN(2))
		}
		return gauss()
	case 8: // wide range
		return sign | uint16(rng.IntN(255<<7))
	default: // the same exponent in a block
		return sign | uint16(block*7%250)<<7 | uint16(rng.IntN(128))
	}
}

// Every code under every scale; what is no normal number stops the decoder.
func TestDecodeEveryCode(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set, c elementCase) {
		for scale := range 256 {
			n := 256 / c.code
			codes := make([]byte, n*c.code)
			for i := range codes {
				codes[i] = byte(i)
			}
			codes, scales := bytes.Repeat(codes, 3), bytes.Repeat([]byte{byte(scale)}, 3*n)
			c.compareDecode(t, s, codes, scales)
			for b := range scales { // blocks that may hold no infinity and no NaN
				for i := range c.code {
					if c.code == 32 && int(codes[b*32+i]&0x7F) > c.reference.top {
						codes[b*32+i] ^= 4
					}
				}
			}
			c.compareDecode(t, s, codes, scales)
		}
	})
}

func (c elementCase) compareDecode(t *testing.T, s *Set, codes, scales []byte) {
	t.Helper()
	want, got := make([]byte, 64*len(scales)), make([]byte, 64*len(scales))
	a, b := c.decode(Portable())(want, codes, scales), c.decode(s)(got, codes, scales)
	if a != b || !bytes.Equal(want[:64*a], got[:64*b]) {
		for i := range 32 * min(a, b) {
			if word(want, i) != word(got, i) {
				t.Fatalf("scale %d, element %d: %04x, want %04x", scales[i/32], i, word(got, i), word(want, i))
			}
		}
		t.Fatalf("done %d, want %d", b, a)
	}
}

func TestDecodeLengths(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	eachSet(t, func(t *testing.T, s *Set, c elementCase) {
		for n := range 70 {
			for _, shift := range []int{0, 1, 2, 31} {
				codes, scales := make([]byte, shift+n*c.code), make([]byte, shift+n)
				for i := range codes {
					codes[i] = byte(rng.Uint32())
					if rng.IntN(500) > 0 {
						codes[i] &= 0x77
					}
				}
				for i := range scales {
					scales[i] = byte(100 + rng.IntN(30))
					if rng.IntN(100) == 0 {
						scales[i] = byte(rng.Uint32())
					}
				}
				c.compareDecode(t, s, codes[shift:], scales[shift:])
			}
		}
	})
}

// What is decoded is the value of the code times that of the scale.
func TestPortableDecodes(t *testing.T) {
	for _, c := range cases {
		for scale := c.reference.lo; scale <= c.reference.hi; scale++ {
			for code := range 256 {
				if code&(16*c.code/32*2-1) != code && c.code == 16 || c.code == 32 && code&0x7F > c.reference.top {
					continue
				}
				codes, dst := bytes.Repeat([]byte{byte(code)}, c.code), make([]byte, 64)
				if c.decode(Portable())(dst, codes, []byte{byte(scale)}) != 1 {
					t.Fatalf("%s: code %#x, scale %d is not decoded", c.name, code, scale)
				}
				mag, neg := code&0x7F, code&0x80 != 0
				if c.code == 16 {
					mag, neg = code&7, code&8 != 0
				}
				want := math.Ldexp(c.reference.value(mag), scale-127)
				if neg {
					want = math.Copysign(want, -1)
				}
				if got := math.Float32frombits(uint32(word(dst, 0)) << 16); math.Float64bits(float64(got)) != math.Float64bits(want) {
					t.Fatalf("%s: code %#x, scale %d: %g, want %g", c.name, code, scale, got, want)
				}
			}
		}
	}
}

func TestWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 4))
	for _, s := range others(t) {
		p := Portable()
		for _, f := range []struct {
			name      string
			in, out   int
			want, got func(dst, src []byte)
		}{
			{"NarrowF32", 4, 2, p.NarrowF32, s.NarrowF32},
			{"NarrowF16", 2, 2, p.NarrowF16, s.NarrowF16},
			{"WidenBF16", 2, 4, p.WidenBF16, s.WidenBF16},
		} {
			check := func(src []byte) {
				n := len(src) / f.in
				want, got := make([]byte, n*f.out+8), make([]byte, n*f.out+8)
				f.want(want, src)
				f.got(got, src)
				if !bytes.Equal(want, got) {
					for i := range n {
						if a, b := want[i*f.out:][:f.out], got[i*f.out:][:f.out]; !bytes.Equal(a, b) {
							t.Fatalf("%s %s: % x gives % x, want % x", s.Name, f.name, src[i*f.in:][:f.in], b, a)
						}
					}
					t.Fatalf("%s %s of %d numbers differ", s.Name, f.name, n)
				}
			}
			var all []byte // every 16 bits, above any low half
			for v := range 1 << 16 {
				all = binary.LittleEndian.AppendUint16(all, uint16(v))
				if f.in == 4 {
					low := []uint16{0, 1, 0x8000, 0xFFFF, uint16(rng.Uint32())}[v%5]
					all = append(all[:len(all)-2], byte(low), byte(low>>8), byte(v), byte(v>>8))
				}
			}
			check(all)
			for n := range 150 {
				check(all[n%7*f.in:][:n*f.in])
			}
		}
	}
}

func TestBeyond(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 8))
	for _, s := range others(t) {
		for n := range 40 {
			for _, block := range []int{16, 32} {
				limits, x := make([]uint32, n), make([]float32, n*block)
				for i := range x {
					x[i] = math.Float32frombits(rng.Uint32())
					if rng.IntN(3) > 0 || i/block%5 == 0 {
						x[i] = math.Float32frombits(rng.Uint32() & (1 << 31))
					}
				}
				for i := range limits {
					limits[i] = rng.Uint32() >> 1
					if n > 0 && rng.IntN(2) == 0 {
						limits[i] = math.Float32bits(x[i*block+1]) &^ (1 << 31)
					}
				}
				above, zeros := beyond(limits, x)
				if a, z := s.Beyond(limits, x); a != above || z != zeros {
					t.Fatalf("%s: %d blocks: %d above, %d of zeros, want %d, %d", s.Name, n, a, z, above, zeros)
				}
			}
		}
	}
}

// split and join against the definition, and as inverses.
func TestSplitJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 5))
	for _, s := range Sets() {
		for n := range 20 {
			for _, stride := range [][2]int{{16, 16}, {17, 16}, {16, 17}, {18, 19}} {
				src := make([]byte, n*stride[1]+16)
				for i := range src {
					src[i] = byte(rng.Uint32())
				}
				dst := make([]byte, n*stride[0]+16)
				s.Split(dst, src, stride[0], stride[1], n)
				for b := range n {
					in, out := src[b*stride[1]:], dst[b*stride[0]:]
					for j := range 16 {
						lo, hi := in[j/2]>>(j%2*4)&15, in[8+j/2]>>(j%2*4)&15
						if out[j] != lo|hi<<4 {
							t.Fatalf("%s: byte %d of block %d is %#x", s.Name, j, b, out[j])
						}
					}
				}
				back := make([]byte, len(src))
				s.Join(back, dst, stride[1], stride[0], n)
				for b := range n {
					if at := b * stride[1]; !bytes.Equal(back[at:at+16], src[at:at+16]) {
						t.Fatalf("%s: block %d of %d does not come back", s.Name, b, n)
					}
				}
			}
		}
	}
}

func TestErrorSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, s := range others(t) {
		for n := range 100 {
			x, y := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
				y[i] = x[i] + float32(rng.NormFloat64())*float32(math.Ldexp(1, -rng.IntN(40)))
				switch rng.IntN(2000) {
				case 0:
					x[i] = float32(math.NaN())
				case 1:
					y[i] = float32(math.Inf(-1))
				}
			}
			var a, b Sums
			Portable().Errors(&a, x, y)
			s.Errors(&b, x, y)
			if da, db := fmt.Sprintf("%x", a), fmt.Sprintf("%x", b); da != db {
				t.Fatalf("%s: sums of %d pairs\ngot  %s\nwant %s", s.Name, n, db, da)
			}
		}
	}
}
