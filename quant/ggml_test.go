package quant

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ckpt/dtype"
)

// ggufGolden reads blocks and values by gguf 0.19.0 and, below ggml/, by ggml
// 0.25.3 where that package has no coder.
func ggufGolden(t *testing.T) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader("testdata/gguf_golden.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if out[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func f32s(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	load(x, dtype.F32, b)
	return x
}

// sameBits compares values; any NaN equals any NaN unless exact.
func sameBits(a, b float32, exact bool) bool {
	return math.Float32bits(a) == math.Float32bits(b) || !exact && a != a && b != b
}

func TestGGMLGoldenDecode(t *testing.T) {
	files, seen := ggufGolden(t), 0
	for name, blocks := range files {
		path, ok := strings.CutSuffix(name, ".blocks.bin")
		if !ok {
			continue
		}
		seen++
		t.Run(path, func(t *testing.T) {
			typ, ok := dtype.ParseGGML(strings.TrimPrefix(path, "ggml/"))
			if !ok {
				t.Fatal("no such type")
			}
			want := f32s(files[path+".f32.bin"])
			got := make([]float32, len(want))
			if err := DecodeGGML(typ, got, blocks); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if !sameBits(got[i], want[i], true) {
					t.Fatalf("element %d of block %d: %x, want %x", i%typ.Block(), i/typ.Block(), math.Float32bits(got[i]), math.Float32bits(want[i]))
				}
			}
		})
	}
	if seen != 29 {
		t.Errorf("%d types decoded, 29 expected", seen)
	}
}

func TestGGMLGoldenEncode(t *testing.T) {
	files, seen := ggufGolden(t), 0
	for name, want := range files {
		path, ok := strings.CutSuffix(name, ".out.bin")
		if !ok || strings.Contains(name, "toscale") {
			continue
		}
		seen++
		t.Run(path, func(t *testing.T) {
			typ, ok := dtype.ParseGGML(strings.TrimPrefix(path, "ggml/"))
			if !ok {
				t.Fatal("no such type")
			}
			got := make([]byte, len(want))
			if _, err := EncodeGGML(typ, got, f32s(files[path+".in.f32.bin"])); err != nil {
				t.Fatal(err)
			}
			size := typ.BlockBytes()
			for i := 0; i < len(want); i += size {
				block := bytes.Clone(want[i : i+size])
				if i == size && (typ == dtype.Q4_0 || typ == dtype.Q5_0) {
					block[1] = 0x80 // a block of -0: the package has +0 for a scale, ggml -0
				}
				if !bytes.Equal(got[i:i+size], block) {
					t.Fatalf("block %d: %x, want %x", i/size, got[i:i+size], block)
				}
			}
		})
	}
	if seen != 15 {
		t.Errorf("%d types encoded, 15 expected", seen)
	}
}

func TestGGMLScales(t *testing.T) {
	files := ggufGolden(t)
	for i, want := range f32s(files["NVFP4.scale.f32.bin"]) {
		if got := ggmlHalfE4M3(byte(i)); !sameBits(got, want, true) {
			t.Errorf("scale %#x is %v, want %v", i, got, want)
		}
		if got, want := float64(ggmlHalfE8M0(byte(i))), math.Ldexp(1, i-128); got != want {
			t.Errorf("E8M0 %d is %v, want %v", i, got, want)
		}
	}
	for i, x := range f32s(files["NVFP4.toscale.in.f32.bin"]) {
		if got, want := ggmlE4M3(x), files["NVFP4.toscale.out.bin"][i]; got != want {
			t.Errorf("%v becomes %#x, want %#x", x, got, want)
		}
	}
	for i := range 1 << 16 {
		if a, b := fastHalf(uint16(i)), fromF16(uint16(i)); !sameBits(a, b, true) {
			t.Fatalf("half %#x is %v, want %v", i, a, b)
		}
	}
}

