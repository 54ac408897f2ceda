package kernel

import "unsafe"

// Block is the number of elements that share a scale.
const Block = 32

// Redo is the scale byte that an encoder leaves where it did not encode a block.
// No rule gives it for a block that an encoder does encode.
const Redo = 0xFF

// Rule is a scheme in integers. The scale byte of a block whose largest
// magnitude has the bf16 bits m is
//
//	(m+Add)>>7 - Sub
//
// and the block is encoded if m is finite and the byte within [Lo, Hi]. The
// fields are read by assembly: their order and types stay.
type Rule struct {
	Add, Sub uint16
	Lo, Hi   uint16 // 3…254 at most for E2M1, 11…246 for E4M3, 17…239 for E5M2
	// TieOdd and TieAll are the rule of ties of E2M1: a value halfway between
	// codes goes up where the lower code is odd, or always. TieOdd excludes TieAll.
	TieOdd, TieAll uint16 // 0 or 1
	// ZeroDrop clears the sign of an input of exactly zero, ZeroSet sets it.
	ZeroDrop, ZeroSet uint16 // 0 or 0xFFFF
	// CodeDrop clears the sign of every element whose code is zero.
	CodeDrop uint16 // 0 or 0xFFFF
	_        [7]uint16
	signs    [16]byte // E2M1: what a code with its sign becomes; see Seal
}

// Seal computes what follows from the other fields; it must come last.
func (r Rule) Seal() *Rule {
	for i := range r.signs {
		r.signs[i] = byte(i)
	}
	if r.CodeDrop != 0 {
		r.signs[8] = 0
	}
	return &r
}

// zeros says whether exact zeros need their own look.
func (r *Rule) zeros() bool { return r.ZeroDrop|r.ZeroSet != 0 }

// Counts is what an encoder saw.
type Counts struct {
	Redo    int // blocks left to the caller
	Clipped int // elements beyond the largest code, in the other blocks
}

// A Set is one implementation of every loop. Lengths are in blocks where not
// said otherwise; sources are little-endian and need no alignment.
type Set struct {
	Name string

	// EncodeE2M1 and the others encode len(scales) blocks of bf16.
	EncodeE2M1, EncodeE4M3, EncodeE5M2 func(codes, scales, src []byte, r *Rule) Counts

	// DecodeE2M1 and the others decode blocks to bf16 up to the first whose
	// numbers are not all normal bf16 or zero, and give the number of blocks done.
	DecodeE2M1, DecodeE4M3, DecodeE5M2 func(dst, codes, scales []byte) int

	// NarrowF32 and NarrowF16 give for each number the bf16 toward zero, with the
	// last bit set where that lost something: a map that keeps the order, and apart
	// what lies on, above and below a number of at most seven significant bits,
	// the last bit of bf16 being zero. NaN stays some NaN.
	NarrowF32, NarrowF16 func(dst, src []byte)

	// WidenBF16 gives float32, exactly.
	WidenBF16 func(dst, src []byte)

	// Split turns blocks of 16 bytes with consecutive nibbles into ggml's order,
	// byte j holding elements j and j+16; Join is its inverse. dstStride and
	// srcStride are the distances between blocks.
	Split, Join func(dst, src []byte, dstStride, srcStride, blocks int)

	// Errors sums over the pairs of x and y, four by four: see Sums.
	Errors func(s *Sums, x, y []float32)

	// Beyond counts, in len(limits) blocks of x, elements whose magnitude has
	// bits above those of the block's limit, and blocks whose every element is zero.
	Beyond func(limits []uint32, x []float32) (above, zeros int)
}

// Sums are the sums of a measure. Element i of a chunk is added to lane i%4, in
// order, in float64: every Set gives the same bits. A chunk with NaN or infinity
// leaves a sum that is not finite. The fields are read by assembly.
type Sums struct {
	XX, YY, XY, EE, AbsE, MaxE [4]float64 // e = x - y
}

// Total is the sum of the lanes, in a fixed order.
func Total(lanes *[4]float64) float64 { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) }

// Max is the largest lane.
func Max(lanes *[4]float64) float64 { return max(lanes[0], lanes[1], lanes[2], lanes[3]) }

// word is bf16 bits, little-endian.
func word(b []byte, i int) uint16 { return uint16(b[2*i]) | uint16(b[2*i+1])<<8 }

func putWord(b []byte, i int, w uint16) { b[2*i], b[2*i+1] = byte(w), byte(w>>8) }

// first is the address of the first byte. Assembly alone takes it.
func first(b []byte) *byte { return unsafe.SliceData(b) }

// Bytes is the memory of f: little-endian numbers on every processor that Go
// builds this module for.
func Bytes(f []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(f))), 4*len(f))
}
