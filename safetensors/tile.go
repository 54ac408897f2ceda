package safetensors

import (
	"cmp"
	"fmt"
	"slices"
)

// interval is the place of one tensor in the data.
type interval struct {
	begin, end uint64
	name       nameRef
}

// tile proves that the tensors cover the data from its start to the end of the
// file, once: sorted by offset each begins where the one before ends. Headers
// in file order, as all serializers write them, need no sort.
func (s *Scanner) tile() {
	if s.lost > 0 {
		return
	}
	order := func(a, b interval) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	}
	if !slices.IsSortedFunc(s.ends, order) {
		slices.SortStableFunc(s.ends, order)
	}
	at := uint64(0)
	for _, e := range s.ends {
		if e.begin > at {
			s.misplaced(e, fmt.Sprintf("a hole of %d bytes lies before it: data [%d, %d) belong to no tensor", e.begin-at, at, e.begin))
		} else if e.begin < at {
			s.misplaced(e, fmt.Sprintf("data_offsets [%d, %d) overlap the tensor before it, which ends at %d", e.begin, e.end, at))
		}
		at = max(at, e.end)
	}
	// Offsets are at most 2^53, so the sum fits.
	s.header.DataEnd = s.header.DataStart + int64(at)
	s.end()
	s.alignment()
}

func (s *Scanner) misplaced(e interval, msg string) {
	s.note(&FormatError{Kind: BadOffsets, Offset: prefix + int64(e.name.at), Tensor: string(s.dup.name(e.name)), Named: true, Msg: msg})
}

// end compares the end of the data with the end of the file.
func (s *Scanner) end() {
	h := s.header
	switch short := h.DataEnd - h.Size; {
	case short > 0:
		e := &FormatError{Kind: Truncated, Offset: h.Size, Size: short}
		e.Msg = fmt.Sprintf("the file ends %d bytes early: %d of %d bytes", short, h.Size, h.DataEnd)
		if cut, ok := s.cut(); ok {
			e.Tensor, e.Named = string(s.dup.name(cut.name)), true
		}
		s.note(e)
	case short < 0:
		s.note(&FormatError{Kind: Trailing, Offset: h.DataEnd, Size: -short,
			Msg: fmt.Sprintf("%d bytes follow the last tensor, which ends at %d of %d", -short, h.DataEnd, h.Size)})
	}
}

// cut finds the first tensor that the file does not hold whole.
func (s *Scanner) cut() (interval, bool) {
	have := s.header.Size - s.header.DataStart
	for _, e := range s.ends {
		if e.end > uint64(have) {
			return e, true
		}
	}
	return interval{}, false
}

// alignTo is what the reference serializer aligns the data start to, and what
// the widest elements need.
const alignTo = 8

// alignment tells of data that have to be copied before they can be used. It
// is no news of a file that is invalid.
func (s *Scanner) alignment() {
	h := s.header
	switch {
	case h.Err() != nil:
	case h.DataStart%alignTo != 0:
		s.note(&FormatError{Kind: Unaligned, Offset: h.DataStart,
			Msg: fmt.Sprintf("the data start at %d, not a multiple of 8", h.DataStart)})
	case s.unaligned > 0:
		s.note(&FormatError{Kind: Unaligned, Offset: h.DataStart,
			Msg: fmt.Sprintf("%d of %d tensors do not start on a multiple of 8 bytes", s.unaligned, h.Tensors)})
	}
}