// The codebooks are sets: no entry occurs twice, as an index that was read wrong
// would have it.
func TestGGMLGrids(t *testing.T) {
	for _, c := range []struct {
		name            string
		grid            *grid
		entries, length int
	}{
		{"IQ1_S", gridIQ1S(), 2048, 8}, {"IQ2_XXS", gridIQ2XXS(), 256, 8}, {"IQ2_XS", gridIQ2XS(), 512, 8},
		{"IQ2_S", gridIQ2S(), 1024, 8}, {"IQ3_XXS", gridIQ3XXS(), 256, 4}, {"IQ3_S", gridIQ3S(), 512, 4},
	} {
		seen := map[string]bool{}
		for i := range c.entries {
			seen[fmt.Sprint(c.grid.entry(i))] = true
		}
		if len(seen) != c.entries || c.grid.length != c.length || len(c.grid.values) != c.entries*c.length {
			t.Errorf("%s: %d different entries of %d values, want %d of %d", c.name, len(seen), c.grid.length, c.entries, c.length)
		}
	}
	for i := range uint32(128) {
		if b := ggmlSigns(i); b&127 != byte(i) || onesOf(b)%2 != 0 {
			t.Errorf("signs of %d are %#x", i, b)
		}
	}
}

func onesOf(b byte) (n int) {
	for ; b != 0; b &= b - 1 {
		n++
	}
	return n
}

// Decoders of many blocks give what those of one block give, on any bytes.
func TestGGMLFastDecoders(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for typ := range ggmlTypes {
		if ggmlTypes[typ].run == nil {
			continue
		}
		typ := dtype.Type(typ)
		for blocks := range 70 {
			src := make([]byte, blocks*typ.BlockBytes())
			for i := range src {
				src[i] = byte(rng.Uint32())
			}
			got, want := make([]float32, blocks*typ.Block()), make([]float32, typ.Block())
			if err := DecodeGGML(typ, got, src); err != nil {
				t.Fatal(err)
			}
			for i := range blocks {
				ggmlTypes[typ].decode(want, src[i*typ.BlockBytes():(i+1)*typ.BlockBytes()])
				for j := range want {
					if g := got[i*typ.Block()+j]; !sameBits(g, want[j], false) {
						t.Fatalf("%s, block %d of %d, element %d: %v, want %v", typ, i, blocks, j, g, want[j])
					}
				}
			}
		}
	}
}

// Comparing with the middles gives what the search for the least distance gives.
func TestGGMLNearest(t *testing.T) {
	check := func(x, d float32) {
		if got, want := ggmlNearest(x, d), ggmlBest(x, d); got != want && abs(x) <= 16*d && !isInf(12*d) {
			t.Fatalf("%v (%#x) in steps of %v (%#x): code %d, want %d", x, math.Float32bits(x), d, math.Float32bits(d), got, want)
		}
	}
	rng := rand.New(rand.NewPCG(6, 2))
	for i := range 256 {
		for _, d := range []float32{ggmlHalfE8M0(byte(i)), ggmlHalfE4M3(byte(i))} {
			for _, m := range ggmlMiddles {
				at := math.Float32bits(m * d)
				for b := max(at, 3) - 3; b < at+4; b++ {
					check(math.Float32frombits(b), d)
					check(-math.Float32frombits(b), d)
				}
			}
			for range 2000 {
				check((rng.Float32()*32-16)*d, d)
			}
		}
	}
}

