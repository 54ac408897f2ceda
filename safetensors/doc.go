// Package safetensors reads and writes files of the safetensors format.
// [NewReader] turns a file into a description, or [Open] a path; [NewLayout]
// lays a new file out and [Create] streams it.
//
// # Layout
//
// A file is the length of its header (eight bytes, little-endian), the header
// (JSON, padded with spaces), and the data. Each entry of the header gives a
// tensor's dtype, its shape in logical elements, and its place in the data:
//
//	00  36 00 00 00 00 00 00 00                       54 bytes of header
//	08  {"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}
//	3e  00 00 80 3f 00 00 00 40                       a[0], a[1]
//
// Sorted by place the tensors tile the data: no hole, no overlap, and the last
// one ends with the file. A [Scanner] proves that, and reports every problem,
// not only the first.
//
// # Limits
//
// Headers are at most [MaxHeader] bytes, read and written, and hold whole
// numbers from 0 to [MaxInteger]. Every valid file is valid for the official
// reader too; we refuse more: white space before the brace, padding other than
// spaces, duplicate names, unknown fields, entries and dtypes in another JSON
// form, sizes above 2^53 and a null __metadata__. Nothing is ever mapped, and
// the data are not read.
//
// # Concurrency
//
// Descriptions are plain data. A Scanner belongs to one goroutine; a [Handle]
// may be read in parallel; a [Writer] takes pieces from many goroutines.
//
// The specification: https://github.com/huggingface/safetensors.
package safetensors
