package quant

import (
	"math"
	"testing"

	"ckpt/dtype"
)

// measured are the scale bytes that packages gave for a block whose largest
// value is each positive finite bf16, against the integer form: how many of the
// 32,639 maxima disobey it. From scale_rule_bf16 of the vectors.
var measured = []struct {
	scheme     string
	format     Format
	k          int
	t          uint16 // of 128
	exceptions int
}{
	{"torchao-floor-0.18", MXFP4, 2, 128, 0},
	{"torchao-floor", MXFP4, 2, 128, 0},
	{"torchao-ceil-0.18", MXFP4, 2, 1, 0},
	{"torchao-ceil", MXFP4, 2, 1, 0},
	{"torchao-even-0.18", MXFP4, 2, 96, 0},
	{"torchao-even", MXFP4, 2, 96, 32},
	{"torchao-rceil-0.18", MXFP4, 2, 65, 0},
	{"torchao-rceil", MXFP4, 2, 65, 0},
	{"compressed-tensors", MXFP4, 2, 96, 32},
	{"mlx-0.32.1", MXFP4, 3, 11, 5268},
	{"mlx", MXFP4, 2, 65, 196},
	{"modelopt", MXFP4, 2, 65, 0},
	{"torchao-floor-0.18", MXFP8E4M3, 8, 128, 0},
	{"torchao-floor", MXFP8E4M3, 8, 128, 0},
	{"torchao-ceil-0.18", MXFP8E4M3, 8, 1, 0},
	{"torchao-ceil", MXFP8E4M3, 8, 1, 0},
	{"torchao-even-0.18", MXFP8E4M3, 8, 120, 0},
	{"torchao-even", MXFP8E4M3, 8, 120, 8},
	{"torchao-rceil-0.18", MXFP8E4M3, 8, 97, 0},
	{"torchao-rceil", MXFP8E4M3, 8, 97, 0},
	{"compressed-tensors", MXFP8E4M3, 8, 96, 32},
	{"mlx-0.32.1", MXFP8E4M3, 9, 32, 5514},
	{"mlx", MXFP8E4M3, 8, 97, 996},
	{"modelopt", MXFP8E4M3, 8, 97, 0},
	{"ggml", MXFP4, 2, 128, 255},
	{"gguf", MXFP4, 2, 128, 255},
	{"quark", MXFP4, 2, 96, 383},
	{"quark-floor", MXFP4, 2, 123, 5962},
	{"quark-ceil", MXFP4, 2, 3, 3682},
	// derived, not measured
	{"kimi-linear-v2", MXFP4, 3, 8, 0},
	{"kimi-linear-v2", MXFP8E4M3, 9, 31, 0},
	{"torchao-floor", MXFP8E5M2, 15, 128, 0},
	{"torchao-even", MXFP8E5M2, 15, 112, 16},
	{"torchao-rceil", MXFP8E5M2, 15, 97, 0},
	{"torchao-ceil", MXFP8E5M2, 15, 1, 0},
	{"torchao-floor", MXFP6E2M3, 2, 128, 0},
	{"torchao-even", MXFP6E2M3, 2, 120, 8},
	{"torchao-rceil", MXFP6E2M3, 2, 113, 0},
	{"torchao-ceil", MXFP6E2M3, 2, 1, 0},
	{"torchao-floor", MXFP6E3M2, 4, 128, 0},
	{"torchao-even", MXFP6E3M2, 4, 112, 16},
	{"torchao-rceil", MXFP6E3M2, 4, 97, 0},
	{"torchao-ceil", MXFP6E3M2, 4, 1, 0},
	// ours
	{"floor", MXFP4, 2, 128, 0},
	{"even", MXFP4, 2, 96, 0},
	{"rceil", MXFP4, 2, 65, 0},
	{"ceil", MXFP4, 2, 1, 0},
	{"nearest", MXFP4, 3, 8, 0},
	{"nearest", MXFP8E4M3, 9, 31, 0},
}

func TestScaleRuleOfEveryMaximum(t *testing.T) {
	for _, m := range measured {
		s, ok := SchemeNamed(m.scheme)
		if !ok {
			t.Fatalf("no scheme %s", m.scheme)
		}
		r, ok := s.Recipe(m.format)
		if !ok {
			t.Fatalf("no %s in %s", m.format, m.scheme)
		}
		exceptions := 0
		for x := uint16(1); x < 0x7F80; x++ {
			want := int(x>>7) - m.k
			if x&0x7F >= m.t {
				want++
			}
			if got := r.scale(fromBF16(x), dtype.BF16); int(got.byte) != max(want, 0) {
				exceptions++
			}
		}
		if exceptions != m.exceptions {
			t.Errorf("%s %s: %d maxima disobey k %d, T %d/128; measured %d", m.scheme, m.format, exceptions, m.k, m.t, m.exceptions)
		}
	}
}

