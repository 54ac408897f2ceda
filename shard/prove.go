package shard

import (
	"cmp"
	"fmt"
	"slices"

	"ckpt/dtype"
)

// Prove shows that a plan is right, or says what is wrong with it. It reads the
// program alone, not how it was made, and computes with intervals: what files
// hold, what moves read and write, and what arenas have room for. A plan without
// a program, or with numbers that are out of range, is not proven.
func (p *Plan) Prove() *Proof {
	v := &prover{Plan: p, proof: &Proof{CoveredOnce: true, WrittenOnce: true, EqualRanks: true, ScaleAligned: true, Totals: true}}
	if p.Program == nil {
		v.all("there is no program to prove")
		return v.proof
	}
	if err := p.validate(); err != nil {
		v.all(err.Error())
		return v.proof
	}
	v.templates()
	v.coverage()
	v.arenas()
	v.scales()
	v.sums()
	return v.proof
}

// prover collects what is wrong.
type prover struct {
	*Plan
	proof *Proof

	read    int64        // bytes of pieces
	tensors int64        // pieces
	use     []familyUse  // by family
	allocs  [][]interval // by stage
	blocks  map[blockKey]*block
	whole   map[wholeKey]bool
}

type familyUse struct {
	count, total int64
	stages       []int64
}

// maxFaults bounds the faults that are listed.
const maxFaults = 20

func (v *prover) fault(which *bool, format string, args ...any) {
	*which = false
	if len(v.proof.Faults) < maxFaults {
		v.proof.Faults = append(v.proof.Faults, fmt.Sprintf(format, args...))
	}
}

func (v *prover) all(msg string) {
	*v.proof = Proof{Faults: []string{msg}}
}

// templates checks, once a template, that its moves read every byte of the
// tensor once, over all ranks, and write every byte of each output once.
func (v *prover) templates() {
	for i := range v.Program.Templates {
		t := &v.Program.Templates[i]
		var read []interval
		var err error
		for o := range t.Outputs {
			var written []interval
			for m := range t.Outputs[o].Moves {
				move := &t.Outputs[o].Moves[m]
				if !v.everyPart(t, move) {
					v.fault(&v.proof.CoveredOnce, "template %d (%s): no rank has some of its parts", i, v.pattern(t))
				}
				if err == nil {
					read, err = move.source().expand(read)
				}
				if err == nil {
					written, err = move.destination().expand(written)
				}
			}
			if err != nil {
				break
			}
			if bad := tile(written, t.Outputs[o].Bytes); bad != nil {
				v.fault(&v.proof.WrittenOnce, "%s: output %s: %v", v.pattern(t), t.Outputs[o].Name, bad)
			}
		}
		if err != nil {
			v.fault(&v.proof.CoveredOnce, "%s: %v", v.pattern(t), err)
			v.proof.WrittenOnce = false
			continue
		}
		for _, d := range t.Dropped {
			read = append(read, interval{d.From, d.To})
		}
		if bad := tile(read, t.Bytes); bad != nil {
			v.fault(&v.proof.CoveredOnce, "%s: %v", v.pattern(t), bad)
		}
	}
}

func (v *prover) pattern(t *Template) string { return v.Families[t.Family].Pattern }

// everyPart says whether, for every combination of the parts of a move and the
// windows of its experts, there is a rank that has it.
func (v *prover) everyPart(t *Template, m *Move) bool {
	shares := []share{}
	if t.Window.Size > 0 {
		shares = append(shares, share{t.Window.Div, t.Window.Mod})
	}
	for _, part := range m.Parts {
		shares = append(shares, share{part.Div, part.Mod})
	}
	want := 1
	for _, s := range shares {
		if want *= s.Mod; want > v.Topology().StageRanks() {
			return false
		}
	}
	seen := make([]bool, want)
	n := 0
	for rank := range v.Topology().StageRanks() {
		at := 0
		for _, s := range shares {
			at = at*s.Mod + s.of(rank)
		}
		if !seen[at] {
			seen[at] = true
			n++
		}
	}
	return n == want
}

