package quant

import (
	"encoding/binary"
	"math"
	"math/big"
	"sort"
	"testing"

	"ckpt/dtype"
)

// every element type, by name
func eachElement(t *testing.T, f func(t *testing.T, e Element)) {
	for e := E2M1; e <= INT8; e++ {
		t.Run(e.String(), func(t *testing.T) { t.Parallel(); f(t, e) })
	}
}

// The values of the specification, by hand.
func TestElementValues(t *testing.T) {
	for code, want := range []float32{0, 0.5, 1, 1.5, 2, 3, 4, 6} {
		if got := E2M1.Decode(uint8(code)); got != want {
			t.Errorf("E2M1 %d: %v, want %v", code, got, want)
		}
		if got := E2M1.Decode(uint8(code) | 8); got != -want || !signbit(got) {
			t.Errorf("E2M1 -%d: %v", code, got)
		}
	}
	for _, c := range []struct {
		e    Element
		code uint8
		want float32
	}{
		{E4M3, 0x01, 1.0 / 512}, {E4M3, 0x07, 7.0 / 512}, {E4M3, 0x08, 1.0 / 64}, {E4M3, 0x38, 1}, {E4M3, 0x7E, 448}, {E4M3, 0xFE, -448},
		{E5M2, 0x01, 1.0 / 65536}, {E5M2, 0x04, 1.0 / 16384}, {E5M2, 0x3C, 1}, {E5M2, 0x7B, 57344},
		{E5M2, 0x7C, float32(math.Inf(1))}, {E5M2, 0xFC, float32(math.Inf(-1))},
		{E2M3, 0x01, 0.125}, {E2M3, 0x08, 1}, {E2M3, 0x1F, 7.5}, {E2M3, 0x3F, -7.5},
		{E3M2, 0x01, 0.0625}, {E3M2, 0x04, 0.25}, {E3M2, 0x0C, 1}, {E3M2, 0x1F, 28},
		{INT8, 0x01, 1.0 / 64}, {INT8, 0x7F, 127.0 / 64}, {INT8, 0xFF, -1.0 / 64}, {INT8, 0x80, -2},
	} {
		if got := c.e.Decode(c.code); got != c.want {
			t.Errorf("%s %#x: %v, want %v", c.e, c.code, got, c.want)
		}
	}
	for _, e := range []Element{E4M3, E5M2} {
		for _, c := range []uint8{0x7F, 0xFF} {
			if v := e.Decode(c); v == v {
				t.Errorf("%s %#x: %v, want NaN", e, c, v)
			}
		}
	}
	for e, want := range map[Element]float32{E2M1: 6, E4M3: 448, E5M2: 57344, E2M3: 7.5, E3M2: 28, INT8: 127.0 / 64} {
		if e.Max() != want {
			t.Errorf("%s: max %v, want %v", e, e.Max(), want)
		}
	}
}

// Every code is the code of its value, and values rise with codes.
func TestElementRoundTrip(t *testing.T) {
	eachElement(t, func(t *testing.T, e Element) {
		s := e.spec()
		for c := range uint8(min(1<<s.bits-1, 255)) {
			v := e.Decode(c)
			if v != v || isInf(v) || e == INT8 && c == 0x80 {
				continue
			}
			if got := e.Encode(v); got != c {
				t.Errorf("%#x is %v, which is %#x", c, v, got)
			}
			if c < s.top && s.value(c) >= s.value(c+1) {
				t.Errorf("%#x: not below the next", c)
			}
		}
	})
}

// middles are the values between neighbouring codes in units of 2^-20: exact
// integers for every element.
func middles(e Element) []int64 {
	s := e.spec()
	m := make([]int64, s.top)
	for c := range m {
		twice := (s.value(uint8(c)) + s.value(uint8(c)+1)) * (1 << 19)
		if m[c] = int64(twice); float64(m[c]) != twice {
			panic("not an integer")
		}
	}
	return m
}

// codeOf is the exact code of sig * 2^p, in units of 2^-20, by integers.
func codeOf(m []int64, sig int64, p int, tie Tie) uint8 {
	if sig == 0 || p < -20 {
		return 0
	}
	if p > 44 {
		return uint8(len(m))
	}
	shift := uint(max(-p, 0))
	v := sig << max(p, 0)
	// the first middle above v; v > middle goes up, v == middle is a tie
	c := sort.Search(len(m), func(i int) bool { return m[i]<<shift >= v })
	if c < len(m) && m[c]<<shift == v && (tie == TieAway || tie == TieEven && c&1 == 1) {
		c++
	}
	return uint8(c)
}

// All 32,640 magnitudes of bf16 × all 255 scale bytes × every element type and
// tie rule, against integer arithmetic.
func TestEveryBF16EveryScale(t *testing.T) {
	ties := []Tie{TieEven, TieZero, TieAway}
	if testing.Short() {
		ties = ties[:1]
	}
	eachElement(t, func(t *testing.T, e Element) {
		s, m := e.spec(), middles(e)
		for _, tie := range ties {
			for b := range 255 {
				unit := pow2(127 - b)
				for x := range uint16(0x7F80) {
					field, sig := int(x>>7), int64(x&0x7F)
					if field > 0 {
						sig |= 0x80
					} else {
						field = 1
					}
					got := s.round(float64(fromBF16(x))*unit, tie)
					if want := codeOf(m, sig, field-134+127-b+20, tie); got != want {
						t.Fatalf("bf16 %#04x / 2^(%d-127), ties %s: code %d, want %d", x, b, tie, got, want)
					}
				}
			}
		}
	})
}

