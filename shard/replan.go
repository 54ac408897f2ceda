package shard

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ckpt/checkpoint"
)

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
	was := *p
	was.Proof, was.Source.Path, now.Source.Path = nil, "", ""
	if list := Diff(&was, now); len(list) > 0 {
		return list, nil
	}
	return remaining(&was, now)
}

// remaining compares what a plan says beside what it does: every field of the
// document, labels and tables too.
func remaining(a, b *Plan) ([]Difference, error) {
	x, err := fields(a)
	if err != nil {
		return nil, err
	}
	y, err := fields(b)
	if err != nil {
		return nil, err
	}
	var list []Difference
	for _, name := range slices.Sorted(maps.Keys(y)) {
		if !bytes.Equal(x[name], y[name]) {
			list = append(list, Difference{"the field " + name, around(x[name], y[name]), around(y[name], x[name])})
		}
	}
	return list, nil
}

func fields(p *Plan) (map[string]jsontext.Value, error) {
	text, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	var out map[string]jsontext.Value
	return out, json.Unmarshal(text, &out)
}

// around is the part of a text where it begins to differ from another.
func around(text, other []byte) string {
	at := 0
	for at < min(len(text), len(other)) && text[at] == other[at] {
		at++
	}
	const before, behind = 40, 40
	return string(text[max(0, at-before):min(len(text), at+behind)])
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
