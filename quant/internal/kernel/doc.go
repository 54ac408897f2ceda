// Package kernel holds the inner loops of package quant: 16-bit integer forms of
// its rules, in portable Go and in assembly. Best() is the fastest Set that this
// processor runs; Sets() lists all of them, the portable one last, which is the
// reference of the others.
//
// # Layout
//
// A block is 32 elements. Numbers are bf16 words, codes of four bits lie two to
// a byte (the first in the low nibble), codes of eight bits one to a byte, scales
// one byte a block. Wider numbers are first narrowed to bf16 with a sticky last
// bit (see Set.NarrowF32), which keeps every comparison that a rule makes.
//
// # Limits
//
// The integer form of a rule holds for a range of scale bytes. A block outside
// of it, or with NaN or infinity, is left to the caller: encoders mark its scale
// with Redo, decoders stop before it.
package kernel

//go:generate go -C ../gen run . -pkg kernel -out ../kernel/avx2_amd64.s -stubs ../kernel/avx2_amd64.go