// The threshold of nearest is the first mantissa whose logarithm rounds up.
func TestNearestThreshold(t *testing.T) {
	for e := E2M1; e <= INT8; e++ {
		k, got := Nearest.Threshold(e)
		// the largest value is 2^emax * top, so the step is at top * sqrt(2) * 2^n
		step := float64(e.Max()) * math.Sqrt2
		frac, exp := math.Frexp(step)
		want := uint32(math.Floor((2*frac-1)*(1<<23))) + 1
		if got != want || k != exp-1 {
			t.Errorf("%s: k %d mantissa %#x, want %d %#x", e, k, got, exp-1, want)
		}
	}
}

// compressed-tensors finds the scale of F16 in F16: what rounds to 2^16, or to
// no normal number, is lost, as in 0.20.1 with torch.float16.
func TestCompressedTensorsF16(t *testing.T) {
	for _, c := range []struct {
		scheme string
		format Format
		k      int
	}{{"compressed-tensors", MXFP4, 2}, {"compressed-tensors-gpu", MXFP4, 2}, {"compressed-tensors", MXFP8E4M3, 8}, {"compressed-tensors-bare", MXFP8E4M3, 8}} {
		s, _ := SchemeNamed(c.scheme)
		e, err := NewEncoder(s, c.format, dtype.F16, EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		const blocks = 0x7C00
		src := make([]byte, blocks*64)
		for h := range blocks {
			src[64*h], src[64*h+1] = byte(h), byte(h>>8)
		}
		for _, name := range Implementations() {
			e, _ := e.With(name)
			codes, scales := make([]byte, c.format.CodeBytes(32*blocks)), make([]byte, blocks)
			rep, err := e.Encode(codes, scales, src, blocks, 32)
			if err != nil || rep.LostBlocks != 0x2FF+0x100 || rep.FirstLost != 1 || rep.NaNBlocks != 0 {
				t.Errorf("%s %s by %s: %+v, %v", c.scheme, c.format, name, rep, err)
			}
			for h, got := range scales {
				want := (h+0x100)>>10 + 112 - c.k
				lost := h < 0x300 || h >= 0x7B00
				if lost {
					want = 127
				}
				if code := codes[h*c.format.CodeBytes(32)]; int(got) != want || lost != (code == 0) {
					t.Fatalf("%s %s by %s: maximum %#04x: scale %d code %d, want %d", c.scheme, c.format, name, h, got, code, want)
				}
			}
		}
	}
}

// A block with NaN as torchao 0.18.0 has it: codes of NaN keep the sign and, in
// types without NaN, what the bits round to; infinity / infinity is negative.
func TestTorchao018NaNCodes(t *testing.T) {
	var x []float32
	for _, bits := range []uint32{
		0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F900000, 0xFFA00000, 0x7FC10000,
		0x7F800000, 0xFF800000, 0x3F800000, 0xBF800000, 0, 0x80000000, 0x7FD23456,
	} {
		x = append(x, math.Float32frombits(bits))
	}
	for f, want := range map[Format][16]byte{
		MXFP4:     {0x03, 0x0B, 0x03, 0x0B, 0x04, 0x0C, 0x03, 0x0C, 0x03, 0x0B, 0x0B, 0x00, 0x08, 0x00, 0x08, 0x03},
		MXFP8E4M3: {0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0xFF, 0x00, 0x80, 0x00, 0x80, 0x7F},
		MXFP8E5M2: {0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF, 0xFF, 0x00, 0x80, 0x00, 0x80, 0x7F},
		MXFP6E2M3: {0x0C, 0x2C, 0x0C, 0x2C, 0x10, 0x30, 0x0D, 0x2E, 0x0C, 0x2C, 0x2C, 0x00, 0x20, 0x00, 0x20, 0x0D},
		MXFP6E3M2: {0x0E, 0x2E, 0x0E, 0x2E, 0x10, 0x30, 0x0E, 0x2F, 0x0E, 0x2E, 0x2E, 0x00, 0x20, 0x00, 0x20, 0x0F},
	} {
		s, _ := SchemeNamed("torchao-floor-0.18")
		e, err := NewEncoder(s, f, dtype.F32, EncodeOptions{NonFinite: AsSystem})
		if err != nil {
			t.Fatal(err)
		}
		codes, scales, got := make([]byte, f.CodeBytes(32)), make([]byte, 1), make([]byte, 32)
		if _, err := e.Encode(codes, scales, bytesOf(dtype.F32, row(32, x...)), 1, 32); err != nil {
			t.Fatal(err)
		}
		f.unpack(got, codes)
		if scales[0] != 255 || [16]byte(got) != want {
			t.Errorf("%s: scale %d codes % x, want % x", f, scales[0], got[:16], want)
		}
		if el := f.Element(); el.nanOf() != el.nanBits(nan32) {
			t.Errorf("%s: NaN is %#x and %#x", el, el.nanOf(), el.nanBits(nan32))
		}
	}
}
