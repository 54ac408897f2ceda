package quant

import (
	"errors"
	"fmt"
)

var (
	// ErrNonFinite: the input holds NaN or infinity; see NonFiniteError.
	ErrNonFinite = errors.New("NaN or infinity in the input")
	// ErrShape: a row is no whole number of blocks, or a buffer has the wrong
	// length.
	ErrShape = errors.New("wrong shape")
	// ErrUnsupported: there is no such combination of scheme, format and type.
	ErrUnsupported = fmt.Errorf("%w", errors.ErrUnsupported)
)

// NonFiniteError names the first NaN or infinity of the input. It matches
// ErrNonFinite.
type NonFiniteError struct {
	Index int64  // of the element, counted from the start of the input
	Bits  uint32 // of the value as float32
}

func (e *NonFiniteError) Error() string {
	what := "NaN"
	switch e.Bits {
	case 0x7F800000:
		what = "+Inf"
	case 0xFF800000:
		what = "-Inf"
	}
	return fmt.Sprintf("element %d is %s", e.Index, what)
}

// Is matches ErrNonFinite.
func (e *NonFiniteError) Is(target error) bool { return target == ErrNonFinite }
