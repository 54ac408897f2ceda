package shard

import (
	"cmp"
	"fmt"
	"slices"

	"ckpt/dtype"
)

// form is a class with one dtype and shape: what the size of a split depends
// on.
type form struct {
	*class
	dtype dtype.Type
	shape []uint64
	bytes int64 // of a tensor
	scale *form // of its scales, nil without
	grouping
	unpaired string // why tensors that may be its scales are not

	unwanted *form // of tensors that are not asked for
	of       *form // the other way about
	count    int64 // tensors
	total    int64 // bytes of all

	casts []cached
	index int // of Plan.Families
}

// cached is a template of a form.
type cached struct {
	names  []string
	number int
}

// span is one section of the split axis as a number of ranks sees it.
type span struct {
	from  int64 // first index
	size  int64 // indexes
	parts int64 // different pieces
}

// split divides the axis over n ranks. The reason says why it cannot.
func (f *form) split(n int64) (spans []span, reason string) {
	if f.narrow > 0 {
		spans, reason = divide(nil, section{size: f.narrow, parts: f.narrow}, n, "heads")
		return spans, reason
	}
	if f.axis == whole {
		return nil, ""
	}
	if f.axis >= len(f.shape) {
		return nil, fmt.Sprintf("its shape %v has no axis %d", f.shape, f.axis)
	}
	size := int64(f.shape[f.axis])
	sections := f.sections
	if sections == nil {
		s := section{size, f.parts, f.repeat, ""}
		if f.scaled && s.parts > 0 {
			s.parts = gcd(s.parts, size) // a group may span several heads
		}
		sections = []section{s}
	}
	for _, s := range sections {
		if spans, reason = divide(spans, s, n, cmp.Or(s.what, f.unit())); reason != "" {
			return nil, reason
		}
	}
	if last := spans[len(spans)-1]; last.from+last.size != size {
		return nil, fmt.Sprintf("its axis of %d is not the %d that its parts make", size, last.from+last.size)
	}
	return spans, f.grain(spans)
}

// unit names what the parts of the axis are.
func (f *form) unit() string {
	switch {
	case f.parts > 0 && f.what != "":
		return f.what
	case f.role == roleEmbedding || f.role == roleHead:
		return "entries of the vocabulary"
	case f.axis == 0:
		return "rows"
	}
	return "columns"
}

// divide appends a section as n ranks share it.
func divide(spans []span, s section, n int64, unit string) ([]span, string) {
	at := int64(0)
	if len(spans) > 0 {
		at = spans[len(spans)-1].from + spans[len(spans)-1].size
	}
	parts := s.parts
	if parts == 0 {
		parts = s.size
	}
	switch {
	case n == 1:
		parts = 1
	case s.size%parts != 0:
		return nil, fmt.Sprintf("an axis of %d is not a whole number of %d %s", s.size, parts, unit)
	case parts%n == 0:
		parts = n
	case s.repeat && n%parts == 0:
	case s.repeat && n > parts:
		return nil, fmt.Sprintf("%d ranks cannot share %d %s evenly", n, parts, unit)
	default:
		return nil, fmt.Sprintf("%d %s do not divide by %d", parts, unit, n)
	}
	return append(spans, span{at, s.size, parts}), ""
}

// grain checks that no piece begins within a byte or within a group of elements
// that share a scale.
func (f *form) grain(spans []span) string {
	bits := int64(f.dtype.Bits())
	for _, s := range f.shape[f.axis+1:] {
		bits *= int64(s) // the tensor has a size, so this does not overflow
	}
	for _, s := range spans {
		step := s.size / s.parts
		if s.parts > 1 && step*bits%8 != 0 {
			return fmt.Sprintf("pieces of %d begin within a byte", step)
		}
		if f.scale == nil || s.parts == 1 || f.axis >= len(f.sizes) {
			continue
		}
		block := f.sizes[f.axis]
		switch {
		case block == 0: // every rank has the scale, whatever it holds
		case f.doubt != "" && f.axis == len(f.shape)-1:
			return f.doubt
		case s.from%block != 0 || step%block != 0:
			reason := fmt.Sprintf("a piece of %d cuts a group of %d elements that share a scale", step, block)
			if groups := int64(f.scale.shape[f.axis]); groups%s.parts != 0 {
				reason += fmt.Sprintf(": %d groups do not divide by %d", groups, s.parts)
			}
			return reason
		}
	}
	return ""
}

// refusals are the forms that cannot be split in this topology.
func refusals(forms []*form, t Topology) []Refusal {
	var list []Refusal
	for _, f := range forms {
		if f.skip != "" {
			continue
		}
		n := t.TP
		if f.experts > 0 || f.stack != whole {
			n = t.expertTP()
		}
		if _, reason := f.split(int64(n)); reason != "" {
			if !slices.ContainsFunc(list, func(r Refusal) bool { return r.Pattern == f.pattern }) {
				list = append(list, Refusal{f.pattern, reason})
			}
		}
	}
	return list
}

// expertRefusals are the forms whose experts EP does not divide.
func expertRefusals(forms []*form, ep int) []Refusal {
	var list []Refusal
	for _, f := range forms {
		n := f.expertCount()
		if f.skip == "" && n > 0 && n%int64(ep) != 0 {
			list = append(list, Refusal{f.pattern, fmt.Sprintf("%d experts do not divide by %d", n, ep)})
		}
	}
	return list
}

// expertCount is how many experts a layer has.
func (f *form) expertCount() int64 {
	if f.stack != whole && f.stack < len(f.shape) {
		return int64(f.shape[f.stack])
	}
	return f.experts
}

// mostDegree bounds the degrees that are tried for people.
const mostDegree = 128

// checkSplit refuses a topology that cuts what must stay whole.
func checkSplit(forms []*form, t Topology) error {
	if t.EP > 1 {
		list := expertRefusals(forms, t.EP)
		if !slices.ContainsFunc(forms, func(f *form) bool { return f.skip == "" && f.expertCount() > 0 }) {
			list = []Refusal{{"", "the model has no experts"}}
		}
		if len(list) > 0 {
			return &SplitError{t, "EP", list, works(func(d int) bool {
				o := Topology{t.TP, d, t.PP}
				return o.check() == nil && len(expertRefusals(forms, d)) == 0 && (d == 1 || list[0].Pattern != "") && len(refusals(forms, o)) == 0
			})}
		}
	}
	if list := refusals(forms, t); len(list) > 0 {
		return &SplitError{t, "TP", list, works(func(d int) bool {
			o := Topology{d, t.EP, t.PP}
			return o.check() == nil && len(refusals(forms, o)) == 0
		})}
	}
	return nil
}

func works(ok func(degree int) bool) []int {
	var list []int
	for d := 1; d <= mostDegree; d++ {
		if ok(d) {
			list = append(list, d)
		}
	}
	return list
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Roles that decide something here.
const (
	roleEmbedding = "embedding"
	roleHead      = "head"
)
