package shard

// box is a rectangle of a tensor seen as a matrix of rows: rows from r0 up to
// r1, elements from c0 up to c1 of each.
type box struct{ r0, r1, c0, c1 int64 }

// scales checks, for every tensor with scales and every rank, that the rank has
// whole groups of elements and exactly the scales of those.
func (v *prover) scales() {
	for i := range v.Program.Templates {
		t := &v.Program.Templates[i]
		if t.Scale == 0 {
			continue
		}
		s := &v.Program.Templates[t.Scale-1]
		if why := v.aligned(t, s); why != "" {
			v.fault(&v.proof.ScaleAligned, "%s: %s", v.pattern(t), why)
		}
	}
}

func (v *prover) aligned(t, s *Template) string {
	shape, groups := v.Families[t.Family].Shape, v.Families[s.Family].Shape
	n := len(shape)
	if n == 0 || len(groups) != n || len(t.Block) != n || t.Window != s.Window {
		return "its scales have other axes, or are of other experts"
	}
	for k := range shape {
		b := uint64(max(t.Block[k], 0))
		if b == 0 || b > shape[k] || (shape[k]-1)/b+1 != groups[k] || k < n-1 && b > 1 && (n > 2 && k < n-2 || n > 2 && shape[k]%b != 0) {
			return "its scales are not one for each group of elements"
		}
	}
	if len(t.Outputs) != 1 || len(s.Outputs) != 1 || len(t.Outputs[0].Moves) != len(s.Outputs[0].Moves) {
		return "it is cut up in another way than its scales"
	}
	rowBlock := int64(1)
	if n > 1 {
		rowBlock = t.Block[n-2]
	}
	for rank := range v.Topology().StageRanks() {
		for m := range t.Outputs[0].Moves {
			a, ok := v.box(t, shape, &t.Outputs[0].Moves[m], rank)
			b, also := v.box(s, groups, &s.Outputs[0].Moves[m], rank)
			if !ok || !also {
				return "its pieces are no rectangles"
			}
			rows := rowsOf(shape)
			if !covers(a.r0, a.r1, b.r0, b.r1, rowBlock, rows) || !covers(a.c0, a.c1, b.c0, b.c1, t.Block[n-1], int64(shape[n-1])) {
				return "a rank has elements without their scale, or part of a group"
			}
		}
	}
	return ""
}

// covers reports whether elements from…to are the groups g0…g1 of size block, of
// which the last of the axis may be short.
func covers(from, to, g0, g1, block, size int64) bool {
	return from == g0*block && (to == g1*block || to == size && (size+block-1)/block == g1)
}

func rowsOf(shape []uint64) int64 {
	return int64(elements(shape[:len(shape)-1]))
}

// box is what a move reads for a rank, as a rectangle.
func (v *prover) box(t *Template, shape []uint64, m *Move, rank int) (box, bool) {
	run, outer, ok := m.sourceOf(rank).fold()
	start := m.sourceOf(rank).start
	bits := v.bitsOf(t)
	columns := int64(shape[len(shape)-1])
	row := columns * bits
	if !ok || row == 0 || row%8 != 0 {
		return box{}, false
	}
	row /= 8
	r0, at := start/row, start%row
	rows := int64(1)
	switch {
	case len(outer) == 0 && at == 0 && run%row == 0:
		return box{r0, r0 + run/row, 0, columns}, true
	case at+run > row || len(outer) > 1:
		return box{}, false
	case len(outer) == 1:
		if outer[0].step != row {
			return box{}, false
		}
		rows = outer[0].n
	}
	if at*8%bits != 0 || run*8%bits != 0 {
		return box{}, false
	}
	return box{r0, r0 + rows, at * 8 / bits, (at + run) * 8 / bits}, true
}
