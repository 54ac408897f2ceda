package quant

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"ckpt/dtype"
)

var (
	nan32 = float32(math.NaN())
	inf32 = float32(math.Inf(1))
)

func row(n int, x ...float32) []float32 { return append(x, make([]float32, n-len(x))...) }

// The default refuses and names the element, in every scheme and format.
func TestNonFiniteIsRefused(t *testing.T) {
	for _, s := range Schemes() {
		for _, r := range s.Recipes {
			for _, bad := range []float32{nan32, inf32, -inf32} {
				x := make([]float32, 96)
				x[37] = bad
				e, err := NewEncoder(s, r.Format, dtype.F32, EncodeOptions{TensorScale: 1})
				if err != nil {
					t.Fatal(err)
				}
				_, err = e.Encode(make([]byte, r.Format.CodeBytes(96)), make([]byte, r.Format.ScaleBytes(96)), bytesOf(dtype.F32, x), 1, 96)
				var where *NonFiniteError
				if !errors.As(err, &where) || !errors.Is(err, ErrNonFinite) || where.Index != 37 || where.Bits != math.Float32bits(bad) {
					t.Errorf("%s %s %v: %v", s.Name, r.Format, bad, err)
				}
			}
		}
	}
}

func TestNonFinitePolicies(t *testing.T) {
	even, _ := SchemeNamed("even")
	x := row(64, 6, -1, inf32, -inf32, nan32, 0.5)
	x[40] = 3
	e, err := NewEncoder(even, MXFP4, dtype.F32, EncodeOptions{NonFinite: Saturate})
	if err != nil {
		t.Fatal(err)
	}
	codes, scales := make([]byte, 32), make([]byte, 2)
	rep, err := e.Encode(codes, scales, bytesOf(dtype.F32, x), 1, 64)
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{0xA7, 0xF7, 0x10}; !bytes.Equal(codes[:3], want) || scales[0] != 127 || rep.NonFinite != 3 {
		t.Errorf("saturate: %x scale %d, %+v; want %x", codes[:3], scales[0], rep, want)
	}
	if codes[20] != 0x07 { // 3 with scale 126
		t.Errorf("saturate: the next block has %x", codes[16:])
	}

	e, _ = NewEncoder(even, MXFP4, dtype.F32, EncodeOptions{NonFinite: NaNBlock})
	rep, err = e.Encode(codes, scales, bytesOf(dtype.F32, x), 1, 64)
	if err != nil {
		t.Fatal(err)
	}
	if scales[0] != 255 || !bytes.Equal(codes[:16], make([]byte, 16)) || scales[1] == 255 || rep.NonFinite != 3 || rep.NaNBlocks != 0 || rep.Blocks != 2 {
		t.Errorf("nan-block: %x scales %d, %+v", codes, scales, rep)
	}
	d, _ := NewDecoder(MXFP4, dtype.F32, DecodeOptions{})
	out := make([]byte, 256)
	if err := d.Decode(out, codes, scales, 1, 64); err != nil {
		t.Fatal(err)
	}
	var v [64]float32
	load(v[:], dtype.F32, out)
	for i := range 32 {
		if v[i] == v[i] {
			t.Errorf("nan-block: element %d is read as %v", i, v[i])
		}
	}
	if v[40] != 3 {
		t.Errorf("nan-block: the next block is read as %v", v[40])
	}

	// what a system leaves undefined stays refused
	triton, _ := SchemeNamed("triton")
	e, _ = NewEncoder(triton, MXFP4, dtype.F32, EncodeOptions{NonFinite: AsSystem})
	if _, err := e.Encode(codes[:16], scales[:1], bytesOf(dtype.F32, row(32, nan32)), 1, 32); !errors.Is(err, ErrNonFinite) {
		t.Errorf("triton with NaN: %v", err)
	}
}

