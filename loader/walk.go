package loader

import (
	"cmp"
	"fmt"
	"slices"

	"ckpt/shard"
)

// program is a copy program made ready for the ranks of this machine: runs in
// one list, and templates with their moves worked out for each rank.
type program struct {
	plan    *shard.Plan
	runs    []run
	kinds   []kind
	locals  []local
	of      [][]int // the local of each rank of each stage, or -1
	tensors int64   // source tensors of all runs
	largest int64   // bytes of the largest output that is assembled
}

// local is a rank of this machine.
type local struct {
	rank, stage, within int // within its stage
	device              int
}

// run is a shard.Run with what a walk asks all the time.
type run struct {
	*shard.Run
	file     int
	from, to int64 // in the file
	stride   int64 // also of a single record
	first    int64 // number of its first tensor
	whole    bool  // some of its outputs are assembled
}

// kind is a template.
type kind struct {
	bytes   int64
	window  shard.Window
	outputs []output
}

// output is one output of a template.
type output struct {
	bytes     int64
	transform string
	dtype     string
	assemble  bool
	groups    []group
}

// group is the ranks of a stage that take the same bytes.
type group struct {
	ranks []int // within the stage
	moves []move
}

// move is a shard.Move of one rank, in the order of the source.
type move struct {
	from, to int64
	run      int64
	loops    []shard.Loop // slowest first; none: one run
	span     int64        // from the first byte that is read to the last
}

// oneByOne is from which length on the runs of a move are copied one by one
// where they make no rectangle, in place of being assembled.
const oneByOne = 64 << 10

// newProgram works a plan out for some of its ranks.
func newProgram(p *shard.Plan, ranks []int, devices int) (*program, error) {
	g := &program{plan: p}
	size := p.Topology().StageRanks()
	for range p.Stages {
		of := make([]int, size)
		for i := range of {
			of[i] = -1
		}
		g.of = append(g.of, of)
	}
	var within []int
	for i, r := range ranks {
		g.locals = append(g.locals, local{rank: r, stage: r / size, within: r % size, device: r % devices})
		g.of[r/size][r%size] = i
		within = append(within, r%size)
	}
	slices.Sort(within)
	within = slices.Compact(within)
	for i := range p.Program.Templates {
		k, err := g.kind(&p.Program.Templates[i], within)
		if err != nil {
			return nil, fmt.Errorf("template %d: %w", i, err)
		}
		g.kinds = append(g.kinds, k)
	}
	for i := range p.Program.Extents {
		e := &p.Program.Extents[i]
		for k := range e.Runs {
			g.add(e.File, &e.Runs[k])
		}
	}
	return g, nil
}

func (g *program) add(file int, r *shard.Run) {
	last := &r.Pieces[len(r.Pieces)-1]
	length := last.Offset + g.kinds[last.Template].bytes
	x := run{Run: r, file: file, from: r.Offset, stride: max(length, 1), first: g.tensors}
	if r.Records() > 1 {
		x.stride = r.Stride
	}
	x.to = r.Offset + (r.Records()-1)*r.Stride + length
	for i := range r.Pieces {
		for o := range g.kinds[r.Pieces[i].Template].outputs {
			x.whole = x.whole || g.kinds[r.Pieces[i].Template].outputs[o].assemble
		}
	}
	g.tensors += r.Records() * int64(len(r.Pieces))
	g.runs = append(g.runs, x)
}

func (g *program) kind(t *shard.Template, within []int) (kind, error) {
	k := kind{bytes: t.Bytes, window: t.Window}
	for i := range t.Outputs {
		out := &t.Outputs[i]
		o := output{bytes: out.Bytes, transform: out.Transform, dtype: g.plan.Families[t.Family].DType}
		if o.transform != "" {
			if _, err := transformOf(o.transform, o.dtype); err != nil {
				return k, err
			}
		}
		for _, rank := range within {
			o.add(rank, movesOf(out, rank))
		}
		if o.assemble = o.needsAssembly(); o.assemble {
			g.largest = max(g.largest, o.bytes*int64(len(o.groups)))
		}
		k.outputs = append(k.outputs, o)
	}
	return k, nil
}

