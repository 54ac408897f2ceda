package shard

import (
	"fmt"
	"math/bits"

	"ckpt/dtype"
)

// Bounds of a plan's parts, so that a hostile file costs no more than a moment.
const (
	maxRanks   = 1 << 16
	maxOutputs = 16      // of a template; 2
	maxMoves   = 16      // of an output; 3
	maxLoops   = 8       // of a move; 3
	maxPlace   = 1 << 62 // places and sizes in bytes
)

// validate checks that numbers are in range, so that nothing overflows and no
// index is out of its list. It does not say that a plan is right: Prove does.
func (p *Plan) validate() error {
	for _, step := range []func() error{p.shape, p.lists} {
		if err := step(); err != nil {
			return err
		}
	}
	if p.Program == nil {
		return nil
	}
	for i := range p.Program.Templates {
		if err := p.template(&p.Program.Templates[i]); err != nil {
			return fmt.Errorf("template %d: %w", i, err)
		}
	}
	for i := range p.Program.Extents {
		if err := p.extent(&p.Program.Extents[i]); err != nil {
			return fmt.Errorf("extent %d: %w", i, err)
		}
	}
	for i, h := range p.Program.Skipped {
		if h.File < 0 || h.File >= len(p.Source.Files) || !inRange(h.Offset, h.Bytes) {
			return fmt.Errorf("skipped range %d is out of range", i)
		}
	}
	return nil
}

// shape checks degrees, ranks and stages against each other.
func (p *Plan) shape() error {
	t := p.Topology()
	if p.Layout != LayoutEngine && p.Layout != LayoutCheckpoint || p.ALog != ALogStored && p.ALog != ALogHeads {
		return fmt.Errorf("layout %.40q and A_log %.40q are none", p.Layout, p.ALog)
	}
	if err := t.check(); err != nil || t != t.whole() {
		return fmt.Errorf("degrees %v are none", t)
	}
	if t.Ranks() > maxRanks || len(p.Stages) != t.PP || len(p.Ranks) != t.Ranks() {
		return fmt.Errorf("%d stages and %d ranks for %v", len(p.Stages), len(p.Ranks), t)
	}
	for i, s := range p.Stages {
		if s.Stage != i || s.First != i*t.StageRanks() || s.Ranks != t.StageRanks() || !inRange(s.Arena, s.Bytes, s.Tensors) {
			return fmt.Errorf("stage %d is not in order", i)
		}
	}
	return nil
}

// lists checks families and files.
func (p *Plan) lists() error {
	for i := range p.Families {
		f := &p.Families[i]
		if len(f.Stages) != len(p.Stages) || !inRange(append([]int64{f.Count, f.Total, f.PerRank}, f.Stages...)...) {
			return fmt.Errorf("family %d is out of range", i)
		}
		if _, ok := dtype.Parse(f.DType); !ok {
			return fmt.Errorf("family %d: %.40q is no dtype", i, f.DType)
		}
	}
	for i, g := range p.Groups {
		if len(g.Stages) != len(p.Stages) {
			return fmt.Errorf("group %d is out of range", i)
		}
	}
	for i, f := range p.Source.Files {
		if !inRange(f.Size, f.DataStart) || f.DataStart > f.Size {
			return fmt.Errorf("file %d is out of range", i)
		}
	}
	return nil
}

func inRange(list ...int64) bool {
	for _, n := range list {
		if n < 0 || n > maxPlace {
			return false
		}
	}
	return true
}

