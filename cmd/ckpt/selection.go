package main

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"ckpt/dtype"
)

// selection is a part of a tensor: runs of bytes of one length, in order.
type selection struct {
	dtype dtype.Type
	shape []uint64 // of the part
	row   uint64   // elements of the last dimension of the part; 1 for rank 0
	run   int64    // bytes that lie together
	loops []loop   // over the dimensions before them, the slowest first
	first int64    // byte of the first run
	empty bool
}

// loop is a dimension that is walked.
type loop struct {
	count  uint64
	stride int64 // bytes
}

// interval is the part of one dimension.
type interval struct {
	from, to uint64
	drop     bool // a single index: the dimension goes
}

// newSelection reads a slice of a shape; an empty one is all of it.
func newSelection(d dtype.Type, shape []uint64, slice string) (*selection, error) {
	parts, err := parseSlice(slice, shape)
	if err != nil {
		return nil, fmt.Errorf("--slice %q: %w", slice, err)
	}
	s := &selection{dtype: d, row: 1}
	for _, p := range parts {
		if !p.drop {
			s.shape = append(s.shape, p.to-p.from)
		}
		s.empty = s.empty || p.from == p.to
	}
	if len(s.shape) > 0 {
		s.row = s.shape[len(s.shape)-1]
	}
	// From the right, dimensions that are taken whole lie together with the
	// first one that is not.
	whole := len(shape)
	for whole > 0 && parts[whole-1].from == 0 && parts[whole-1].to == shape[whole-1] {
		whole--
	}
	inner := shape[whole:]
	if whole > 0 {
		p := parts[whole-1]
		inner = append([]uint64{p.to - p.from}, inner...)
	}
	if s.run, err = bytesOf(d, inner); err != nil {
		return nil, fmt.Errorf("--slice %q: %w", slice, err)
	}
	for i := range whole {
		stride, err := bytesOf(d, shape[i+1:])
		if err != nil {
			return nil, fmt.Errorf("--slice %q: %w", slice, err)
		}
		s.first += int64(parts[i].from) * stride
		if i < whole-1 {
			s.loops = append(s.loops, loop{parts[i].to - parts[i].from, stride})
		}
	}
	return s, nil
}

func bytesOf(d dtype.Type, shape []uint64) (int64, error) {
	n, err := d.Size(shape)
	if err != nil {
		return 0, fmt.Errorf("%s cannot be cut here: %w", d, err)
	}
	return int64(n), nil // at most the size of the tensor, which fits
}

// runs yields the byte at which each run begins.
func (s *selection) runs() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if !s.empty {
			s.walk(s.loops, s.first, yield)
		}
	}
}

func (s *selection) walk(loops []loop, at int64, yield func(int64) bool) bool {
	if len(loops) == 0 {
		return yield(at)
	}
	for i := range loops[0].count {
		if !s.walk(loops[1:], at+int64(i)*loops[0].stride, yield) {
			return false
		}
	}
	return true
}

// parseSlice reads a range for each dimension from the left; those that are
// not given are whole.
func parseSlice(text string, shape []uint64) ([]interval, error) {
	out := make([]interval, len(shape))
	for i, n := range shape {
		out[i] = interval{0, n, false}
	}
	if text == "" {
		return out, nil
	}
	fields := strings.Split(text, ",")
	if len(fields) > len(shape) {
		return nil, fmt.Errorf("%d ranges for %d dimensions", len(fields), len(shape))
	}
	for i, f := range fields {
		var err error
		if out[i], err = parseInterval(strings.TrimSpace(f), shape[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func parseInterval(text string, n uint64) (interval, error) {
	left, right, isRange := strings.Cut(text, ":")
	from, err := parsePlace(left, 0, n)
	if err != nil {
		return interval{}, err
	}
	if !isRange {
		if left == "" {
			return interval{}, fmt.Errorf("a range is empty; : is all of a dimension")
		}
		if from >= n {
			return interval{}, fmt.Errorf("place %s of a dimension of %d", text, n)
		}
		return interval{from, from + 1, true}, nil
	}
	to, err := parsePlace(right, n, n)
	if err != nil {
		return interval{}, err
	}
	if from > to {
		return interval{}, fmt.Errorf("%s runs backwards", text)
	}
	return interval{from, to, false}, nil
}

// parsePlace reads a place from 0 to n; negative ones count from the end, as
// in Python.
func parsePlace(text string, def, n uint64) (uint64, error) {
	if text == "" {
		return def, nil
	}
	back := strings.HasPrefix(text, "-")
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "-"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no place; steps are not taken", text)
	}
	if v > n {
		return 0, fmt.Errorf("place %s of a dimension of %d", text, n)
	}
	if back {
		return n - v, nil
	}
	return v, nil
}
