package quant

import (
	"testing"

	"ckpt/dtype"
)

// Whole blocks, through whatever kernel this machine has: for every scale byte
// all bf16 numbers of both signs that such a block may hold, in blocks led by
// the number that sets the scale, against integers.
func TestEncodeEveryBF16EveryScale(t *testing.T) {
	floor, _ := SchemeNamed("floor")
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			el := f.Element()
			m, emax := middles(el), el.spec().emax
			e, err := NewEncoder(floor, f, dtype.BF16, EncodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for b := range 255 - emax {
				checkScale(t, e, f, m, b, uint16((b+emax)<<7|0x7F))
			}
		})
	}
}

// checkScale encodes all numbers up to top in blocks with the scale byte b.
func checkScale(t *testing.T, e *Encoder, f Format, m []int64, b int, top uint16) {
	t.Helper()
	// small numbers far below the scale all become zero: the last 20 binades and
	// a sample of the rest
	var x []uint16
	for v := uint16(0); v <= top; v++ {
		if int(top>>7)-int(v>>7) < 20 || v%61 == 0 {
			if len(x)%32 == 0 {
				x = append(x, top)
			}
			x = append(x, v|v<<15) // odd ones are negative
		}
	}
	for len(x)%32 != 0 {
		x = append(x, top)
	}
	src := make([]byte, 2*len(x))
	for i, v := range x {
		src[2*i], src[2*i+1] = byte(v), byte(v>>8)
	}
	codes, scales := make([]byte, f.CodeBytes(len(x))), make([]byte, len(x)/32)
	if _, err := e.Encode(codes, scales, src, 1, len(x)); err != nil {
		t.Fatal(err)
	}
	var block [32]uint8
	for i := range scales {
		if int(scales[i]) != b {
			t.Fatalf("maximum %#04x: scale %d, want %d", top, scales[i], b)
		}
		size := f.CodeBytes(32)
		f.unpack(block[:], codes[i*size:(i+1)*size])
		for j, got := range block {
			v := x[i*32+j]
			field, sig := max(int(v>>7&0xFF), 1), int64(v&0x7F)
			if v>>7&0xFF > 0 {
				sig |= 0x80
			}
			want := codeOf(m, sig, field-134+127-b+20, TieEven)
			if v>>15 == 1 && want != 0 {
				want |= 1 << (f.Element().Bits() - 1)
			}
			if got != want {
				t.Fatalf("bf16 %#04x with scale %d: code %#x, want %#x", v, b, got, want)
			}
		}
	}
}