// Our own schemes never write 255 and lose nothing, from the least to the
// largest float32.
func TestPlainSchemesKeepToTheRange(t *testing.T) {
	for _, name := range []string{"floor", "even", "rceil", "ceil", "nearest", "mse"} {
		s, _ := SchemeNamed(name)
		for _, r := range s.Recipes {
			e, _ := NewEncoder(s, r.Format, dtype.F32, EncodeOptions{})
			codes, scales := make([]byte, r.Format.CodeBytes(32)), make([]byte, 1)
			maxima(func(x float32) {
				if math.Float32bits(x)&0x7FFFF > 1 && math.Float32bits(x) < 0x7F000000 {
					return
				}
				rep, err := e.Encode(codes, scales, bytesOf(dtype.F32, row(32, x)), 1, 32)
				if err != nil || scales[0] == 255 || rep.NaNBlocks+rep.LostBlocks != 0 {
					t.Fatalf("%s %s of %v: scale %d, %+v, %v", name, r.Format, x, scales[0], rep, err)
				}
			})
		}
	}
}

// A scheme whose system writes 255 for finite input is followed to the byte,
// and the report counts and names the blocks.
func TestFaultCompressedTensors832NaNScales(t *testing.T) {
	x := make([]float32, 32*5)
	x[2*32+7], x[4*32] = fromBF16(0x7F60), fromBF16(0x7F7F)
	x[1*32] = fromBF16(0x7F5F) // just below
	for name, want := range map[string]Report{
		"torchao-even":       {Blocks: 5, ZeroBlocks: 2, NaNBlocks: 2, FirstNaN: 2},
		"aiter-even":         {Blocks: 5, ZeroBlocks: 2, NaNBlocks: 2, FirstNaN: 2},
		"compressed-tensors": {Blocks: 5, ZeroBlocks: 2, LostBlocks: 2, FirstLost: 2, Clipped: 1},
		"even":               {Blocks: 5, ZeroBlocks: 2, Clipped: 1},
		"torchao-even-0.18":  {Blocks: 5, ZeroBlocks: 2, Clipped: 1},
	} {
		if name == "torchao-even" || name == "aiter-even" {
			want.Clipped = 1
		}
		s, _ := SchemeNamed(name)
		e, _ := NewEncoder(s, MXFP4, dtype.BF16, EncodeOptions{})
		scales := make([]byte, 5)
		got, err := e.Encode(make([]byte, 5*16), scales, bytesOf(dtype.BF16, x), 5, 32)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
		if n := bytes.Count(scales, []byte{255}); int64(n) != want.NaNBlocks {
			t.Errorf("%s: %d scales of 255 and %d counted", name, n, want.NaNBlocks)
		}
	}
	// joined reports keep the place
	var all Report
	all.Add(Report{Blocks: 5}, 0)
	all.Add(Report{Blocks: 5, NaNBlocks: 2, FirstNaN: 3}, 5)
	all.Add(Report{Blocks: 5, NaNBlocks: 1, FirstNaN: 0}, 10)
	if all.FirstNaN != 8 || all.NaNBlocks != 3 || all.Blocks != 15 {
		t.Errorf("joined: %+v", all)
	}
}

// What wraps in ggml and MLX is counted.
func TestWrappedScalesAreCounted(t *testing.T) {
	for _, name := range []string{"ggml", "gguf", "mlx", "mlx-0.32.1"} {
		s, _ := SchemeNamed(name)
		e, _ := NewEncoder(s, MXFP4, dtype.BF16, EncodeOptions{})
		scales := make([]byte, 2)
		x := row(64, 1)
		x[32] = float32(math.Ldexp(1, -130))
		rep, err := e.Encode(make([]byte, 32), scales, bytesOf(dtype.BF16, x), 1, 64)
		if err != nil || rep.LostBlocks != 1 || rep.FirstLost != 1 || scales[1] < 248 {
			t.Errorf("%s: scales %d, %+v, %v", name, scales, rep, err)
		}
	}
}

