package shard

import (
	"fmt"

	"ckpt/checkpoint"
)

// New plans a checkpoint that was opened without problems. The error matches
// ErrTopology for degrees that make none, *SplitError for degrees that cut what
// must stay whole, *UnknownError for tensors of which no rule says how to split
// them, *NothingError where no tensor is left, ErrPart for a part of a block of
// experts, and ErrIncomplete for a checkpoint that lacks tensors.
func New(c *checkpoint.Checkpoint, m *Model, t Topology, o Options) (*Plan, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	t = t.whole()
	o, err := m.options(o)
	if err != nil {
		return nil, err
	}
	r, err := newRuler(m.Config)
	if err != nil {
		return nil, err
	}
	w := &walker{c: c, m: m, o: o, t: t, ruler: r}
	if err := w.walk(); err != nil {
		return nil, err
	}
	if len(w.runs) == 0 {
		return nil, w.nothing()
	}
	w.link()
	w.checkHeads()
	if err := w.checkWhole(); err != nil {
		return nil, err
	}
	notes := w.observed()
	if list := w.unruled(); len(list) > 0 {
		if t != (Topology{1, 1, 1}) {
			return nil, &UnknownError{list}
		}
		notes = append(notes, unruledNote(list))
	}
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
	plan := p.plan()
	if n := len(m.Problems); n > 0 {
		notes = append(notes, fmt.Sprintf("config.json differs from the %s profile in %s: %s", m.Name(), plural(n, "field", "fields"), firstProblem(m.Problems)))
	}
	plan.Notes = append(plan.Notes, notes...)
	return plan, nil
}

// options settles the layout: the engine's where the profile has one. One that the
// model cannot have matches ErrLayout.
func (m *Model) options(o Options) (Options, error) {
	if o.Layout == LayoutAuto {
		o.Layout = LayoutCheckpoint
		if m.hasEngine() {
			o.Layout = LayoutEngine
		}
	}
	if o.ALog == "" {
		o.ALog = ALogStored
	}
	switch {
	case o.Layout == LayoutEngine && !m.hasEngine():
		return o, fmt.Errorf("%w: no engine layout is known for this model (profile %s): names and order are those of the checkpoint", ErrLayout, m.Name())
	case o.ALog == ALogHeads && !m.hasNarrow():
		return o, fmt.Errorf("%w: this model (profile %s) has no A_log to narrow to heads", ErrLayout, m.Name())
	}
	return o, nil
}

func (m *Model) hasEngine() bool {
	if m.Instance == nil {
		return false
	}
	for _, f := range m.Instance.Families {
		if f.Engine != nil {
			return true
		}
	}
	return false
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// hasNarrow says whether a family can be narrowed to its heads.
func (m *Model) hasNarrow() bool {
	if m.Instance == nil {
		return false
	}
	for _, f := range m.Instance.Families {
		if f.Narrow > 0 {
			return true
		}
	}
	return false
}
