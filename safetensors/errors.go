package safetensors

import (
	"errors"
	"fmt"
)

// ErrFormat matches every *FormatError.
var ErrFormat = errors.New("not a valid safetensors file")

// Kind is what is wrong with a file. The order of the constants has no meaning.
type Kind uint8

// The kinds of problem. All but Unaligned and UnsafeName make a file invalid.
const (
	TooShort         Kind = iota + 1 // no room for the 8 bytes of the header's length
	HeaderBeyondFile                 // the header's length leaves the file
	HeaderTooLong                    // header over MaxHeader
	NotUTF8                          // header is not UTF-8
	Syntax                           // not JSON of the required form
	Duplicate                        // a name twice in one JSON object
	UnknownDType                     // a dtype that the specification lacks
	BadOffsets                       // hole, overlap or reversed offsets
	SizeMismatch                     // shape times dtype is not the byte length
	Overflow                         // shape times dtype leaves 64 bits
	PartialByte                      // a sub-byte tensor that does not end on a byte
	BadMetadata                      // __metadata__ is not a map of strings
	Truncated                        // data end before the header says
	Trailing                         // bytes after the last tensor
	Unaligned                        // data start or a tensor not aligned to 8 bytes: legal
	UnsafeName                       // a name with control characters, empty or too long: legal
)

// Legal says whether a file with such a problem is valid all the same.
func (k Kind) Legal() bool { return k == Unaligned || k == UnsafeName }

// FormatError is one problem of a file.
type FormatError struct {
	Kind   Kind
	Offset int64  // in the file, of the first byte that is wrong
	Tensor string // the tensor concerned, if Named
	Named  bool   // a tensor is concerned (its name may be empty)
	Msg    string
	Size   int64 // bytes missing (Truncated) or too many (Trailing)
}

func (e *FormatError) Error() string {
	if e.Named {
		return fmt.Sprintf("tensor %q: %s (offset %d)", e.Tensor, e.Msg, e.Offset)
	}
	return fmt.Sprintf("%s (offset %d)", e.Msg, e.Offset)
}

// Is makes errors.Is(err, ErrFormat) true.
func (e *FormatError) Is(target error) bool { return target == ErrFormat }
