package shard

import (
	"fmt"
	"slices"
	"strings"
)

// placer gives every output its place in the arenas.
type placer struct {
	*walker
	caster    caster
	templates []Template
	of        []*form // of each template
	stages    []Stage
	cursor    []int64
	stacks    map[stackKey]*stack
	usage     map[usageKey]int64 // bytes a rank by form and stage
	ranges    []layerRange
	tieStages bool // the embedding serves as head as well
	runsOut   []Run
}

type usageKey struct {
	form  *form
	stage int
}

// stackKey tells blocks of experts apart.
type stackKey struct {
	stage    int
	layer    uint32
	template int
	output   int
}

type stack struct {
	at    int64
	count int64 // experts that were placed
}

// align rounds up to where a tensor may begin.
func align(n int64) int64 { return (n + Alignment - 1) &^ (Alignment - 1) }

// template gives the number of the template of a form for a layer.
func (p *placer) template(f *form, layer uint32) (int, error) {
	names := []string{f.pattern}
	if f.engine != nil {
		names = f.family.EngineNames(p.m.Instance, layer)
	}
	for _, c := range f.casts {
		if slices.Equal(c.names, names) {
			return c.number, nil
		}
	}
	if len(names) == 0 {
		return 0, fmt.Errorf("%s: the profile has no engine name for layer %d", f.pattern, layer)
	}
	t, err := p.caster.template(f, names)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.pattern, err)
	}
	p.templates = append(p.templates, t)
	p.of = append(p.of, f)
	f.casts = append(f.casts, cached{names, len(p.templates) - 1})
	return len(p.templates) - 1, nil
}

// perRank is how many bytes of a tensor of the template a rank holds; of
// experts, those that have one.
func (t *Template) perRank() (bytes, padded int64) {
	for i := range t.Outputs {
		bytes += t.Outputs[i].Bytes
		padded += align(t.Outputs[i].Bytes)
	}
	return bytes, padded
}

// divide says which stage holds which layers: so that the fullest rank holds as
// little as can be.
func (p *placer) divide() error {
	var weights []int64
	var first, last int64
	head := slices.ContainsFunc(p.forms, func(f *form) bool { return f.skip == "" && f.role == roleHead })
	p.tieStages = p.t.PP > 1 && !head
	for i := range p.runs {
		for k := range p.runs[i].pieces {
			c := &p.runs[i].pieces[k]
			n, err := p.template(c.form, c.layer)
			if err != nil {
				return err
			}
			bytes, _ := p.templates[n].perRank()
			if bytes *= p.runs[i].count; p.templates[n].Window.Size > 0 {
				bytes /= int64(p.t.EP)
			}
			switch {
			case c.form.layered():
				for int(c.layer) >= len(weights) {
					weights = append(weights, 0)
				}
				weights[c.layer] += bytes
			case c.form.role == roleEmbedding:
				first += bytes
				if p.tieStages {
					last += bytes
				}
			default:
				last += bytes
			}
		}
	}
	of := ""
	if p.o.Keep != nil {
		of = " of what is asked for"
	}
	if err := checkStages(p.t, len(weights), of); err != nil {
		return err
	}
	p.ranges = balance(weights, first, last, p.t.PP)
	return nil
}

// stagesOf is where a piece belongs.
func (p *placer) stagesOf(c *piece) []int {
	last := p.t.PP - 1
	switch {
	case last == 0:
		return []int{0}
	case c.form.layered():
		for s, r := range p.ranges {
			if int(c.layer) < r.end {
				return []int{s}
			}
		}
	case c.form.role == roleEmbedding && p.tieStages:
		return []int{0, last}
	case c.form.role == roleEmbedding:
		return []int{0}
	}
	return []int{last}
}

// place goes over the runs in the order of the files.
func (p *placer) place() error {
	p.cursor = make([]int64, p.t.PP)
	p.stages = make([]Stage, p.t.PP)
	p.stacks, p.usage = map[stackKey]*stack{}, map[usageKey]int64{}
	for s := range p.stages {
		p.stages[s] = Stage{Stage: s, First: s * p.t.StageRanks(), Ranks: p.t.StageRanks()}
		if p.t.PP == 1 || len(p.ranges) > 0 {
			p.stages[s].FirstLayer, p.stages[s].EndLayer = p.ranges[s].from, p.ranges[s].end
		}
	}
	for i := range p.runs {
		r, err := p.run(&p.runs[i])
		if err != nil {
			return err
		}
		p.runsOut = append(p.runsOut, r)
	}
	for s := range p.stages {
		p.stages[s].Arena = p.cursor[s]
	}
	return p.complete()
}

