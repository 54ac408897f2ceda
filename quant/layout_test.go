package quant

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// Every layout to every other and back gives the same bytes.
func TestTranscodeRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, f := range Formats() {
		const rows, k = 5, 192
		src := Packed{randomBytes(rng, rows*f.CodeBytes(k)), randomBytes(rng, rows*f.ScaleBytes(k))}
		for from := range Layout(len(layouts)) {
			for to := range Layout(len(layouts)) {
				if !from.carries(f) || !to.carries(f) {
					continue
				}
				a, b, back := room(f, from, rows, k), room(f, to, rows, k), room(f, LayoutPlain, rows, k)
				for _, err := range []error{
					Transcode(f, from, a, LayoutPlain, src, rows, k),
					Transcode(f, to, b, from, a, rows, k),
					Transcode(f, LayoutPlain, back, to, b, rows, k),
				} {
					if err != nil {
						t.Fatalf("%s %s to %s: %v", f, from, to, err)
					}
				}
				if !bytes.Equal(back.Codes, src.Codes) || !bytes.Equal(back.Scales, src.Scales) {
					t.Errorf("%s %s to %s: not the same", f, from, to)
				}
			}
		}
	}
}

func room(f Format, l Layout, rows, k int) Packed {
	if l.inside() {
		return Packed{Codes: make([]byte, rows*(f.CodeBytes(k)+f.ScaleBytes(k)))}
	}
	return Packed{make([]byte, rows*f.CodeBytes(k)), make([]byte, rows*f.ScaleBytes(k))}
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// GGML's blocks of MXFP4 are the scale and the halves, by every implementation.
func TestTranscodeGGML(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 9))
	for _, s := range implementations() {
		for _, n := range []int{0, 1, 2, 15, 16, 17, groupBlocks - 1, groupBlocks, groupBlocks + 1, 3*groupBlocks + 77} {
			codes, scales := randomBytes(rng, 16*n), randomBytes(rng, n)
			dst, want := make([]byte, 17*n), make([]byte, 17*n)
			for i := range n {
				want[17*i] = scales[i]
				splitHalves(want[17*i+1:17*i+17], codes[16*i:16*i+16])
			}
			groupMXFP4(s, dst, codes, scales)
			if !bytes.Equal(dst, want) {
				t.Errorf("%s: %d blocks are grouped otherwise", s.Name, n)
			}
			c, b := make([]byte, 16*n), make([]byte, n)
			ungroupMXFP4(s, c, b, dst)
			if !bytes.Equal(c, codes) || !bytes.Equal(b, scales) {
				t.Errorf("%s: %d blocks do not come back", s.Name, n)
			}
		}
	}
}

func TestTranscodeRefuses(t *testing.T) {
	ok := Packed{make([]byte, 16), make([]byte, 1)}
	for name, err := range map[string]error{
		"short codes":      Transcode(MXFP4, LayoutPlain, ok, LayoutMLX, Packed{make([]byte, 15), make([]byte, 1)}, 1, 32),
		"no scales":        Transcode(MXFP4, LayoutPlain, Packed{make([]byte, 16), nil}, LayoutMLX, ok, 1, 32),
		"row of 31":        Transcode(MXFP4, LayoutPlain, ok, LayoutMLX, ok, 1, 31),
		"overflow":         Transcode(MXFP4, LayoutPlain, ok, LayoutMLX, ok, 1<<40, 1<<40),
		"negative":         Transcode(MXFP4, LayoutPlain, ok, LayoutMLX, ok, -1, 32),
		"half an NVFP4":    Transcode(NVFP4, LayoutGGMLNVFP4, Packed{Codes: make([]byte, 36)}, LayoutPlain, Packed{make([]byte, 8), make([]byte, 1)}, 1, 16),
		"format elsewhere": nil,
	} {
		if name == "format elsewhere" {
			if err := Transcode(MXINT8, LayoutGGML, ok, LayoutPlain, ok, 1, 32); !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Apply is a permutation of the padded matrix and Undo its inverse.
func TestSwizzleInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	for s := CuBLASScales; s <= AMDWeights; s++ {
		for _, shape := range [][2]int{{0, 0}, {1, 1}, {16, 32}, {128, 4}, {129, 5}, {256, 8}, {300, 17}, {48, 96}, {512, 224}} {
			rows, cols := shape[0], shape[1]
			if s == AMDWeights && (rows%16 != 0 || cols%32 != 0) {
				if err := s.Apply(nil, nil, rows, cols); !errors.Is(err, ErrShape) {
					t.Errorf("%s %d × %d: %v", s, rows, cols, err)
				}
				continue
			}
			r, c := s.Padded(rows, cols)
			seen := make([]bool, r*c)
			for i := range r {
				for j := range c {
					seen[s.offset(i, j, c)] = true
				}
			}
			for i, hit := range seen {
				if !hit {
					t.Fatalf("%s %d × %d: nothing goes to %d", s, rows, cols, i)
				}
			}
			src, dst, back := randomBytes(rng, rows*cols), randomBytes(rng, r*c), make([]byte, rows*cols)
			if err := s.Apply(dst, src, rows, cols); err != nil {
				t.Fatal(err)
			}
			if err := s.Undo(back, dst, rows, cols); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(back, src) {
				t.Errorf("%s %d × %d: not the same", s, rows, cols)
			}
			for i := range rows {
				for j := range cols {
					dst[s.offset(i, j, c)] = 0
				}
			}
			if !bytes.Equal(dst, make([]byte, r*c)) {
				t.Errorf("%s %d × %d: the padding is not zero", s, rows, cols)
			}
		}
	}
}

func TestInterleaveRows(t *testing.T) {
	gate, up := []byte{1, 2, 5, 6}, []byte{3, 4, 7, 8}
	both := make([]byte, 8)
	if err := InterleaveRows(both, gate, up, 2); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(both, []byte{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("got %v", both)
	}
	g, u := make([]byte, 4), make([]byte, 4)
	if err := DeinterleaveRows(g, u, both, 2); err != nil || !bytes.Equal(g, gate) || !bytes.Equal(u, up) {
		t.Errorf("got %v %v, %v", g, u, err)
	}
	for _, rows := range []int{-1, 0, 3} {
		if err := InterleaveRows(both, gate, up, rows); !errors.Is(err, ErrShape) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

// The paddings that the kernels of each vendor want.
func TestSwizzlePadding(t *testing.T) {
	for _, c := range []struct {
		s                      Swizzle
		rows, cols, wide, high int
	}{
		{CuBLASScales, 1, 1, 4, 128}, {CuBLASScales, 129, 5, 8, 256}, {AMDScales, 1, 1, 8, 256}, {AMDScales, 256, 8, 8, 256},
		{AMDScales, 257, 9, 16, 512}, {AMDWeights, 16, 32, 32, 16},
	} {
		if r, w := c.s.Padded(c.rows, c.cols); r != c.high || w != c.wide {
			t.Errorf("%s %d × %d: %d × %d, want %d × %d", c.s, c.rows, c.cols, r, w, c.high, c.wide)
		}
	}
	if err := AMDScales.Apply(make([]byte, 32*8), make([]byte, 32*8), 32, 8); !errors.Is(err, ErrShape) {
		t.Errorf("32 rows without padding: %v", err)
	}
}