// The sign of zero, by policy.
func TestSigns(t *testing.T) {
	minus := float32(math.Copysign(0, -1))
	vanishing := float32(math.Ldexp(-1, -140)) // 2^-144 after division by 2^4: 0 in bf16, not in float32
	x := []float32{96, minus, -0.1, 0, 0.1, vanishing}
	for signs, want := range map[Signs]string{
		SignsDropped: "700000", SignsKept: "788008", SignsTiny: "708008", SignsMinus: "788808",
	} {
		r := &Recipe{Format: MXFP4, Rule: Floor, Signs: signs}
		var b block
		b.x, b.codes, b.source = x, b.room[:len(x)], dtype.F32
		s := r.scaleOf(&b, b.finiteMax())
		r.encode(&b, s.exp)
		got := ""
		for _, c := range b.codes {
			got += string("0123456789ABCDEF"[c])
		}
		if got != want {
			t.Errorf("%s: %s, want %s", signs, got, want)
		}
	}
	tiny := &Recipe{Format: MXFP4, Rule: Floor, Signs: SignsTiny}
	if tiny.keepsSign(vanishing, math.Ldexp(1, -144), dtype.BF16) || !tiny.keepsSign(vanishing, math.Ldexp(1, -144), dtype.F32) {
		t.Error("a quotient that vanishes in the input's type keeps its sign")
	}
}