// add puts a rank to those that take the same bytes.
func (o *output) add(rank int, moves []move) {
	same := func(a, b move) bool {
		return a.from == b.from && a.to == b.to && a.run == b.run && slices.Equal(a.loops, b.loops)
	}
	for i := range o.groups {
		if slices.EqualFunc(o.groups[i].moves, moves, same) {
			o.groups[i].ranks = append(o.groups[i].ranks, rank)
			return
		}
	}
	o.groups = append(o.groups, group{[]int{rank}, moves})
}

// needsAssembly says whether an output is put together in memory before it is
// copied: because its numbers change, or because it would go to the device in
// crumbs.
func (o *output) needsAssembly() bool {
	if o.transform != "" {
		return true
	}
	for i := range o.groups {
		if slices.ContainsFunc(o.groups[i].moves, func(m move) bool {
			return len(m.loops) > 0 && !m.rows() && m.run < oneByOne
		}) {
			return true
		}
	}
	return false
}

// rows says whether the move reads rows that lie together on the rank.
func (m *move) rows() bool { return len(m.loops) == 1 && m.loops[0].To == m.run }

func movesOf(o *shard.Output, rank int) []move {
	var list []move
	for i := range o.Moves {
		if m := moveOf(&o.Moves[i], rank); m.run > 0 {
			list = append(list, m)
		}
	}
	return list
}

// moveOf works a move out for a rank: parts are added up, loops brought into
// the order of the source, and what lies together joined.
func moveOf(s *shard.Move, rank int) move {
	m := move{from: s.From, to: s.To, run: s.Run}
	for _, p := range s.Parts {
		m.from += p.Step * int64(rank/p.Div%p.Mod)
	}
	loops := slices.DeleteFunc(slices.Clone(s.Loops), func(l shard.Loop) bool { return l.N == 1 })
	slices.SortStableFunc(loops, func(a, b shard.Loop) int { return cmp.Compare(a.From, b.From) })
	var kept []shard.Loop // fastest first
	for _, l := range loops {
		if n := len(kept); n > 0 {
			if in := &kept[n-1]; l.From == in.From*in.N && l.To == in.To*in.N {
				in.N *= l.N
				continue
			}
		} else if l.From == m.run && l.To == m.run {
			m.run *= l.N
			continue
		}
		kept = append(kept, l)
	}
	m.span = m.run
	for _, l := range kept {
		m.span += (l.N - 1) * l.From
	}
	slices.Reverse(kept)
	m.loops = kept
	return m
}

// records are those of a run that have bytes from lo up to hi.
func (r *run) records(lo, hi int64) (first, end int64) {
	first = max(0, (lo-r.from)/r.stride)
	end = min(r.Records(), (hi-r.from+r.stride-1)/r.stride)
	return first, end
}

// expert is the expert of a record of a piece.
func (g *program) expert(r *run, c *shard.Piece, record int64) int64 {
	if r.Order > 0 {
		return int64(g.plan.Program.Orders[r.Order-1][record])
	}
	return int64(c.Expert) + record
}

// slot is the place of a record on a rank of a stage; false where the rank does
// not have it. id is the expert's.
func (k *kind) slot(c *shard.Piece, record, id int64, rank int) (int64, bool) {
	if !c.ByID {
		return record, true
	}
	if k.window.Size == 0 {
		return id, true
	}
	slot := id - k.window.Size*int64(rank/k.window.Div%k.window.Mod)
	return slot, slot >= 0 && slot < k.window.Size
}

// at is where the slot of an output lies in the arena.
func at(to *shard.Target, output int, slot int64) int64 {
	if len(to.Step) == 0 {
		return to.At[output]
	}
	return to.At[output] + slot*to.Step[output]
}

// usualRows is the shape of the rows that are most of what is taken as
// rectangles; 0 where there are none.
func (g *program) usualRows() (run, stride int) {
	bytes := make([]int64, len(g.kinds))
	for i := range g.runs {
		for p := range g.runs[i].Pieces {
			n := g.runs[i].Pieces[p].Template
			bytes[n] += g.kinds[n].bytes * g.runs[i].Records()
		}
	}
	most := int64(0)
	for i := range g.kinds {
		for _, o := range g.kinds[i].outputs {
			for _, group := range o.groups {
				for _, m := range group.moves {
					if !o.assemble && m.rows() && m.run < oneByOne && bytes[i] > most {
						most, run, stride = bytes[i], int(m.run), int(m.loops[0].From)
					}
				}
			}
		}
	}
	return run, stride
}
