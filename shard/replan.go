package shard

import "ckpt/checkpoint"

// notAskedFor is why a tensor is skipped that Options.Keep does not want.
const notAskedFor = "not asked for"

// Replan plans the checkpoint again, as p says that it was planned, and lists
// what comes out otherwise. A program can be proven and still put a tensor under
// another's name, or split by a config that has changed since: the proof knows
// neither. Errors are those of [New].
func (p *Plan) Replan(c *checkpoint.Checkpoint, m *Model) ([]Difference, error) {
	if p.Profile != m.Name() {
		return []Difference{{"profile", p.Profile, m.Name()}}, nil
	}
	o := Options{Layout: p.Layout, ALog: p.ALog}
	if p.partial() {
		names := p.sourceNames()
		o.Keep = func(name []byte) bool { return names[string(name)] }
	}
	now, err := New(c, m, p.Topology(), o)
	if err != nil {
		return nil, err
	}
	return Diff(p, now), nil
}

// partial says whether the plan leaves out what its model has, because nobody
// asked for it.
func (p *Plan) partial() bool {
	for i := range p.Families {
		if p.Families[i].Reason == notAskedFor {
			return true
		}
	}
	return false
}

// sourceNames are the tensors of the checkpoint that the program reads.
func (p *Plan) sourceNames() map[string]bool {
	names := map[string]bool{}
	var name []byte
	for i := range p.Program.Extents {
		e := &p.Program.Extents[i]
		for k := range e.Runs {
			r := &e.Runs[k]
			for record := range r.Records() {
				for n := range r.Pieces {
					c := &r.Pieces[n]
					f := &p.Families[p.Program.Templates[c.Template].Family]
					name = appendFilled(name[:0], f.Pattern, c.Layer, p.Program.expert(r, c, record), c.Block)
					names[string(name)] = true
				}
			}
		}
	}
	return names
}
