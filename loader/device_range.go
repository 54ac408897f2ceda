package loader

import "fmt"

// RangeError is a copy that does not lie within its arena, or a rectangle that
// does not lie within its source: a fault of this package, found before it
// harms.
type RangeError struct {
	Off, Bytes, Arena int64
	Msg               string
}

func (e *RangeError) Error() string {
	if e.Msg != "" {
		return e.Msg
	}
	return fmt.Sprintf("%d bytes at %d do not lie in an arena of %d", e.Bytes, e.Off, e.Arena)
}

func checkRange(a Arena, off, bytes int64) error {
	if off < 0 || bytes < 0 || off > a.Bytes() || bytes > a.Bytes()-off {
		return &RangeError{Off: off, Bytes: bytes, Arena: a.Bytes()}
	}
	return nil
}

func checkRect(a Arena, off int64, r Rect) error {
	if r.Rows < 0 || r.Run < 0 || r.Stride < r.Run {
		return &RangeError{Msg: fmt.Sprintf("%d rows of %d bytes, %d apart, are no rectangle", r.Rows, r.Run, r.Stride)}
	}
	if r.Rows == 0 || r.Run == 0 {
		return checkRange(a, off, 0)
	}
	// The last row ends within the source; nothing overflows, for what is divided
	// is the length of a slice.
	if r.Run > len(r.Src) || r.Rows-1 > (len(r.Src)-r.Run)/r.Stride {
		return &RangeError{Msg: fmt.Sprintf("%d rows of %d bytes, %d apart, do not lie in %d bytes", r.Rows, r.Run, r.Stride, len(r.Src))}
	}
	return checkRange(a, off, int64(r.Rows)*int64(r.Run))
}

func arenaSizeError(bytes int64) error {
	return &RangeError{Msg: fmt.Sprintf("an arena of %d bytes", bytes)}
}