func TestShapesAreChecked(t *testing.T) {
	s, _ := SchemeNamed("even")
	e, _ := NewEncoder(s, MXFP4, dtype.BF16, EncodeOptions{})
	d, _ := NewDecoder(MXFP4, dtype.BF16, DecodeOptions{})
	for _, c := range []struct{ codes, scales, src, rows, k int }{
		{16, 1, 64, 1, 31}, {16, 1, 64, 1, -32}, {16, 1, 64, -1, 32}, {15, 1, 64, 1, 32}, {16, 2, 64, 1, 32}, {16, 1, 63, 1, 32},
		{16, 1, 64, math.MaxInt, 32}, {16, 1, 64, 1 << 40, 1 << 40}, {0, 0, 0, 1, math.MaxInt &^ 31},
	} {
		if _, err := e.Encode(make([]byte, c.codes), make([]byte, c.scales), make([]byte, c.src), c.rows, c.k); !errors.Is(err, ErrShape) {
			t.Errorf("encode %+v: %v", c, err)
		}
		if err := d.Decode(make([]byte, c.src), make([]byte, c.codes), make([]byte, c.scales), c.rows, c.k); !errors.Is(err, ErrShape) {
			t.Errorf("decode %+v: %v", c, err)
		}
	}
	for _, k := range []int{0, 32} {
		if _, err := e.Encode(nil, nil, nil, 0, k); err != nil {
			t.Errorf("no rows of %d: %v", k, err)
		}
	}
	if _, err := NewEncoder(s, NVFP4, dtype.BF16, EncodeOptions{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("even for NVFP4: %v", err)
	}
	if _, err := NewEncoder(s, MXFP4, dtype.I8, EncodeOptions{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("I8: %v", err)
	}
	if _, err := NewDecoder(Format(99), dtype.BF16, DecodeOptions{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("format 99: %v", err)
	}
	modelopt, _ := SchemeNamed("modelopt")
	for _, bad := range []float32{0, -1, nan32, inf32} {
		if _, err := NewEncoder(modelopt, NVFP4, dtype.BF16, EncodeOptions{TensorScale: bad}); err == nil {
			t.Errorf("tensor scale %v passes", bad)
		}
	}
}

// A block that the scheme loses is lost whatever NaN and infinity beside its
// numbers become, and is reported with its place.
func TestSaturateReportsLostBlocks(t *testing.T) {
	top, tiny := fromBF16(0x7F7F), float32(math.Ldexp(1, -128))
	for _, c := range []struct {
		scheme string
		x      float32
		want   Report
		scale  byte
	}{
		{"torchao-even", top, Report{NaNBlocks: 2, FirstNaN: 1}, 255},
		{"aiter-even", top, Report{NaNBlocks: 2, FirstNaN: 1}, 255},
		{"compressed-tensors", top, Report{LostBlocks: 2, FirstLost: 1}, 127},
		{"compressed-tensors-gpu", top, Report{LostBlocks: 2, FirstLost: 1}, 127},
		{"ggml", tiny, Report{LostBlocks: 2, FirstLost: 1}, 253},
		{"even", fromBF16(0x7F5F), Report{Clipped: 2}, 252},
	} {
		s, _ := SchemeNamed(c.scheme)
		e, err := NewEncoder(s, MXFP4, dtype.BF16, EncodeOptions{NonFinite: Saturate})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 32*4)
		x[0], x[32], x[33], x[96], x[97] = 1, c.x, -inf32, nan32, c.x
		x[64] = inf32 // no number beside it: not a block of zeros
		c.want.Blocks, c.want.NonFinite = 4, 3
		for _, name := range []string{e.Implementation(), Reference} {
			e, _ := e.With(name)
			scales := make([]byte, 4)
			got, err := e.Encode(make([]byte, 4*16), scales, bytesOf(dtype.BF16, x), 1, 128)
			if err != nil || got != c.want || scales[1] != c.scale {
				t.Errorf("%s by %s: %+v scales %d, %v; want %+v", c.scheme, name, got, scales, err, c.want)
			}
		}
	}
}

// What names no policy, scheme, rule or layout is refused or told, never a panic.
func TestOutOfRange(t *testing.T) {
	s, _ := SchemeNamed("even")
	if _, err := NewEncoder(s, MXFP4, dtype.BF16, EncodeOptions{NonFinite: 77}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("policy 77: %v", err)
	}
	if _, err := NewEncoder(nil, MXFP4, dtype.BF16, EncodeOptions{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("no scheme: %v", err)
	}
	for got, want := range map[string]string{
		NonFinite(77).String(): "NonFinite(77)", Signs(9).String(): "Signs(9)", ScaleRule(99).String(): "ScaleRule(99)",
		ScaleRule(0).String(): "ScaleRule(0)", Tie(3).String(): "Tie(3)", Swizzle(9).String(): "Swizzle(9)",
		Layout(99).String(): "Layout(99)", Layout(98).Info().Name: "Layout(98)", Format(99).String(): "Format(99)",
		Element(99).String(): "invalid", NaNBlock.String(): "nan-block", TieZero.String(): "toward zero",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Rows × blocks that overflow are refused, also where the product is again what
// the empty buffers have.
func TestShapesDoNotWrap(t *testing.T) {
	s, _ := SchemeNamed("even")
	for _, source := range []dtype.Type{dtype.BF16, dtype.F32} {
		e, _ := NewEncoder(s, MXFP4, source, EncodeOptions{})
		d, _ := NewDecoder(MXFP4, source, DecodeOptions{})
		for _, c := range [][2]int{{1 << 62, 32 * 4}, {1 << 60, 32 * 16}, {1 << 32, 1 << 37}, {1 << 58, 32}, {math.MaxInt/32 + 1, 1 << 10}} {
			if _, err := e.Encode(nil, nil, nil, c[0], c[1]); !errors.Is(err, ErrShape) {
				t.Errorf("encode %d rows of %d: %v", c[0], c[1], err)
			}
			if _, err := e.EncodeParallel(nil, nil, nil, c[0], c[1], 2); !errors.Is(err, ErrShape) {
				t.Errorf("encode %d rows of %d in parallel: %v", c[0], c[1], err)
			}
			if err := d.Decode(nil, nil, nil, c[0], c[1]); !errors.Is(err, ErrShape) {
				t.Errorf("decode %d rows of %d: %v", c[0], c[1], err)
			}
		}
	}
}
