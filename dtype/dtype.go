// Package dtype is the one table of element and block types that checkpoints
// use. [Parse] turns a safetensors name into a [Type], [FromGGML] a GGML type
// number; [Type.Size] says how many bytes a shape takes, with every step
// checked for overflow.
//
// # Layout
//
// A type is described by a block: Block elements take BlockBits bits. Plain
// elements have a block of one. Safetensors' F4, F6_E2M3 and F6_E3M2 are
// sub-byte elements packed without padding, so a tensor must end on a byte.
// GGML's block types mix codes and scales; a row (the fastest dimension) is a
// whole number of blocks.
//
// # Limits
//
// Sizes are held to uint64 here. Formats with a lower bound (GGUF: int64)
// check it themselves. The package knows nothing of files.
package dtype

// Type is an element or block type. The zero value is Invalid.
type Type uint8

// The 22 types of safetensors 0.8 come first, by size; GGML's own follow, by
// GGML number.
const (
	Invalid Type = iota

	BOOL
	F4
	F6_E2M3
	F6_E3M2
	U8
	I8
	F8_E5M2
	F8_E4M3
	F8_E8M0
	F8_E4M3FNUZ
	F8_E5M2FNUZ
	I16
	U16
	F16
	BF16
	I32
	U32
	F32
	C64
	F64
	I64
	U64

	Q4_0
	Q4_1
	Q5_0
	Q5_1
	Q8_0
	Q8_1
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	Q8_K
	IQ2_XXS
	IQ2_XS
	IQ3_XXS
	IQ1_S
	IQ4_NL
	IQ3_S
	IQ2_S
	IQ4_XS
	IQ1_M
	TQ1_0
	TQ2_0
	MXFP4
	NVFP4
	Q1_0
	Q2_0

	numTypes
)

// Count is the number of valid types: they run from 1 to Count.
const Count = int(numTypes) - 1

// info is a row of the table.
type info struct {
	name  string
	block uint32 // elements a block
	bits  uint32 // bits a block
	ggml  int16  // GGML type number, -1 where GGML has none
	st    bool   // safetensors knows the name
}

// table holds the bits of safetensors' 22 dtypes and the block sizes of
// GGML's types: safetensors 0.8 and ggml of November 2026.
var table = [numTypes]info{
	Invalid: {name: "invalid", ggml: -1},

	BOOL:        {"BOOL", 1, 8, -1, true},
	F4:          {"F4", 1, 4, -1, true},
	F6_E2M3:     {"F6_E2M3", 1, 6, -1, true},
	F6_E3M2:     {"F6_E3M2", 1, 6, -1, true},
	U8:          {"U8", 1, 8, -1, true},
	I8:          {"I8", 1, 8, 24, true},
	F8_E5M2:     {"F8_E5M2", 1, 8, -1, true},
	F8_E4M3:     {"F8_E4M3", 1, 8, -1, true},
	F8_E8M0:     {"F8_E8M0", 1, 8, -1, true},
	F8_E4M3FNUZ: {"F8_E4M3FNUZ", 1, 8, -1, true},
	F8_E5M2FNUZ: {"F8_E5M2FNUZ", 1, 8, -1, true},
	I16:         {"I16", 1, 16, 25, true},
	U16:         {"U16", 1, 16, -1, true},
	F16:         {"F16", 1, 16, 1, true},
	BF16:        {"BF16", 1, 16, 30, true},
	I32:         {"I32", 1, 32, 26, true},
	U32:         {"U32", 1, 32, -1, true},
	F32:         {"F32", 1, 32, 0, true},
	C64:         {"C64", 1, 64, -1, true},
	F64:         {"F64", 1, 64, 28, true},
	I64:         {"I64", 1, 64, 27, true},
	U64:         {"U64", 1, 64, -1, true},

	Q4_0:    {"Q4_0", 32, 18 * 8, 2, false},
	Q4_1:    {"Q4_1", 32, 20 * 8, 3, false},
	Q5_0:    {"Q5_0", 32, 22 * 8, 6, false},
	Q5_1:    {"Q5_1", 32, 24 * 8, 7, false},
	Q8_0:    {"Q8_0", 32, 34 * 8, 8, false},
	Q8_1:    {"Q8_1", 32, 36 * 8, 9, false},
	Q2_K:    {"Q2_K", 256, 84 * 8, 10, false},
	Q3_K:    {"Q3_K", 256, 110 * 8, 11, false},
	Q4_K:    {"Q4_K", 256, 144 * 8, 12, false},
	Q5_K:    {"Q5_K", 256, 176 * 8, 13, false},
	Q6_K:    {"Q6_K", 256, 210 * 8, 14, false},
	Q8_K:    {"Q8_K", 256, 292 * 8, 15, false},
	IQ2_XXS: {"IQ2_XXS", 256, 66 * 8, 16, false},
	IQ2_XS:  {"IQ2_XS", 256, 74 * 8, 17, false},
	IQ3_XXS: {"IQ3_XXS", 256, 98 * 8, 18, false},
	IQ1_S:   {"IQ1_S", 256, 50 * 8, 19, false},
	IQ4_NL:  {"IQ4_NL", 32, 18 * 8, 20, false},
	IQ3_S:   {"IQ3_S", 256, 110 * 8, 21, false},
	IQ2_S:   {"IQ2_S", 256, 82 * 8, 22, false},
	IQ4_XS:  {"IQ4_XS", 256, 136 * 8, 23, false},
	IQ1_M:   {"IQ1_M", 256, 56 * 8, 29, false},
	TQ1_0:   {"TQ1_0", 256, 54 * 8, 34, false},
	TQ2_0:   {"TQ2_0", 256, 66 * 8, 35, false},
	MXFP4:   {"MXFP4", 32, 17 * 8, 39, false},
	NVFP4:   {"NVFP4", 64, 36 * 8, 40, false},
	Q1_0:    {"Q1_0", 128, 18 * 8, 41, false},
	Q2_0:    {"Q2_0", 64, 18 * 8, 42, false},
}

// String is the name of t as its specification spells it.
func (t Type) String() string { return t.info().name }

// Block is the number of elements in a block: 1 for plain elements.
func (t Type) Block() int { return int(t.info().block) }

// Bits is the number of bits a block takes: of one element where Block is 1.
func (t Type) Bits() int { return int(t.info().bits) }

// BlockBytes is the number of bytes a block takes, or 0 where a block is not
// a whole number of bytes (F4, F6_E2M3, F6_E3M2).
func (t Type) BlockBytes() int {
	if bits := t.info().bits; bits%8 == 0 {
		return int(bits / 8)
	}
	return 0
}

// Safetensors says whether t is one of the 22 dtypes of safetensors.
func (t Type) Safetensors() bool { return t.info().st }

// GGML is the GGML type number of t, and whether GGML has the type.
func (t Type) GGML() (uint32, bool) {
	n := t.info().ggml
	return uint32(max(n, 0)), n >= 0
}

func (t Type) info() *info {
	if t >= numTypes {
		t = Invalid
	}
	return &table[t]
}
