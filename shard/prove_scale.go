package shard

import (
	"slices"
	"strings"
)

// box is a rectangle of a tensor seen as a matrix of rows: rows from r0 up to
// r1, elements from c0 up to c1 of each; and the same again some rows further,
// for each loop.
type box struct {
	r0, r1, c0, c1 int64
	loops          []stride // steps in rows
}

// scales checks, for every tensor with scales and every rank, that the rank has
// whole groups of elements and exactly the scales of those, and that no scales
// are left over that belong to nothing.
func (v *prover) scales() {
	paired := make([]bool, len(v.Families))
	for i := range v.Program.Templates {
		t := &v.Program.Templates[i]
		if t.Scale == 0 {
			continue
		}
		s := &v.Program.Templates[t.Scale-1]
		paired[s.Family] = true
		if why := v.aligned(t, s); why != "" {
			v.fault(&v.proof.ScaleAligned, "%s: %s", v.pattern(t), why)
		}
	}
	if v.Topology() == (Topology{1, 1, 1}) {
		return // nothing is parted from anything
	}
	for i := range v.Families {
		if f := &v.Families[i]; !paired[i] && f.Action != Skip && isScale(f.Pattern) && !v.alone(f) {
			v.fault(&v.proof.ScaleAligned, "%s: its scales belong to no tensor", f.Pattern)
		}
	}
}

// isScale says whether names of a pattern are those of scales of groups.
func isScale(pattern string) bool {
	r, err := loadRules()
	return err == nil && r.Leaves[pattern[strings.LastIndexByte(pattern, '.')+1:]] == "scale"
}

// alone says whether the plan skips what scales belong to: then there is nothing
// to part them from.
func (v *prover) alone(s *Family) bool {
	return slices.ContainsFunc(v.Families, func(f Family) bool {
		return f.Action == Skip && !isScale(f.Pattern) && module(f.Pattern) == module(s.Pattern)
	})
}

func (v *prover) aligned(t, s *Template) string {
	shape := v.Families[t.Family].Shape
	groups := fitGroups(v.Families[s.Family].Shape, shape)
	if groups == nil || len(t.Block) != len(shape) || t.Window != s.Window {
		return "its scales have other axes, or are of other experts"
	}
	if !blocks(shape, groups, t.Block) {
		return "its scales are not one for each group of elements"
	}
	if !slices.ContainsFunc(t.Block, func(n int64) bool { return n > 0 }) {
		if len(s.Outputs) != 1 || len(s.Outputs[0].Moves) != 1 || len(s.Outputs[0].Moves[0].Parts) > 0 {
			return "a rank lacks its scale"
		}
		return ""
	}
	if len(t.Outputs) != 1 || len(s.Outputs) != 1 || len(t.Outputs[0].Moves) != len(s.Outputs[0].Moves) {
		return "it is cut up in another way than its scales"
	}
	for rank := range v.Topology().StageRanks() {
		for m := range t.Outputs[0].Moves {
			a, ok := v.box(t, shape, &t.Outputs[0].Moves[m], rank)
			b, also := v.box(s, groups, &s.Outputs[0].Moves[m], rank)
			if !ok || !also {
				return "its pieces are no rectangles"
			}
			if !together(&a, &b, shape, t.Block) {
				return "a rank has elements without their scale, or part of a group"
			}
		}
	}
	return ""
}

// blocks reports whether the axes divide into groups of the sizes of block, or
// have one scale, whatever of them a rank holds, where it is 0. Only
// the last two axes may have groups; where a matrix is one of many, its rows have
// to be a whole number of them.
func blocks(shape, groups []uint64, block []int64) bool {
	n := len(shape)
	for k, size := range shape {
		if block[k] == 0 && groups[k] == 1 {
			continue
		}
		b := uint64(max(block[k], 0))
		if b == 0 || b > size || (size-1)/b+1 != groups[k] {
			return false
		}
		if b > 1 && k < n-1 && (k < n-2 || n > 2 && size%b != 0) {
			return false
		}
	}
	return true
}

// together reports whether the elements of a are exactly the groups of b.
func together(a, b *box, shape []uint64, block []int64) bool {
	n, rows := len(shape), int64(1)
	if n > 1 {
		rows = block[n-2]
	}
	return covers(a.r0, a.r1, b.r0, b.r1, rows, rowsOf(shape)) && alike(a.loops, b.loops, rows) &&
		covers(a.c0, a.c1, b.c0, b.c1, block[n-1], int64(shape[n-1]))
}

// covers reports whether elements from…to are the groups g0…g1 of size block, of
// which the last of the axis may be short.
func covers(from, to, g0, g1, block, size int64) bool {
	if block == 0 {
		return g0 == 0 && g1 == 1
	}
	return from == g0*block && (to == g1*block || to == size && (size+block-1)/block == g1)
}

func rowsOf(shape []uint64) int64 {
	return int64(elements(shape[:len(shape)-1]))
}

// alike reports whether the loops of elements are those of groups of so many
// rows.
func alike(elements, groups []stride, rows int64) bool {
	return slices.EqualFunc(elements, groups, func(a, b stride) bool { return a.n == b.n && a.step == b.step*rows })
}

// box is what a move reads for a rank, as a rectangle. It is false where that is
// none.
func (v *prover) box(t *Template, shape []uint64, m *Move, rank int) (box, bool) {
	source := m.sourceOf(rank)
	run, outer, ok := source.fold()
	bits := v.bitsOf(t)
	columns := int64(shape[len(shape)-1])
	row := columns * bits / 8
	if !ok || row == 0 || columns*bits%8 != 0 {
		return box{}, false
	}
	b := box{r0: source.start / row, c0: source.start % row}
	b.r1, b.c1 = b.r0+1, b.c0+run
	switch {
	case b.c0 == 0 && run%row == 0:
		b.r1, b.c1 = b.r0+run/row, row
	case b.c1 > row:
		return box{}, false
	case len(outer) > 0 && outer[0].step == row:
		b.r1 = b.r0 + outer[0].n
		outer = outer[1:]
	}
	for _, l := range outer {
		if l.step%row != 0 {
			return box{}, false
		}
		b.loops = append(b.loops, stride{l.n, l.step / row})
	}
	if b.c0*8%bits != 0 || b.c1*8%bits != 0 {
		return box{}, false
	}
	b.c0, b.c1 = b.c0*8/bits, b.c1*8/bits
	return b, true
}