// coverage checks that the pieces and the skipped ranges are all that the files
// hold, each byte once, and that extents hold their runs in order.
func (v *prover) coverage() {
	held := make([][]interval, len(v.Source.Files))
	for _, h := range v.Program.Skipped {
		held[h.File] = append(held[h.File], interval{h.Offset, h.Offset + h.Bytes})
	}
	file, end := 0, int64(0)
	for i := range v.Program.Extents {
		e := &v.Program.Extents[i]
		if e.File < file || e.File == file && e.Offset < end {
			v.fault(&v.proof.CoveredOnce, "extent %d is not in the order of the files, or reads bytes again", i)
		}
		file, end = e.File, e.Offset+e.Bytes
		at := e.Offset
		for k := range e.Runs {
			r := &e.Runs[k]
			length := v.record(r)
			stop := r.Offset + (r.Records()-1)*r.Stride + length
			if r.Offset < at || stop > end {
				v.fault(&v.proof.CoveredOnce, "extent %d: run %d is not within it, or not in order", i, k)
			}
			if r.Records() > 1 && length != r.Stride {
				v.fault(&v.proof.CoveredOnce, "extent %d: records of run %d are %d bytes apart and hold %d", i, k, r.Stride, length)
				continue
			}
			held[e.File] = append(held[e.File], interval{r.Offset, stop})
			at = stop
		}
	}
	for i, list := range held {
		f := &v.Source.Files[i]
		for k := range list {
			list[k].from -= f.DataStart
			list[k].to -= f.DataStart
		}
		if err := tile(list, f.Size-f.DataStart); err != nil {
			v.fault(&v.proof.CoveredOnce, "%s: of its data, %v", f.Name, err)
		}
	}
}

// record is how many bytes the pieces of a record hold; they have to touch.
func (v *prover) record(r *Run) int64 {
	at := int64(0)
	for i := range r.Pieces {
		c := &r.Pieces[i]
		if c.Offset != at {
			v.fault(&v.proof.CoveredOnce, "a record at %d: piece %d begins at %d, not at %d", r.Offset, i, c.Offset, at)
		}
		at = c.Offset + v.Program.Templates[c.Template].Bytes
	}
	if at > maxPlace || at < 0 {
		v.fault(&v.proof.CoveredOnce, "a record at %d is too large", r.Offset)
		return 0
	}
	return at
}

// blockKey is a stack or block of experts: what several pieces fill together.
type blockKey struct {
	stage  int
	at     int64
	step   int64
	output *Output
}

type block struct {
	template *Template
	slots    []uint64 // a bit an expert
	left     int64
}

type wholeKey struct{ order, experts int }

// maxAllocations bounds the tensors that a proof looks at one by one. A Kimi K3
// with every expert for itself has half a million.
const maxAllocations = 1 << 24

// arenas checks that every tensor lies in its arena, aligned, alone and written
// whole.
func (v *prover) arenas() {
	v.allocs = make([][]interval, len(v.Stages))
	v.blocks, v.whole = map[blockKey]*block{}, map[wholeKey]bool{}
	v.use = make([]familyUse, len(v.Families))
	for i := range v.use {
		v.use[i].stages = make([]int64, len(v.Stages))
	}
	for i := range v.Program.Extents {
		for k := range v.Program.Extents[i].Runs {
			r := &v.Program.Extents[i].Runs[k]
			if v.tensors += r.Records() * int64(len(r.Pieces)); v.tensors > maxAllocations {
				v.fault(&v.proof.WrittenOnce, "more than %d tensors are not proven", maxAllocations)
				return
			}
			for c := range r.Pieces {
				v.piece(r, &r.Pieces[c])
			}
		}
	}
	for key, b := range v.blocks {
		if b.left > 0 {
			v.fault(&v.proof.WrittenOnce, "%s: %d experts of the block at %d of stage %d are not written", v.pattern(b.template), b.left, key.at, key.stage)
		}
	}
	for s, list := range v.allocs {
		v.stage(&v.Stages[s], list)
	}
	slices.Sort(v.proof.Faults)
}

func (v *prover) piece(r *Run, c *Piece) {
	t := &v.Program.Templates[c.Template]
	n := r.Records()
	v.read += t.Bytes * n
	u := &v.use[t.Family]
	u.count += n
	u.total += t.Bytes * n
	for i := range c.Targets {
		to := &c.Targets[i]
		for o := range t.Outputs {
			out := &t.Outputs[o]
			step := out.Bytes
			if len(to.Step) > 0 {
				step = to.Step[o]
			}
			if n > 1 && step < out.Bytes {
				v.fault(&v.proof.WrittenOnce, "%s: tensors of %d bytes lie %d apart", v.pattern(t), out.Bytes, step)
			}
			if c.ByID {
				v.byID(r, c, t, out, to, o, step)
				continue
			}
			u.stages[to.Stage] += out.Bytes * n
			end := to.At[o]
			if !reach(&end, step, n-1) || end > maxPlace-out.Bytes {
				v.fault(&v.proof.WrittenOnce, "%s: a place is out of range", v.pattern(t))
				continue
			}
			for k := range n {
				at := to.At[o] + k*step
				v.allocs[to.Stage] = append(v.allocs[to.Stage], interval{at, at + out.Bytes})
			}
		}
	}
}

