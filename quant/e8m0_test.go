package quant

import (
	"math"
	"testing"

	"ckpt/dtype"
)

// All 256 bytes, in every type they are decoded to: 127 is 1, 0 the subnormal
// 2^-127, 255 NaN and never infinity.
func TestFaultSGLang25519EveryE8M0Byte(t *testing.T) {
	for b := range 256 {
		got := float64(E8M0(uint8(b)))
		if b == 255 {
			if got == got {
				t.Errorf("255 is %v, want NaN", got)
			}
			continue
		}
		if want := math.Ldexp(1, b-127); got != want {
			t.Errorf("%d is %v, want %v", b, got, want)
		}
	}
	if E8M0(134) != 128 {
		t.Errorf("134 is %v, want 128", E8M0(134))
	}
	for _, f := range Formats() {
		if f == NVFP4 {
			continue
		}
		for _, out := range []dtype.Type{dtype.BF16, dtype.F32} {
			d, err := NewDecoder(f, out, DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			codes := make([]byte, f.CodeBytes(32))
			one := f.Element().Encode(1)
			var block [32]uint8
			for i := range block {
				block[i] = one
			}
			f.pack(codes, block[:])
			for b := range 256 {
				dst := make([]byte, 32*4)
				size, _ := sourceBytes(out)
				if err := d.Decode(dst[:32*size], codes, []byte{byte(b)}, 1, 32); err != nil {
					t.Fatal(err)
				}
				var x [32]float32
				load(x[:], out, dst)
				for _, v := range x {
					if w := E8M0(byte(b)); v != w && !(v != v && w != w) {
						t.Fatalf("%s to %s: a one with scale %d is %v, want %v", f, out, b, v, w)
					}
				}
			}
		}
	}
}

// A scale byte is an exponent: 127 is one, not 127.
func TestFaultOMLX2159ScalesAreExponents(t *testing.T) {
	d, _ := NewDecoder(MXFP4, dtype.F32, DecodeOptions{})
	dst := make([]byte, 128)
	codes := make([]byte, 16)
	for i := range codes {
		codes[i] = 0x22 // 1.0
	}
	for b, want := range map[byte]float32{127: 1, 118: 1.0 / 512, 128: 2} {
		if err := d.Decode(dst, codes, []byte{b}, 1, 32); err != nil {
			t.Fatal(err)
		}
		var x [32]float32
		load(x[:], dtype.F32, dst)
		if x[0] != want || x[31] != want {
			t.Errorf("one with scale %d is %v, want %v", b, x[0], want)
		}
	}
}
