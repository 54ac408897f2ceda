package quant

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"ckpt/dtype"
)

// Split-half nibbles read as consecutive ones have the same histogram, the same
// mean, the same error against noise: nothing shows it. So a layout is told,
// and bytes of known elements are held against it.
func TestFaultImp567NibbleOrder(t *testing.T) {
	var codes [32]uint8
	for i := range codes {
		codes[i] = uint8(i % 16)
	}
	plain := make([]byte, 16)
	MXFP4.pack(plain, codes[:])
	if plain[0] != 0x10 || plain[15] != 0xFE {
		t.Fatalf("element 0 is not the low nibble: %x", plain)
	}
	for l := range Layout(len(layouts)) {
		if !l.carries(MXFP4) {
			continue
		}
		out := room(MXFP4, l, 1, 32)
		if err := Transcode(MXFP4, l, out, LayoutPlain, Packed{plain, []byte{7}}, 1, 32); err != nil {
			t.Fatal(err)
		}
		if l == LayoutGGML {
			// byte j: element j low, element j+16 high
			if out.Codes[0] != 7 || out.Codes[1] != 0x00 || out.Codes[2] != 0x11 || out.Codes[16] != 0xFF {
				t.Errorf("%s: %x", l, out.Codes)
			}
			continue
		}
		if !bytes.Equal(out.Codes, plain) || out.Scales[0] != 7 {
			t.Errorf("%s: %x", l, out.Codes)
		}
	}
	// the histogram of nibbles cannot tell the two
	rng := rand.New(rand.NewPCG(6, 20))
	src := randomBytes(rng, 16)
	split := make([]byte, 16)
	splitHalves(split, src)
	var a, b [16]int
	for i := range src {
		a[src[i]&15]++
		a[src[i]>>4]++
		b[split[i]&15]++
		b[split[i]>>4]++
	}
	if a != b || bytes.Equal(src, split) {
		t.Errorf("histograms %v and %v", a, b)
	}
}

// Scales of K/32 exponents are not K/16 numbers of E4M3: the lengths differ,
// and a decoder takes only its own.
func TestFaultB12X115ScalesOfAnotherFormat(t *testing.T) {
	const rows, k = 4, 128
	codes, scales := make([]byte, rows*k/2), make([]byte, rows*k/32)
	d, _ := NewDecoder(NVFP4, dtype.BF16, DecodeOptions{TensorScale: 1})
	if err := d.Decode(make([]byte, rows*k*2), codes, scales, rows, k); !errors.Is(err, ErrShape) {
		t.Errorf("MXFP4's scales as NVFP4's: %v", err)
	}
	d, _ = NewDecoder(MXFP4, dtype.BF16, DecodeOptions{})
	if err := d.Decode(make([]byte, rows*k*2), codes, scales, rows, k); err != nil {
		t.Errorf("MXFP4: %v", err)
	}
	if MXFP4.ScaleType() == NVFP4.ScaleType() {
		t.Error("the two formats share a type of scale")
	}
}

// One byte a number does not mean FP8: packed MXFP4 has half as many bytes as
// numbers, and neither format's decoder takes the other's codes.
func TestFaultMiles2044OneByteIsNotFP8(t *testing.T) {
	const rows, k = 2, 64
	packed, scales := make([]byte, rows*k/2), make([]byte, rows*k/32)
	dst := make([]byte, rows*k*2)
	for _, f := range []Format{MXFP8E4M3, MXFP8E5M2, MXINT8, MXFP6E2M3} {
		d, _ := NewDecoder(f, dtype.BF16, DecodeOptions{})
		if err := d.Decode(dst, packed, scales, rows, k); !errors.Is(err, ErrShape) {
			t.Errorf("%s takes MXFP4's codes: %v", f, err)
		}
	}
	if err := DecodeTiles(dst, packed, make([]byte, 4), Tiles{
		Element: E4M3, Rows: rows, Cols: k, TileRows: 128, TileCols: 128, ScaleType: dtype.F32, OutputType: dtype.BF16,
	}); !errors.Is(err, ErrShape) {
		t.Errorf("FP8 tiles take MXFP4's codes: %v", err)
	}
}
