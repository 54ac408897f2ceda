package shard

import (
	"iter"
	"slices"
)

// Tensor is one tensor on one rank.
type Tensor struct {
	Name      string   `json:"name"`
	Rank      int      `json:"rank"`
	DType     string   `json:"dtype"`
	Shape     []uint64 `json:"shape"`
	Global    []uint64 `json:"global_shape"`
	Axis      *int     `json:"axis"`            // that is split; null for none
	Range     []uint64 `json:"range,omitempty"` // of the axis: from, and one past the last
	Offset    int64    `json:"offset"`          // in the arena
	Bytes     int64    `json:"bytes"`
	Transform string   `json:"transform,omitempty"`
	Sources   []Origin `json:"sources"`
}

// Origin is a tensor of the checkpoint that a tensor on a rank is made from.
type Origin struct {
	Name   string `json:"name"`
	File   string `json:"file"`
	Offset int64  `json:"offset"` // in the file
	Bytes  int64  `json:"bytes"`
}

// Tensors yields the tensors of a rank in the order of its arena. A stack of
// experts is one tensor.
func (p *Plan) Tensors(rank int) iter.Seq[*Tensor] {
	return func(yield func(*Tensor) bool) {
		l := lister{Plan: p, rank: rank, stage: rank / p.Topology().StageRanks(), stacks: map[blockKey]*Tensor{}}
		if p.Program == nil || rank < 0 || rank >= len(p.Ranks) {
			return
		}
		for i := range p.Program.Extents {
			e := &p.Program.Extents[i]
			for k := range e.Runs {
				l.run(e, &e.Runs[k])
			}
		}
		slices.SortStableFunc(l.list, func(a, b *Tensor) int { return int(max(-1, min(1, a.Offset-b.Offset))) })
		for _, t := range l.list {
			if !yield(t) {
				return
			}
		}
	}
}

type lister struct {
	*Plan
	rank, stage int
	list        []*Tensor
	stacks      map[blockKey]*Tensor
}

func (l *lister) run(e *Extent, r *Run) {
	for k := range r.Records() {
		for i := range r.Pieces {
			c := &r.Pieces[i]
			for t := range c.Targets {
				if c.Targets[t].Stage == l.stage {
					l.piece(e, r, c, &c.Targets[t], k)
				}
			}
		}
	}
}

// piece adds the outputs of one record's piece.
func (l *lister) piece(e *Extent, r *Run, c *Piece, to *Target, record int64) {
	t := &l.Program.Templates[c.Template]
	expert := l.Program.expert(r, c, record)
	slot, ok := l.slot(r, c, record)
	if !ok {
		return
	}
	f := &l.Families[t.Family]
	origin := Origin{fill(f.Pattern, c.Layer, expert, c.Block), l.Source.Files[e.File].Name, r.Offset + record*r.Stride + c.Offset, t.Bytes}
	for o := range t.Outputs {
		out := &t.Outputs[o]
		step := int64(0)
		if len(to.Step) > 0 {
			step = to.Step[o]
		}
		at := to.At[o] + slot*step
		if out.Stack > 0 {
			key := blockKey{to.Stage, to.At[o], step, out}
			if s := l.stacks[key]; s != nil {
				s.Sources = append(s.Sources, origin)
				continue
			}
			at = to.At[o]
			l.stacks[key] = l.add(f, t, out, c, expert, at, origin)
			continue
		}
		l.add(f, t, out, c, expert, at, origin)
	}
}

// slot is the place of a record among those of its target; false where the rank
// does not have its expert.
func (l *lister) slot(r *Run, c *Piece, record int64) (int64, bool) {
	return l.Plan.slot(r, c, record, l.rank-l.stage*l.Topology().StageRanks())
}

// slot is the place of a record, for a rank counted within its stage.
func (p *Plan) slot(r *Run, c *Piece, record int64, rank int) (int64, bool) {
	if !c.ByID {
		return record, true
	}
	slot := int64(p.Program.expert(r, c, record))
	if w := p.Program.Templates[c.Template].Window; w.Size > 0 {
		slot -= w.of(rank)
		return slot, slot >= 0 && slot < w.Size
	}
	return slot, true
}

func (l *lister) add(f *Family, t *Template, out *Output, c *Piece, expert uint32, at int64, origin Origin) *Tensor {
	x := &Tensor{Name: fill(out.Name, c.Layer, expert, c.Block), Rank: l.rank, DType: f.DType, Shape: out.Shape, Global: out.Global,
		Offset: at, Bytes: out.Bytes * max(out.Stack, 1), Transform: out.Transform, Sources: []Origin{origin}}
	if out.Axis >= 0 && out.Axis < len(out.Shape) {
		axis := out.Axis
		x.Axis = &axis
		if len(out.Moves) == 1 {
			part := l.part(t, out)
			x.Range = []uint64{uint64(part) * out.Shape[axis], uint64(part+1) * out.Shape[axis]}
		}
	}
	l.list = append(l.list, x)
	return x
}

// part is which piece of the axis the rank has.
func (l *lister) part(t *Template, out *Output) int {
	rank := l.rank - l.stage*l.Topology().StageRanks()
	part := 0
	for _, m := range out.Moves[0].Parts {
		part = m.of(rank)
	}
	return part
}
