package shard

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// clone copies a plan through its JSON.
func clone(t fatal, p *Plan) *Plan {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	q := &Plan{}
	if err := json.Unmarshal(data, q); err != nil {
		t.Fatal(err)
	}
	return q
}

// mutation breaks a plan; which says where, of as many places as there are. It
// is false where the plan has no such place.
type mutation struct {
	name  string
	apply func(p *Plan, which int) bool
}

func pick[T any](list []T, which int) *T { return &list[which%len(list)] }

func runOf(p *Plan, which int) *Run {
	return pick(pick(p.Program.Extents, which).Runs, which/7)
}

func pieceOf(p *Plan, which int) *Piece { return pick(runOf(p, which).Pieces, which/3) }

func moveOf(p *Plan, which int) *Move {
	o := pick(pick(p.Program.Templates, which).Outputs, which/5)
	return pick(o.Moves, which/3)
}

// mutations are what careless planners get wrong.
var mutations = []mutation{
	{"an extent is dropped", func(p *Plan, which int) bool {
		i := which % len(p.Program.Extents)
		p.Program.Extents = slices.Delete(p.Program.Extents, i, i+1)
		return true
	}},
	{"an extent occurs twice", func(p *Plan, which int) bool {
		i := which % len(p.Program.Extents)
		p.Program.Extents = slices.Insert(p.Program.Extents, i, p.Program.Extents[i])
		return true
	}},
	{"extents are swapped", func(p *Plan, which int) bool {
		if len(p.Program.Extents) < 2 {
			return false
		}
		i := which % (len(p.Program.Extents) - 1)
		x := p.Program.Extents
		x[i], x[i+1] = x[i+1], x[i]
		return true
	}},
	{"an extent is longer", func(p *Plan, which int) bool { pick(p.Program.Extents, which).Bytes++; return true }},
	{"an extent begins later", func(p *Plan, which int) bool {
		e := pick(p.Program.Extents, which)
		e.Offset++
		e.Bytes--
		return true
	}},
	{"a run is dropped", func(p *Plan, which int) bool {
		e := pick(p.Program.Extents, which)
		i := which / 7 % len(e.Runs)
		e.Runs = slices.Delete(e.Runs, i, i+1)
		return true
	}},
	{"a run occurs twice", func(p *Plan, which int) bool {
		e := pick(p.Program.Extents, which)
		i := which / 7 % len(e.Runs)
		e.Runs = slices.Insert(e.Runs, i, e.Runs[i])
		return true
	}},
	{"a run is shifted", func(p *Plan, which int) bool { runOf(p, which).Offset++; return true }},
	{"a run is shorter", func(p *Plan, which int) bool {
		r := runOf(p, which)
		if r.Count < 3 {
			return false
		}
		r.Count--
		if r.Order > 0 {
			p.Program.Orders = append(p.Program.Orders, p.Program.Orders[r.Order-1][:r.Count])
			r.Order = len(p.Program.Orders)
		}
		return true
	}},
	{"records are nearer", func(p *Plan, which int) bool {
		r := runOf(p, which)
		if r.Count < 2 {
			return false
		}
		r.Stride--
		return true
	}},
	{"a piece is dropped", func(p *Plan, which int) bool {
		r := runOf(p, which)
		if len(r.Pieces) < 2 {
			return false
		}
		i := which / 3 % len(r.Pieces)
		r.Pieces = slices.Delete(r.Pieces, i, i+1)
		return true
	}},
	{"a target is shifted", func(p *Plan, which int) bool {
		*pick(pick(pieceOf(p, which).Targets, which).At, which) += Alignment
		return true
	}},
	{"a target is not aligned", func(p *Plan, which int) bool {
		*pick(pick(pieceOf(p, which).Targets, which).At, which) += 8
		return true
	}},
	{"a target is in another stage", func(p *Plan, which int) bool {
		if p.PP < 2 {
			return false
		}
		t := pick(pieceOf(p, which).Targets, which)
		t.Stage = (t.Stage + 1) % p.PP
		return true
	}},
	{"two experts change places in one order", func(p *Plan, which int) bool {
		c := pieceOf(p, which)
		r := runOf(p, which)
		if !c.ByID || r.Order == 0 {
			return false
		}
		o := slices.Clone(p.Program.Orders[r.Order-1])
		o[0] = o[1]
		p.Program.Orders[r.Order-1] = o
		return true
	}},
	{"slots are wider", func(p *Plan, which int) bool {
		t := pick(pieceOf(p, which).Targets, which)
		if len(t.Step) == 0 {
			return false
		}
		t.Step[0] += Alignment
		return true
	}},
	{"a move reads from elsewhere", func(p *Plan, which int) bool {
		m := moveOf(p, which)
		m.From++
		return true
	}},
	{"a move writes elsewhere", func(p *Plan, which int) bool {
		m := moveOf(p, which)
		m.To++
		return true
	}},
	{"a move is shorter", func(p *Plan, which int) bool {
		m := moveOf(p, which)
		if m.Run < 2 {
			return false
		}
		m.Run--
		return true
	}},
	{"a move is dropped", func(p *Plan, which int) bool {
		o := pick(pick(p.Program.Templates, which).Outputs, which/5)
		o.Moves = o.Moves[1:]
		return true
	}},
	{"a loop is shorter", func(p *Plan, which int) bool {
		m := moveOf(p, which)
		if len(m.Loops) == 0 || m.Loops[0].N < 2 {
			return false
		}
		m.Loops[0].N--
		return true
	}},
	{"a rank takes another part", func(p *Plan, which int) bool {
		m := moveOf(p, which)
		if len(m.Parts) == 0 {
			return false
		}
		m.Parts[0].Step = 0
		return true
	}},
	{"parts are missing", func(p *Plan, which int) bool {
		m := moveOf(p, which)
		if len(m.Parts) == 0 {
			return false
		}
		m.Parts = nil
		return true
	}},
	{"experts of the wrong ranks", func(p *Plan, which int) bool {
		t := pick(p.Program.Templates, which)
		if t.Window.Size < 2 {
			return false
		}
		t.Window.Size--
		return true
	}},
	{"a skipped range is forgotten", func(p *Plan, which int) bool {
		if len(p.Program.Skipped) == 0 {
			return false
		}
		i := which % len(p.Program.Skipped)
		p.Program.Skipped = slices.Delete(p.Program.Skipped, i, i+1)
		return true
	}},
	{"an arena is too small", func(p *Plan, which int) bool { pick(p.Stages, which).Arena -= Alignment; return true }},
	{"a rank holds more", func(p *Plan, which int) bool { pick(p.Ranks, which).Bytes++; return true }},
	{"a stage holds more", func(p *Plan, which int) bool { pick(p.Stages, which).Bytes++; return true }},
	{"a total is off", func(p *Plan, which int) bool {
		t := &p.Totals
		*[]*int64{&t.Source, &t.Read, &t.Device, &t.Replicated, &t.Padding, &t.Skipped, &t.Dropped, &t.Extents, &t.Tensors, &t.Repeated, &t.Gaps}[which%11]++
		return true
	}},
	{"a family is off", func(p *Plan, which int) bool {
		f := pick(p.Families, which)
		*[]*int64{&f.Count, &f.Total}[which%2]++
		return true
	}},
	{"a family's share is off", func(p *Plan, which int) bool {
		f := pick(p.Families, which)
		if f.Action == Skip {
			return false
		}
		f.Stages[0]++
		return true
	}},
	{"a file is longer", func(p *Plan, which int) bool { pick(p.Source.Files, which).Size++; return true }},
}