func TestGGMLRefuses(t *testing.T) {
	if err := DecodeGGML(dtype.C64, nil, nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("C64: %v", err)
	}
	if err := DecodeGGML(dtype.Type(255), nil, nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("no type: %v", err)
	}
	if _, err := EncodeGGML(dtype.Q4_K, nil, nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Q4_K: %v", err)
	}
	if _, err := EncodeGGMLAs(dtype.Q4_0, nil, nil, Saturate); !errors.Is(err, ErrUnsupported) {
		t.Errorf("saturate: %v", err)
	}
	for _, n := range []int{1, 31, 33, 63} {
		if _, err := EncodeGGML(dtype.Q4_0, make([]byte, 18), make([]float32, n)); !errors.Is(err, ErrShape) {
			t.Errorf("%d elements: %v", n, err)
		}
	}
	if err := DecodeGGML(dtype.Q4_0, make([]float32, 32), make([]byte, 17)); !errors.Is(err, ErrShape) {
		t.Errorf("17 bytes: %v", err)
	}
	x := make([]float32, 64)
	x[40], x[50] = float32(math.NaN()), float32(math.Inf(-1))
	_, err := EncodeGGML(dtype.Q8_0, make([]byte, 68), x)
	var at *NonFiniteError
	if !errors.As(err, &at) || at.Index != 40 {
		t.Errorf("NaN at 40: %v", err)
	}
	for _, typ := range []dtype.Type{dtype.F32, dtype.F16, dtype.BF16} {
		if rep, err := EncodeGGML(typ, make([]byte, 64*typ.BlockBytes()), x); err != nil || rep.NonFinite != 2 {
			t.Errorf("%s keeps NaN and infinity: %v, %+v", typ, err, rep)
		}
	}
}

// A scale beyond F16 makes a block that no number can be read from; it is not
// written in silence (compressed-tensors 832: checkpoints with NaN scales).
func TestFaultGGMLScaleOverflows(t *testing.T) {
	for typ := range ggmlTypes {
		typ := dtype.Type(typ)
		if !GGMLEncodes(typ) || typ.Block() == 1 || typ == dtype.MXFP4 || typ == dtype.NVFP4 || typ == dtype.Q8_K {
			continue
		}
		x := make([]float32, 3*typ.Block())
		for i := range x[typ.Block() : 2*typ.Block()] {
			x[typ.Block()+i] = 1e30
		}
		x[len(x)-1] = 1
		rep, err := EncodeGGML(typ, make([]byte, 3*typ.BlockBytes()), x)
		if err != nil || rep.NaNBlocks != 1 || rep.FirstNaN != 1 || rep.ZeroBlocks != 1 || rep.Blocks != 3 {
			t.Errorf("%s: %v, %+v", typ, err, rep)
		}
	}
}

