package dtype

import (
	"errors"
	"math/bits"
)

// The reasons for which a shape has no size.
var (
	// ErrOverflow: a product or sum leaves 64 bits.
	ErrOverflow = errors.New("size overflows 64 bits")
	// ErrPartialByte: a sub-byte tensor does not end on a byte.
	ErrPartialByte = errors.New("does not end on a byte")
	// ErrBlock: the fastest dimension is not a whole number of blocks.
	ErrBlock = errors.New("row is not a whole number of blocks")
	// ErrInvalid: the type is Invalid.
	ErrInvalid = errors.New("invalid type")
)

// Mul is a*b, or ErrOverflow.
func Mul(a, b uint64) (uint64, error) {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return 0, ErrOverflow
	}
	return lo, nil
}

// Add is a+b, or ErrOverflow.
func Add(a, b uint64) (uint64, error) {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return 0, ErrOverflow
	}
	return sum, nil
}

// Elements is the product of shape, formed left to right: a step that
// overflows is an error even where a later dimension is zero, as in the
// reference reader. The empty shape has one element.
func Elements(shape []uint64) (uint64, error) {
	n := uint64(1)
	for _, d := range shape {
		var err error
		if n, err = Mul(n, d); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Size is the number of bytes that a tensor of this shape takes. Shapes are
// given slowest dimension first, as safetensors does; for block types the last
// dimension (the row) must be a multiple of the block.
func (t Type) Size(shape []uint64) (uint64, error) {
	in := t.info()
	if in.bits == 0 {
		return 0, ErrInvalid
	}
	n, err := Elements(shape)
	if err != nil {
		return 0, err
	}
	if in.block > 1 {
		if len(shape) == 0 || shape[len(shape)-1]%uint64(in.block) != 0 {
			return 0, ErrBlock
		}
		n /= uint64(in.block)
	}
	total, err := Mul(n, uint64(in.bits))
	if err != nil {
		return 0, err
	}
	if total%8 != 0 {
		return 0, ErrPartialByte
	}
	return total / 8, nil
}
