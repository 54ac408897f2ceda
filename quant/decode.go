package quant

import (
	"fmt"
	"math"

	"ckpt/dtype"
)

// DecodeOptions are what a caller may choose; the zero value is the default.
type DecodeOptions struct {
	// TensorScale is NVFP4's second scale as it is stored, by Convention.
	TensorScale float32
	Convention  Convention
}

// Decoder turns codes and scales into numbers. Each is the exact product of
// element and scale, rounded once to the output's type, ties to even; what is
// beyond its range becomes infinity. A scale of NaN makes the block NaN. In
// NVFP4 the block's scale is first brought together with the tensor's, rounded
// to float32 as every system does it.
type Decoder struct {
	format Format
	out    dtype.Type
	size   int
	opts   DecodeOptions
	fast   decodeKernel // nil: the reference

	implementation string
}

// decodeKernel decodes a run of blocks with the same result as the reference.
type decodeKernel func(d *Decoder, dst, codes, scales []byte, blocks int)

// NewDecoder makes a decoder of one format, writing BF16, F16 or F32.
func NewDecoder(f Format, out dtype.Type, opts DecodeOptions) (*Decoder, error) {
	size, err := sourceBytes(out)
	if err != nil {
		return nil, err
	}
	if !f.valid() {
		return nil, fmt.Errorf("%w: no format %s", ErrUnsupported, f)
	}
	d := &Decoder{format: f, out: out, size: size, opts: opts}
	if f == NVFP4 {
		if err := checkTensorScale(opts.TensorScale); err != nil {
			return nil, err
		}
	}
	d.accelerate()
	return d, nil
}

// Decode decodes rows × k numbers into dst; the lengths are those of Encode.
func (d *Decoder) Decode(dst, codes, scales []byte, rows, k int) error {
	f := d.format
	if rows < 0 || k < 0 || k%f.Block() != 0 {
		return fmt.Errorf("%w: %d rows of %d, blocks of %d", ErrShape, rows, k, f.Block())
	}
	n := k / f.Block()
	if n > 0 && rows > math.MaxInt/n/(f.Block()*d.size) {
		return fmt.Errorf("%w: %d rows of %d overflow", ErrShape, rows, k)
	}
	n *= rows
	if len(dst) != n*f.Block()*d.size || len(codes) != n*f.CodeBytes(f.Block()) || len(scales) != n {
		return fmt.Errorf("%w: %d rows of %d into %d bytes, from %d bytes of codes, %d scales",
			ErrShape, rows, k, len(dst), len(codes), len(scales))
	}
	if d.fast != nil {
		d.fast(d, dst, codes, scales, n)
		return nil
	}
	d.reference(dst, codes, scales, n)
	return nil
}

// reference decodes block by block.
func (d *Decoder) reference(dst, codes, scales []byte, blocks int) {
	f := d.format
	in, out := f.CodeBytes(f.Block()), f.Block()*d.size
	var room [32]uint8
	var v [32]float64
	for i := range blocks {
		c := room[:f.Block()]
		f.unpack(c, codes[i*in:(i+1)*in])
		s := d.scale(scales[i])
		for j, code := range c {
			v[j] = float64(f.Element().Decode(code)) * s // exact
		}
		store(dst[i*out:(i+1)*out], d.out, v[:len(c)])
	}
}

// scale is the value of a stored scale, the tensor's included.
func (d *Decoder) scale(b byte) float64 {
	if d.format == NVFP4 {
		return float64(unitNVFP4(b, d.opts.TensorScale, d.opts.Convention))
	}
	return float64(E8M0(b))
}
