package quant

import "fmt"

// Convention is how NVFP4's scale of the whole tensor is stored.
type Convention uint8

// The conventions.
const (
	Multiplier Convention = iota // ModelOpt: amax / (6 * 448)
	Divisor                      // compressed-tensors: 448 * 6 / amax
)

// NVFP4TensorScale is the tensor scale for a tensor with this largest
// magnitude, as stored.
func NVFP4TensorScale(amax float32, c Convention) float32 {
	if c == Divisor {
		return 448 * 6 / amax
	}
	return amax / (6 * 448)
}

func (e *Encoder) checkTensorScale() error {
	if !(e.opts.TensorScale > 0) || isInf(e.opts.TensorScale) {
		return fmt.Errorf("tensor scale %v of NVFP4: %w", e.opts.TensorScale, ErrShape)
	}
	return nil
}

// nvfp4 encodes a block of sixteen.
func (e *Encoder) nvfp4(b *block, rep *Report) byte { return 0 }

// nanScale is the NaN of a scale.
func (f Format) nanScale() byte {
	if f == NVFP4 {
		return 0x7F
	}
	return 255
}
