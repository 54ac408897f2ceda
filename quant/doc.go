// Package quant turns blocks of numbers into bytes and back: the microscaling
// formats (MXFP4, MXFP8, MXFP6, MXINT8), NVFP4, FP8 with block scales and
// GGML's block types. NewEncoder(scheme, format, type, options) encodes rows,
// NewDecoder(format, type, options) decodes them.
//
// # Layout
//
// A block is a run of elements along the row (the fastest dimension) that share
// one scale. Codes and scales are two arrays, row after row. Codes of four bits
// lie two to a byte, the first in the low nibble; codes of six bits four to
// three bytes, the first in the low bits; scales are one byte a block, in the
// order of the blocks. Every other layout is a permutation of this one: see
// Transcode and Swizzle.
//
// # Schemes
//
// Systems that quantize agree on the format and on little else. A Scheme is one
// system in one release: the rule of its scale, its ties, what it does with
// zero, minus zero, the ends of the range, NaN and infinity. Schemes lists
// them; each gives the very bytes of its system.
//
// # Limits
//
// A row is a whole number of blocks. NaN and infinity in the input are refused
// unless the options say otherwise. The package knows nothing of files.
//
// # Concurrency
//
// Encoders and decoders are immutable: any number of goroutines may use one on
// disjoint output.
//
// The formats are those of the OCP Microscaling Formats specification 1.0.
package quant
