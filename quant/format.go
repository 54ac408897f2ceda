package quant

import (
	"fmt"
	"slices"

	"ckpt/dtype"
)

// Format is an element type, the length of a block and the type of its scale.
type Format uint8

// The formats with one scale a run of a row. FP8 with scales of 128 × 128
// elements is no Format: see DecodeTiles.
const (
	MXFP4 Format = iota + 1
	MXFP8E4M3
	MXFP8E5M2
	MXFP6E2M3
	MXFP6E3M2
	MXINT8
	NVFP4
)

type format struct {
	name  string
	elem  Element
	block int
	scale dtype.Type
}

var formats = [...]format{
	MXFP4:     {"MXFP4", E2M1, 32, dtype.F8_E8M0},
	MXFP8E4M3: {"MXFP8_E4M3", E4M3, 32, dtype.F8_E8M0},
	MXFP8E5M2: {"MXFP8_E5M2", E5M2, 32, dtype.F8_E8M0},
	MXFP6E2M3: {"MXFP6_E2M3", E2M3, 32, dtype.F8_E8M0},
	MXFP6E3M2: {"MXFP6_E3M2", E3M2, 32, dtype.F8_E8M0},
	MXINT8:    {"MXINT8", INT8, 32, dtype.F8_E8M0},
	NVFP4:     {"NVFP4", E2M1, 16, dtype.F8_E4M3},
}

// Formats lists every format.
func Formats() []Format {
	return []Format{MXFP4, MXFP8E4M3, MXFP8E5M2, MXFP6E2M3, MXFP6E3M2, MXINT8, NVFP4}
}

// FormatNamed finds a format by its name.
func FormatNamed(name string) (Format, bool) {
	i := slices.IndexFunc(formats[:], func(f format) bool { return f.name == name && name != "" })
	return Format(max(i, 0)), i >= 0
}

func (f Format) valid() bool   { return f > 0 && int(f) < len(formats) }
func (f Format) spec() *format { return &formats[f] }

// String is the name of f.
func (f Format) String() string {
	if !f.valid() {
		return fmt.Sprintf("Format(%d)", uint8(f))
	}
	return f.spec().name
}

// Element is the type of the elements.
func (f Format) Element() Element { return f.spec().elem }

// Block is the number of elements that share a scale.
func (f Format) Block() int { return f.spec().block }

// ScaleType is the type of a scale: F8_E8M0, or F8_E4M3 in NVFP4.
func (f Format) ScaleType() dtype.Type { return f.spec().scale }

// CodeBytes is the number of bytes that the codes of k elements take; k is a
// multiple of the block.
func (f Format) CodeBytes(k int) int { return k / 8 * f.Element().Bits() }

// ScaleBytes is the number of bytes that the scales of k elements take.
func (f Format) ScaleBytes(k int) int { return k / f.Block() }

// pack writes the codes of one block as bytes.
func (f Format) pack(dst, codes []uint8) {
	switch f.Element().Bits() {
	case 4:
		for i := range dst {
			dst[i] = codes[2*i]&15 | codes[2*i+1]<<4
		}
	case 6:
		pack6(dst, codes)
	default:
		copy(dst, codes)
	}
}

// unpack is the inverse of pack.
func (f Format) unpack(codes, src []uint8) {
	switch f.Element().Bits() {
	case 4:
		for i, b := range src {
			codes[2*i], codes[2*i+1] = b&15, b>>4
		}
	case 6:
		unpack6(codes, src)
	default:
		copy(codes, src)
	}
}

// pack6 writes four codes of six bits in three bytes, the first in the low bits.
func pack6(dst, codes []uint8) {
	for i := 0; i*4 < len(codes); i++ {
		v := uint32(codes[4*i]) | uint32(codes[4*i+1])<<6 | uint32(codes[4*i+2])<<12 | uint32(codes[4*i+3])<<18
		dst[3*i], dst[3*i+1], dst[3*i+2] = uint8(v), uint8(v>>8), uint8(v>>16)
	}
}

func unpack6(codes, src []uint8) {
	for i := 0; i*4 < len(codes); i++ {
		v := uint32(src[3*i]) | uint32(src[3*i+1])<<8 | uint32(src[3*i+2])<<16
		for j := range 4 {
			codes[4*i+j] = uint8(v>>(6*j)) & 63
		}
	}
}

// Source types are what Encode reads and Decode writes.
func sourceBytes(t dtype.Type) (int, error) {
	switch t {
	case dtype.BF16, dtype.F16:
		return 2, nil
	case dtype.F32:
		return 4, nil
	default:
		return 0, fmt.Errorf("%w: numbers of type %s (BF16, F16 and F32 are read and written)", ErrUnsupported, t)
	}
}