// The integer oracle above is itself held against rational arithmetic.
func TestOraclesAgree(t *testing.T) {
	for e := E2M1; e <= INT8; e++ {
		m := middles(e)
		for _, tie := range []Tie{TieEven, TieZero, TieAway} {
			for x := uint16(0); x < 0x7F80; x += 97 {
				for _, b := range []int{0, 1, 3, 60, 126, 127, 128, 200, 254} {
					field, sig := max(int(x>>7), 1), int64(x&0x7F)
					if x>>7 > 0 {
						sig |= 0x80
					}
					num := new(big.Int).Lsh(big.NewInt(sig), uint(field-134+149))
					if got, want := codeOf(m, sig, field-134+127-b+20, tie), exactCode(e, num, b-127, tie); got != want {
						t.Fatalf("%s bf16 %#04x scale %d ties %s: %d, want %d", e, x, b, tie, got, want)
					}
				}
			}
		}
	}
}

// Every code × every scale byte × every output type, against math/big.
func TestDecodeEveryCodeEveryScale(t *testing.T) {
	for _, f := range Formats()[:6] {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			codes := 1 << f.Element().Bits()
			for _, out := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
				d, err := NewDecoder(f, out, DecodeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				size, _ := sourceBytes(out)
				packed, dst := make([]byte, f.CodeBytes(32)), make([]byte, 32*size)
				var block [32]uint8
				for b := range 256 {
					for c := 0; c < codes; c += 32 {
						for i := range block {
							block[i] = uint8((c + i) % codes)
						}
						f.pack(packed, block[:])
						if err := d.Decode(dst, packed, []byte{byte(b)}, 1, 32); err != nil {
							t.Fatal(err)
						}
						for i, code := range block {
							checkProduct(t, f.Element(), code, b, out, dst[i*size:])
						}
					}
				}
			}
		})
	}
}

func checkProduct(t *testing.T, e Element, code uint8, b int, out dtype.Type, dst []byte) {
	t.Helper()
	v := float64(e.Decode(code))
	var got, want uint32
	bits, mant := 8, 7
	switch out {
	case dtype.F32:
		got = binary.LittleEndian.Uint32(dst)
		mant = 23
	case dtype.F16:
		bits, mant = 5, 10
		fallthrough
	default:
		got = uint32(binary.LittleEndian.Uint16(dst))
	}
	inf := uint32(1<<bits-1) << mant
	sign := uint32(1) << (bits + mant)
	switch {
	case v != v || b == 255:
		if got&^sign <= inf {
			t.Fatalf("%s code %#x scale %d to %s: %#x, want NaN", e, code, b, out, got)
		}
		return
	case math.IsInf(v, 0):
		want = inf
	case v == 0:
	default:
		p := new(big.Float).SetPrec(100).SetMantExp(big.NewFloat(math.Abs(v)), b-127)
		if out == dtype.F32 {
			x, _ := p.Float32()
			want = math.Float32bits(x)
		} else {
			want = uint32(exactNarrow(p, bits, mant))
		}
	}
	if math.Signbit(v) {
		want |= sign
	}
	if got != want {
		t.Fatalf("%s code %#x scale %d to %s: %#x, want %#x", e, code, b, out, got, want)
	}
}

// Half and bf16: every value is read and written back, and rounding agrees with
// math/big near every value.
func TestNarrow(t *testing.T) {
	for b := range 1 << 16 {
		x := uint16(b)
		if v := fromBF16(x); v == v && toBF16(v) != x {
			t.Fatalf("bf16 %#04x comes back as %#04x", x, toBF16(v))
		}
		v := float64(fromF16(x))
		if v == v && toF16(v) != x {
			t.Fatalf("f16 %#04x comes back as %#04x", x, toF16(v))
		}
		if v != v || math.IsInf(v, 0) || v == 0 {
			continue
		}
		up := float64(fromF16(x + 1))
		if x&0x7FFF == 0x7BFF {
			up = math.Copysign(65536, v)
		}
		for _, y := range []float64{(v + up) / 2, math.Nextafter((v+up)/2, v), math.Nextafter((v+up)/2, up)} {
			if got, want := toF16(y), exactNarrow(big.NewFloat(y), 5, 10); got != want {
				t.Fatalf("%v to f16: %#04x, want %#04x", y, got, want)
			}
		}
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1e-300, 1e300, math.Inf(1), math.Inf(-1)} {
		if got, want := toF16(x), math.Float32bits(float32(x))>>16&0x8000; uint32(got)&0x8000 != want {
			t.Errorf("%v to f16: %#04x", x, got)
		}
	}
}
