package dtype

import (
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// safetensorsBits are the bits an element takes, from the specification.
var safetensorsBits = map[string]int{
	"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
	"F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
	"I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}

// ggmlBlocks are number, elements a block and bytes a block, from the
// specification of GGUF.
var ggmlBlocks = []struct {
	name               string
	number             uint32
	elements, byteSize int
}{
	{"F32", 0, 1, 4}, {"F16", 1, 1, 2}, {"Q4_0", 2, 32, 18}, {"Q4_1", 3, 32, 20}, {"Q5_0", 6, 32, 22},
	{"Q5_1", 7, 32, 24}, {"Q8_0", 8, 32, 34}, {"Q8_1", 9, 32, 36}, {"Q2_K", 10, 256, 84},
	{"Q3_K", 11, 256, 110}, {"Q4_K", 12, 256, 144}, {"Q5_K", 13, 256, 176}, {"Q6_K", 14, 256, 210},
	{"Q8_K", 15, 256, 292}, {"IQ2_XXS", 16, 256, 66}, {"IQ2_XS", 17, 256, 74}, {"IQ3_XXS", 18, 256, 98},
	{"IQ1_S", 19, 256, 50}, {"IQ4_NL", 20, 32, 18}, {"IQ3_S", 21, 256, 110}, {"IQ2_S", 22, 256, 82},
	{"IQ4_XS", 23, 256, 136}, {"I8", 24, 1, 1}, {"I16", 25, 1, 2}, {"I32", 26, 1, 4}, {"I64", 27, 1, 8},
	{"F64", 28, 1, 8}, {"IQ1_M", 29, 256, 56}, {"BF16", 30, 1, 2}, {"TQ1_0", 34, 256, 54},
	{"TQ2_0", 35, 256, 66}, {"MXFP4", 39, 32, 17}, {"NVFP4", 40, 64, 36}, {"Q1_0", 41, 128, 18},
	{"Q2_0", 42, 64, 18},
}

func TestSafetensorsTypes(t *testing.T) {
	n := 0
	for typ := Invalid; int(typ) <= Count; typ++ {
		if !typ.Safetensors() {
			continue
		}
		n++
		if want := safetensorsBits[typ.String()]; typ.Bits() != want || typ.Block() != 1 {
			t.Errorf("%v: %d bits a block of %d, want %d of 1", typ, typ.Bits(), typ.Block(), want)
		}
		if got, ok := Parse(typ.String()); !ok || got != typ {
			t.Errorf("Parse(%q) = %v, %v", typ, got, ok)
		}
		if got, ok := ParseBytes([]byte(typ.String())); !ok || got != typ {
			t.Errorf("ParseBytes(%q) = %v, %v", typ, got, ok)
		}
	}
	if n != len(safetensorsBits) {
		t.Errorf("%d types, want %d", n, len(safetensorsBits))
	}
	for _, name := range []string{"", "f32", "F8_E4M3FN", "float32", "Q4_0", "MXFP4", "invalid", "U4"} {
		if typ, ok := Parse(name); ok {
			t.Errorf("Parse(%q) = %v", name, typ)
		}
	}
}

func TestGGMLTypes(t *testing.T) {
	known := map[uint32]bool{}
	for _, row := range ggmlBlocks {
		known[row.number] = true
		typ, ok := FromGGML(row.number)
		if !ok || typ.String() != row.name || typ.Block() != row.elements || typ.BlockBytes() != row.byteSize {
			t.Errorf("FromGGML(%d) = %v (%d, %d), %v; want %s (%d, %d)", row.number, typ, typ.Block(),
				typ.BlockBytes(), ok, row.name, row.elements, row.byteSize)
		}
		if got, ok := ParseGGML(row.name); !ok || got != typ {
			t.Errorf("ParseGGML(%q) = %v, %v", row.name, got, ok)
		}
		if n, ok := typ.GGML(); !ok || n != row.number {
			t.Errorf("%v.GGML() = %d, %v", typ, n, ok)
		}
	}
	for n := range uint32(1000) {
		if typ, ok := FromGGML(n); ok != known[n] {
			t.Errorf("FromGGML(%d) = %v, %v", n, typ, ok)
		}
		if RemovedGGML(n) && known[n] {
			t.Errorf("%d is both removed and known", n)
		}
	}
}

func TestSizeAgainstBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := Type(rapid.IntRange(1, Count).Draw(t, "type"))
		shape := rapid.SliceOfN(rapid.OneOf(rapid.Uint64Range(0, 4096), rapid.Uint64()), 0, 5).Draw(t, "shape")
		got, err := typ.Size(shape)

		limit := new(big.Int).Lsh(big.NewInt(1), 64)
		n := big.NewInt(1)
		for _, d := range shape {
			n.Mul(n, new(big.Int).SetUint64(d))
			if n.Cmp(limit) >= 0 {
				if !errors.Is(err, ErrOverflow) {
					t.Fatalf("%v %v: %d, %v; want an overflow", typ, shape, got, err)
				}
				return
			}
		}
		if block := uint64(typ.Block()); block > 1 && (len(shape) == 0 || shape[len(shape)-1]%block != 0) {
			if !errors.Is(err, ErrBlock) {
				t.Fatalf("%v %v: %d, %v; want a row that is cut", typ, shape, got, err)
			}
			return
		}
		n.Div(n, big.NewInt(int64(typ.Block())))
		n.Mul(n, big.NewInt(int64(typ.Bits())))
		if n.Cmp(limit) >= 0 {
			if !errors.Is(err, ErrOverflow) {
				t.Fatalf("%v %v: %d, %v; want an overflow", typ, shape, got, err)
			}
			return
		}
		if new(big.Int).Mod(n, big.NewInt(8)).Sign() != 0 {
			if !errors.Is(err, ErrPartialByte) {
				t.Fatalf("%v %v: %d, %v; want a partial byte", typ, shape, got, err)
			}
			return
		}
		if err != nil || got != n.Uint64()/8 {
			t.Fatalf("%v %v: %d, %v; want %d", typ, shape, got, err, n.Uint64()/8)
		}
	})
}

func TestSizeOfInvalid(t *testing.T) {
	for _, typ := range []Type{Invalid, numTypes, 255} {
		if _, err := typ.Size(nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("Type(%d).Size: %v", typ, err)
		}
	}
}