func (p *Plan) template(t *Template) error {
	w := t.Window
	switch {
	case t.Family < 0 || t.Family >= len(p.Families):
		return fmt.Errorf("there is no family %d", t.Family)
	case t.Scale < 0 || t.Scale > len(p.Program.Templates):
		return fmt.Errorf("there is no template %d", t.Scale-1)
	case !inRange(t.Bytes, w.Size) || w != (Window{}) && (w.Size < 1 || !p.cycles(w.Div, w.Mod)):
		return fmt.Errorf("bytes %d, window %+v", t.Bytes, w)
	case len(t.Outputs) == 0 || len(t.Outputs) > maxOutputs:
		return fmt.Errorf("%d outputs", len(t.Outputs))
	}
	for _, d := range t.Dropped {
		if d.From < 0 || d.To < d.From || d.To > t.Bytes {
			return fmt.Errorf("dropped range %+v", d)
		}
	}
	for i := range t.Outputs {
		if err := p.output(t, &t.Outputs[i]); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// cycles reports whether the ranks of a stage take all of mod numbers, each
// equally often.
func (p *Plan) cycles(div, mod int) bool {
	n := p.Topology().StageRanks()
	return div >= 1 && mod >= 1 && mod <= n && div <= n/mod && n%(div*mod) == 0
}

func (p *Plan) output(t *Template, o *Output) error {
	if !inRange(o.Bytes, o.Stack) || len(o.Moves) > maxMoves {
		return fmt.Errorf("bytes %d, stack %d, %d moves", o.Bytes, o.Stack, len(o.Moves))
	}
	kind, _ := dtype.Parse(p.Families[t.Family].DType)
	size, err := kind.Size(o.Shape)
	if err != nil {
		return err
	}
	if hi, lo := bits.Mul64(uint64(o.Bytes), uint64(max(o.Stack, 1))); hi != 0 || lo != size || size > maxPlace {
		return fmt.Errorf("%s %v has %d bytes, not %d times %d", kind, o.Shape, size, max(o.Stack, 1), o.Bytes)
	}
	for i := range o.Moves {
		m := &o.Moves[i]
		if len(m.Loops) > maxLoops || len(m.Parts) > maxLoops {
			return fmt.Errorf("move %d has too many loops", i)
		}
		from, to := m.From, m.To
		ok := reach(&from, m.Run, 1) && reach(&to, m.Run, 1)
		for _, l := range m.Loops {
			ok = ok && l.N >= 1 && reach(&from, l.From, l.N-1) && reach(&to, l.To, l.N-1)
		}
		for _, part := range m.Parts {
			ok = ok && p.cycles(part.Div, part.Mod) && reach(&from, part.Step, int64(part.Mod-1))
		}
		if !ok || from > t.Bytes || to > o.Bytes {
			return fmt.Errorf("move %d leads out of the tensor", i)
		}
	}
	return p.described(t, o, kind)
}

// reach adds n times step to at; false where a number is negative or too large.
func reach(at *int64, step, n int64) bool {
	if !inRange(*at, step, n) {
		return false
	}
	hi, lo := bits.Mul64(uint64(step), uint64(n))
	if hi != 0 || lo > maxPlace || *at+int64(lo) > maxPlace {
		return false
	}
	*at += int64(lo)
	return true
}

func (p *Plan) extent(e *Extent) error {
	if e.File < 0 || e.File >= len(p.Source.Files) || !inRange(e.Offset, e.Bytes) || e.Offset > p.Source.Files[e.File].Size-e.Bytes {
		return fmt.Errorf("bytes %d from %d on of file %d", e.Bytes, e.Offset, e.File)
	}
	for i := range e.Runs {
		if err := p.run(&e.Runs[i]); err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
	}
	return nil
}

// Records is how many records a run has.
func (r *Run) Records() int64 { return max(r.Count, 1) }

func (p *Plan) run(r *Run) error {
	switch {
	case !inRange(r.Offset, r.Count, r.Stride) || r.Count > 1 && r.Stride == 0:
		return fmt.Errorf("%d records, %d bytes apart, from %d on", r.Count, r.Stride, r.Offset)
	case r.Order < 0 || r.Order > len(p.Program.Orders):
		return fmt.Errorf("there is no order %d", r.Order-1)
	case r.Order > 0 && int64(len(p.Program.Orders[r.Order-1])) != r.Records():
		return fmt.Errorf("%d records in an order of %d", r.Records(), len(p.Program.Orders[r.Order-1]))
	case len(r.Pieces) == 0:
		return fmt.Errorf("there are no pieces")
	}
	end := r.Offset
	if !reach(&end, r.Stride, r.Records()-1) {
		return fmt.Errorf("it leads out of the file")
	}
	for i := range r.Pieces {
		if err := p.piece(r, &r.Pieces[i]); err != nil {
			return fmt.Errorf("piece %d: %w", i, err)
		}
	}
	return nil
}

func (p *Plan) piece(r *Run, c *Piece) error {
	if c.Template < 0 || c.Template >= len(p.Program.Templates) || !inRange(c.Offset) || len(c.Targets) == 0 {
		return fmt.Errorf("template %d, offset %d, %d targets", c.Template, c.Offset, len(c.Targets))
	}
	t := &p.Program.Templates[c.Template]
	if int64(c.Expert)+r.Records() > 1<<32 {
		return fmt.Errorf("expert %d and %d more", c.Expert, r.Records()-1)
	}
	for _, to := range c.Targets {
		steps := len(to.Step) == len(t.Outputs) || len(to.Step) == 0 && r.Records() == 1 && !c.ByID
		if to.Stage < 0 || to.Stage >= len(p.Stages) || len(to.At) != len(t.Outputs) || !steps || !inRange(to.At...) || !inRange(to.Step...) {
			return fmt.Errorf("target %+v", to)
		}
	}
	for i := range t.Outputs {
		if !c.ByID && (t.Outputs[i].Stack > 0 || t.Window.Size > 0) {
			return fmt.Errorf("experts that are not placed by id")
		}
	}
	return nil
}
