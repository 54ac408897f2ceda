package quant

import (
	"fmt"

	"ckpt/dtype"
)

// Convention is how NVFP4's scale of the whole tensor is stored.
type Convention uint8

// The conventions.
const (
	Multiplier Convention = iota // ModelOpt: amax / (6 * 448)
	Divisor                      // compressed-tensors: 448 * 6 / amax
)

// NVFP4TensorScale is the tensor scale for a tensor of a type with this largest
// magnitude, as stored; the encoder and the decoder take it as it is.
// compressed-tensors divides in the tensor's type, ModelOpt in float32.
func NVFP4TensorScale(amax float32, c Convention, source dtype.Type) float32 {
	if c == Divisor {
		return roundTo(source, 448*6/amax)
	}
	return amax / (6 * 448)
}

// checkTensorScale refuses what is no scale. A tensor of zeros has none: there
// ModelOpt writes 0 and compressed-tensors infinity, and 1 serves.
func checkTensorScale(t float32) error {
	if !(t > 0) || isInf(t) {
		return fmt.Errorf("tensor scale %v of NVFP4: %w", t, ErrShape)
	}
	return nil
}

// convention is how the recipe's system stores the scale of a tensor.
func (r *Recipe) convention() Convention {
	if r.Layout == LayoutCompressedTensorsNVFP4 {
		return Divisor
	}
	return Multiplier
}

// unitNVFP4 is what a code of 1 is worth.
func unitNVFP4(scale byte, tensor float32, c Convention) float32 {
	if c == Divisor {
		return E4M3.Decode(scale) / tensor
	}
	return E4M3.Decode(scale) * tensor
}

// nvfp4 encodes a block of sixteen in float32, as both systems do: the scale of
// the block is maximum / 6 in units of the tensor's scale, as E4M3. But for
// compressed-tensors' maximum / 6, which it rounds to the type of the input.
func (e *Encoder) nvfp4(b *block, rep *Report) byte {
	r, t := e.recipe, e.opts.TensorScale
	amax := b.finiteMax()
	if amax == 0 {
		rep.ZeroBlocks++
	}
	divisor := r.convention() == Divisor
	var local float32
	if divisor {
		local = t * roundTo(e.source, amax/6)
	} else {
		local = amax / (6 * t)
	}
	scale := E4M3.Encode(local)
	switch {
	case local == 0, scale == 0 && divisor:
		scale = r.Zero
	case scale == 0:
		scale = 1 // ModelOpt clamps to the smallest subnormal
	}
	unit := unitNVFP4(scale, t, r.convention())
	spec := E2M1.spec()
	for i, x := range b.x {
		q := abs(x) / unit
		if x == 0 {
			q = 0 // unit may have vanished
		}
		if q > 6 {
			rep.Clipped++
		}
		code := spec.round(float64(q), TieEven)
		b.codes[i] = spec.signed(code, signbit(x) && x != 0)
	}
	return scale
}

// nanScale is the NaN of a scale.
func (f Format) nanScale() byte {
	if f == NVFP4 {
		return 0x7F
	}
	return 255
}