// parted parts packed codes from their scales and leaves everything
// else right: false where the plan has no such place.
func parted(p *Plan) bool {
	done := false
	for i := range p.Program.Templates {
		t := &p.Program.Templates[i]
		if t.Scale == 0 || len(t.Outputs[0].Moves[0].Parts) == 0 {
			continue
		}
		s := &p.Program.Templates[t.Scale-1]
		part := s.Outputs[0].Moves[0].Parts[0]
		// The ranks take the parts of the scales in another order.
		if part.Mod >= 2 && part.Div == 1 && part.Mod%2 == 0 && part.Mod > 2 {
			half := Part{part.Step, 2, part.Mod / 2}
			odd := Part{part.Step * int64(part.Mod/2), 1, 2}
			for m := range s.Outputs[0].Moves {
				s.Outputs[0].Moves[m].Parts = []Part{half, odd}
			}
			done = true
		}
	}
	return done
}

// Every mutation of a good plan is found, whatever the plan.
func TestProveFindsMutations(t *testing.T) {
	c, m := openAt(t, mini(t), "auto")
	var plans []*Plan
	for _, top := range []Topology{{8, 1, 1}, {4, 2, 2}, {2, 4, 1}} {
		for _, o := range []Options{{}, {Layout: LayoutCheckpoint, ALog: ALogHeads}} {
			if testing.Short() && o.Layout == LayoutCheckpoint && top.PP == 1 {
				continue
			}
			plans = append(plans, planOf(t, c, m, top, o))
		}
	}
	for _, mut := range mutations {
		t.Run(mut.name, func(t *testing.T) {
			tried := 0
			for which := range 30 {
				for i, p := range plans {
					q := clone(t, p)
					if !mut.apply(q, which*17+i) {
						continue
					}
					tried++
					if proof := q.Prove(); proof.OK() {
						t.Fatalf("not found at %d of plan %d", which*17+i, i)
					} else if len(proof.Faults) == 0 {
						t.Fatalf("no fault is named: %+v", proof)
					}
				}
				if tried > 12 {
					break
				}
			}
			if tried == 0 {
				t.Error("no plan has such a place")
			}
		})
	}
	scaled := 0
	for i, p := range plans {
		q := clone(t, p)
		if !parted(q) {
			continue
		}
		proof := q.Prove()
		scaled++
		if proof.ScaleAligned || !proof.CoveredOnce || !proof.WrittenOnce {
			t.Errorf("plan %d: scales that are parted from their codes: %+v", i, proof)
		}
	}
	if scaled == 0 {
		t.Error("no plan parts scales")
	}
}

// Whatever numbers a plan holds, Prove ends and does not panic, and what it
// proves the executor can do.
func TestProveIsSound(t *testing.T) {
	dir := mini(t)
	c, m := openAt(t, dir, "auto")
	p := planOf(t, c, m, Topology{TP: 4, EP: 2}, Options{})
	rapid.Check(t, func(t *rapid.T) {
		q := clone(t, p)
		for range rapid.IntRange(1, 3).Draw(t, "mutations") {
			mut := rapid.SampledFrom(mutations).Draw(t, "mutation")
			if len(q.Program.Extents) == 0 || len(q.Program.Skipped) == 0 || slices.ContainsFunc(q.Program.Extents, func(e Extent) bool { return len(e.Runs) == 0 }) ||
				slices.ContainsFunc(q.Program.Templates, func(t Template) bool { return len(t.Outputs[0].Moves) == 0 }) {
				return
			}
			mut.apply(q, rapid.IntRange(0, 10_000).Draw(t, "which"))
		}
		if q.Prove().OK() {
			execute(t, q, dir)
		}
	})
}