func (p *placer) run(r *run) (Run, error) {
	out := Run{Offset: r.offset, Order: r.order}
	if r.count > 1 {
		out.Count, out.Stride = r.count, r.stride
	}
	record := map[int]int64{} // arena bytes of a record, by stage
	for k := range r.pieces {
		c := &r.pieces[k]
		n, err := p.template(c.form, c.layer)
		if err != nil {
			return out, err
		}
		piece := Piece{Template: n, Offset: c.off, Layer: c.layer, Expert: c.expert, Block: c.block}
		for _, s := range p.stagesOf(c) {
			target := Target{Stage: s}
			for o := range p.templates[n].Outputs {
				p.output(r, c, n, o, &piece, &target, record)
			}
			piece.Targets = append(piece.Targets, target)
		}
		out.Pieces = append(out.Pieces, piece)
	}
	p.settle(r, &out, record)
	return out, nil
}

// output places one output of a piece: in the stack of its layer, in a block of
// experts, or where the next free byte is.
func (p *placer) output(r *run, c *piece, n, o int, piece *Piece, target *Target, record map[int]int64) {
	t := &p.templates[n]
	out := &t.Outputs[o]
	step, slots := out.Bytes, out.Stack
	if slots == 0 && t.Window.Size > 0 {
		step, slots = align(out.Bytes), t.Window.Size
	}
	if slots == 0 {
		target.At = append(target.At, record[target.Stage])
		record[target.Stage] += align(out.Bytes)
		return
	}
	piece.ByID = true
	key := stackKey{target.Stage, c.layer, n, o}
	s := p.stacks[key]
	if s == nil {
		s = &stack{at: p.cursor[target.Stage]}
		p.stacks[key] = s
		p.cursor[target.Stage] += align(step * slots)
		tensors := int64(1)
		if out.Stack == 0 {
			tensors = slots
		}
		p.use(c.form, target.Stage, out.Bytes*slots, tensors)
	}
	s.count += r.count
	target.At = append(target.At, s.at)
	for len(target.Step) < len(target.At) {
		target.Step = append(target.Step, step)
	}
}

// settle gives places to what stands in no block: all records of the run, one
// after the other.
func (p *placer) settle(r *run, out *Run, record map[int]int64) {
	for k := range out.Pieces {
		piece := &out.Pieces[k]
		if piece.ByID {
			continue
		}
		for i := range piece.Targets {
			t := &piece.Targets[i]
			for o := range t.At {
				t.At[o] += p.cursor[t.Stage]
				if r.count > 1 {
					t.Step = append(t.Step, record[t.Stage])
				}
				bytes := p.templates[piece.Template].Outputs[o].Bytes
				p.use(r.pieces[k].form, t.Stage, bytes*r.count, r.count)
			}
		}
	}
	for s, n := range record {
		p.cursor[s] += n * r.count
	}
}

// use counts what a rank of a stage holds.
func (p *placer) use(f *form, stage int, bytes, tensors int64) {
	p.usage[usageKey{f, stage}] += bytes
	p.stages[stage].Bytes += bytes
	p.stages[stage].Tensors += tensors
}

// complete checks that no block lacks experts, and no family tensors.
func (p *placer) complete() error {
	var missing []string
	kind := ErrIncomplete
	for key, s := range p.stacks {
		f := p.of[key.template]
		if s.count != f.experts {
			missing = append(missing, fmt.Sprintf("%s: layer %d has %d of %d experts", f.pattern, key.layer, s.count, f.experts))
			if f.unwanted != nil {
				kind = ErrPart
			}
		}
	}
	if p.m.Instance != nil && p.o.Keep == nil && p.bounds != nil {
		for _, f := range p.m.Instance.Families {
			if n := p.counts[f]; n != f.Count && !f.Tolerated && (!f.Optional || n > 0) {
				missing = append(missing, fmt.Sprintf("%s: %d of %d tensors are there", f.Pattern, n, f.Count))
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	const shown = 3
	if n := len(missing) - shown; n > 0 {
		missing = append(missing[:shown], fmt.Sprintf("and %d more", n))
	}
	return fmt.Errorf("%w: %s", kind, strings.Join(missing, "; "))
}