// Beside the largest float32 the logarithm rounds to 128, and the doubled values
// 8 and 12 overflow: ggml's search gives 3 at most. The scheme has the same bytes.
func TestGGMLTop(t *testing.T) {
	x := row(32, math.MaxFloat32, -math.MaxFloat32, math.MaxFloat32/2, math.MaxFloat32/4, 1)
	block := make([]byte, 17)
	if _, err := EncodeGGML(dtype.MXFP4, block, x); err != nil {
		t.Fatal(err)
	}
	if want := []byte{253, 5, 13, 4, 2}; !bytes.Equal(block[:5], want) {
		t.Errorf("block %d, want %d", block[:5], want)
	}
	for _, name := range []string{"ggml", "gguf"} {
		s, _ := SchemeNamed(name)
		e, err := NewEncoder(s, MXFP4, dtype.F32, EncodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		codes, scale := make([]byte, 16), make([]byte, 1)
		if _, err := e.Encode(codes, scale, bytesOf(dtype.F32, x), 1, 32); err != nil {
			t.Fatal(err)
		}
		if scale[0] != 253 || codes[0] != 0xD5 || codes[1] != 0x24 {
			t.Errorf("scheme %s: scale %d, codes %x", name, scale[0], codes[:3])
		}
	}
}

// Quantizing what was read from a file changes no value of the formats whose
// scale is a power of two.
func TestGGMLMXFP4Again(t *testing.T) {
	files := ggufGolden(t)
	first := files["MXFP4.out.bin"]
	x, y := make([]float32, len(first)/17*32), make([]float32, len(first)/17*32)
	again := make([]byte, len(first))
	if err := errors.Join(DecodeGGML(dtype.MXFP4, x, first)); err != nil {
		t.Fatal(err)
	}
	if _, err := EncodeGGML(dtype.MXFP4, again, x); err != nil {
		t.Fatal(err)
	}
	if err := DecodeGGML(dtype.MXFP4, y, again); err != nil {
		t.Fatal(err)
	}
	for i := range x {
		if x[i] != y[i] {
			t.Fatalf("element %d was %v and is %v", i, x[i], y[i])
		}
	}
}

// Any bytes decode, to the same values whole or block by block.
func FuzzGGMLDecode(f *testing.F) {
	for typ := range ggmlTypes {
		f.Add(uint8(typ), bytes.Repeat([]byte{0xFF, 0x7F, 0x80, 1}, 80))
	}
	f.Fuzz(func(t *testing.T, typ uint8, src []byte) {
		kind := dtype.Type(typ)
		if !GGMLDecodes(kind) {
			if DecodeGGML(kind, nil, src) == nil {
				t.Fatal("accepted")
			}
			return
		}
		blocks := len(src) / kind.BlockBytes()
		src = src[:blocks*kind.BlockBytes()]
		whole, one := make([]float32, blocks*kind.Block()), make([]float32, kind.Block())
		if err := DecodeGGML(kind, whole, src); err != nil {
			t.Fatal(err)
		}
		for i := range blocks {
			if err := DecodeGGML(kind, one, src[i*kind.BlockBytes():][:kind.BlockBytes()]); err != nil {
				t.Fatal(err)
			}
			for j, x := range one {
				if !sameBits(x, whole[i*kind.Block()+j], false) {
					t.Fatalf("block %d, element %d: %v and %v", i, j, x, whole[i*kind.Block()+j])
				}
			}
		}
	})
}

// Any numbers encode or are refused; what was encoded decodes, and to finite
// values unless the report says otherwise.
func FuzzGGMLEncode(f *testing.F) {
	f.Add(uint8(dtype.Q4_0), bytes.Repeat([]byte{0, 0, 128, 63}, 64))
	f.Fuzz(func(t *testing.T, typ uint8, src []byte) {
		kind := dtype.Type(typ)
		if !GGMLEncodes(kind) {
			return
		}
		n := len(src) / 4 / kind.Block() * kind.Block()
		x := f32s(src[:4*n])
		dst := make([]byte, n/kind.Block()*kind.BlockBytes())
		rep, err := EncodeGGMLAs(kind, dst, x, AsSystem)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := EncodeGGML(kind, dst, x); kind.Block() > 1 && (err != nil) != (rep.NonFinite > 0) {
			t.Fatalf("%d NaN or infinite, error %v", rep.NonFinite, err)
		}
		if err := DecodeGGML(kind, x, dst); err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			if v-v != 0 && rep.NonFinite+rep.NaNBlocks == 0 && kind.Block() > 1 {
				t.Fatalf("element %d of finite input decodes as %v", i, v)
			}
		}
	})
}

func BenchmarkGGMLDecode(b *testing.B) {
	for typ := range ggmlTypes {
		typ := dtype.Type(typ)
		if !GGMLDecodes(typ) || typ.Block() == 1 {
			continue
		}
		b.Run(typ.String(), func(b *testing.B) {
			n := 1 << 18
			src, dst := make([]byte, n/typ.Block()*typ.BlockBytes()), make([]float32, n)
			for i := range len(src) / 8 {
				binary.LittleEndian.PutUint64(src[8*i:], uint64(i)*0x9E3779B97F4A7C15&0xBBFFBBFFBBFFBBFF)
			}
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				if err := DecodeGGML(typ, dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Maxima below 2^-125 wrap the byte of MXFP4; 255 is no number to others.
func TestGGMLMXFP4Wraps(t *testing.T) {
	x := make([]float32, 32*5)
	x[0] = 1
	x[32] = float32(math.Ldexp(1, -126))
	x[64] = float32(math.Ldexp(-1.5, -127))
	x[96] = float32(math.Ldexp(1, -125))
	dst := make([]byte, 17*5)
	rep, err := EncodeGGML(dtype.MXFP4, dst, x)
	want := Report{Blocks: 5, ZeroBlocks: 1, NaNBlocks: 1, FirstNaN: 1, LostBlocks: 2, FirstLost: 1}
	if err != nil || rep != want || dst[17] != 255 || dst[34] != 254 || dst[51] != 0 {
		t.Errorf("scales %d %d %d, %+v, %v; want %+v", dst[17], dst[34], dst[51], rep, err, want)
	}
}
