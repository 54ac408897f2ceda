package shard

import (
	"fmt"

	"ckpt/checkpoint"
)

// Sketch plans from the profile and the config alone, with the dtypes and
// shapes that the family has by default: families and bytes a rank as New gives
// them, and no program. It needs a profile; without one the sizes are only in
// the headers.
func Sketch(m *Model, t Topology, o Options) (*Plan, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if m.Instance == nil {
		return nil, fmt.Errorf("%w: none fits, and without headers only a profile knows the sizes", ErrProfile)
	}
	t = t.whole()
	o, err := m.options(o)
	if err != nil {
		return nil, err
	}
	w := &walker{c: &checkpoint.Checkpoint{}, m: m, o: o, t: t}
	w.sketch()
	w.link()
	if err := checkSplit(w.forms, t); err != nil {
		return nil, err
	}
	p := &placer{walker: w, caster: caster{t, o.Layout}}
	if err := p.divide(); err != nil {
		return nil, err
	}
	if err := p.place(); err != nil {
		return nil, err
	}
	out := &Plan{Schema: Schema, Profile: m.Name(), Layout: o.Layout, ALog: o.ALog, TP: t.TP, EP: t.EP, PP: t.PP,
		Stages: p.stages, Notes: []string{}}
	p.families(out, p.byProfile())
	p.sums(out)
	return out, nil
}

// sketch makes a run of each family and layer.
func (w *walker) sketch() {
	for _, family := range w.m.Instance.Families {
		if family.Tolerated {
			continue
		}
		c := ofFamily(family, family.Text, family.Slots, w.o)
		f := &form{class: c, dtype: family.DTypes[0], shape: family.Sizes(), bytes: family.Each}
		f.add(family.Count, f.bytes)
		w.forms = append(w.forms, f)
		if c.skip != "" {
			continue
		}
		layers := family.Layers
		if family.LayerSet == "" {
			layers = []uint32{0}
		}
		count := max(family.Experts, 1)
		for _, layer := range layers {
			for block := range max(family.Blocks, 1) {
				w.runs = append(w.runs, run{count: count, stride: f.bytes, pieces: []piece{{form: f, layer: layer, block: uint32(block)}}})
			}
		}
	}
}