// byID enters experts into their block, and the block into the arena when it is
// met first.
func (v *prover) byID(r *Run, c *Piece, t *Template, out *Output, to *Target, o int, step int64) {
	slots := out.Stack
	if slots == 0 {
		slots = t.Window.Size
	}
	experts := slots
	if t.Window.Size > 0 {
		experts = t.Window.Size * int64(t.Window.Mod)
	}
	if out.Stack > 0 && step != out.Bytes || t.Window.Size > 0 && t.Window.Size != slots || experts > maxAllocations || experts < 1 {
		v.fault(&v.proof.WrittenOnce, "%s: %d slots, %d bytes apart, for %d experts", v.pattern(t), slots, step, experts)
		return
	}
	key := blockKey{to.Stage, to.At[o], step, out}
	b := v.blocks[key]
	if b == nil {
		b = &block{template: t, left: experts}
		v.blocks[key] = b
		v.room(t, out, to.Stage, to.At[o], step, slots)
	}
	if v.fills(r, c, experts) && b.left == experts {
		b.left = 0
		return
	}
	if b.slots == nil {
		b.slots = make([]uint64, (experts+63)/64)
		if b.left == 0 { // filled before
			for i := range b.slots {
				b.slots[i] = ^uint64(0)
			}
		}
	}
	for k := range r.Records() {
		id := int64(v.expert(r, c, k))
		if id >= experts || b.slots[id/64]>>(id%64)&1 != 0 {
			v.fault(&v.proof.WrittenOnce, "%s: expert %d is written twice, or is none of %d", v.pattern(t), id, experts)
			return
		}
		b.slots[id/64] |= 1 << (id % 64)
		b.left--
	}
}

// room is the arena space of a block: one tensor, or one for each slot.
func (v *prover) room(t *Template, out *Output, stage int, at, step, slots int64) {
	v.use[t.Family].stages[stage] += out.Bytes * slots
	end := at
	if !reach(&end, step, slots) {
		v.fault(&v.proof.WrittenOnce, "%s: a place is out of range", v.pattern(t))
		return
	}
	if out.Stack > 0 {
		v.allocs[stage] = append(v.allocs[stage], interval{at, at + out.Bytes*slots})
		return
	}
	for k := range slots {
		v.allocs[stage] = append(v.allocs[stage], interval{at + k*step, at + k*step + out.Bytes})
	}
}

// expert is the expert of a record.
func (v *prover) expert(r *Run, c *Piece, record int64) uint32 { return v.Program.expert(r, c, record) }

func (p *Program) expert(r *Run, c *Piece, record int64) uint32 {
	if r.Order > 0 {
		return p.Orders[r.Order-1][record]
	}
	return c.Expert + uint32(record)
}

// fills says whether a run alone has every expert once. Runs share their orders,
// so each order is looked at once.
func (v *prover) fills(r *Run, c *Piece, experts int64) bool {
	if r.Records() != experts {
		return false
	}
	if r.Order == 0 {
		return c.Expert == 0
	}
	key := wholeKey{order: r.Order, experts: int(experts)}
	known, ok := v.whole[key]
	if !ok {
		ids := slices.Sorted(slices.Values(v.Program.Orders[r.Order-1]))
		known = true
		for i, id := range ids {
			known = known && int64(id) == int64(i)
		}
		v.whole[key] = known
	}
	return known
}

// stage checks the tensors of an arena against each other.
func (v *prover) stage(s *Stage, list []interval) {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	bytes, end := int64(0), int64(0)
	for _, a := range list {
		switch {
		case a.from < end && a.from < a.to:
			v.fault(&v.proof.WrittenOnce, "stage %d: bytes from %d on are written twice", s.Stage, a.from)
		case a.from%Alignment != 0:
			v.fault(&v.proof.WrittenOnce, "stage %d: the tensor at %d is not aligned to %d bytes", s.Stage, a.from, Alignment)
		case a.to > s.Arena:
			v.fault(&v.proof.WrittenOnce, "stage %d: the tensor at %d ends at %d, beyond the arena of %d", s.Stage, a.from, a.to, s.Arena)
		}
		end = max(end, a.to)
		bytes += a.to - a.from
	}
	if bytes != s.Bytes || int64(len(list)) != s.Tensors {
		v.fault(&v.proof.EqualRanks, "stage %d: ranks hold %d tensors of %d bytes, the plan says %d of %d", s.Stage, len(list), bytes, s.Tensors, s.Bytes)
	}
	for r := range s.Ranks {
		rank := v.Ranks[s.First+r]
		if rank != (Rank{s.First + r, s.Stage, s.Bytes, s.Arena - s.Bytes, s.Tensors}) {
			v.fault(&v.proof.EqualRanks, "rank %d is not like the others of stage %d", s.First+r, s.Stage)
		}
	}
}

// size is the bits of an element of a template's tensor.
func (v *prover) bitsOf(t *Template) int64 {
	kind, _ := dtype.Parse(v.Families[t.Family].DType)
	return int64(kind.Bits())
}
