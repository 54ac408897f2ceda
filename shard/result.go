package shard

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
)

// page is what storage reads at once: extents that share one are joined.
const page = 4096

// plan puts the document together.
func (p *placer) plan() *Plan {
	out := &Plan{Schema: Schema, Profile: p.m.Name(), Layout: p.o.Layout, ALog: p.o.ALog, TP: p.t.TP, EP: p.t.EP, PP: p.t.PP,
		Stages: p.stages, Notes: []string{}}
	out.Source = p.source()
	out.Program = &Program{Templates: p.templates, Orders: p.orders.lists, Skipped: p.holes}
	out.Program.Extents, out.Totals.Gaps = p.extents()
	f := p.forms
	if p.m.Instance != nil {
		f = p.byProfile()
	}
	p.families(out, f)
	for i, form := range p.of {
		out.Program.Templates[i].Family = form.index
	}
	for i, form := range p.of {
		if form.scale != nil && len(form.scale.casts) > 0 {
			out.Program.Templates[i].Scale = form.scale.casts[0].number + 1
		}
	}
	p.sums(out)
	return out
}

func (p *placer) source() Source {
	s := Source{Path: p.c.Path, Format: p.c.Format.String()}
	for _, f := range p.c.Files {
		if f.Indexed {
			s.Files = append(s.Files, SourceFile{f.Name, f.Size, f.Header.DataStart, hex.EncodeToString(f.Header.SHA256[:])})
		}
	}
	s.Fingerprint = fingerprint(s.Files)
	return s
}

// extents joins runs that touch, and runs whose gap lies within one page, which
// would be read twice otherwise.
func (p *placer) extents() (list []Extent, gaps int64) {
	for i := range p.runsOut {
		r := &p.runs[i]
		if n := len(list); n > 0 && list[n-1].File == r.file {
			last := &list[n-1]
			end := last.Offset + last.Bytes
			if r.end() == r.offset && r.offset > end { // nothing to read: nothing to join for
				list = append(list, Extent{r.file, r.offset, 0, []Run{p.runsOut[i]}})
				continue
			}
			if r.offset == end || r.offset/page*page < (end+page-1)/page*page {
				gaps += r.offset - end
				last.Bytes = r.end() - last.Offset
				last.Runs = append(last.Runs, p.runsOut[i])
				continue
			}
		}
		list = append(list, Extent{r.file, r.offset, r.end() - r.offset, []Run{p.runsOut[i]}})
	}
	return list, gaps
}

// byProfile orders forms as the profile has their families; what rules know
// comes behind.
func (p *placer) byProfile() []*form {
	place := map[any]int{}
	for i, f := range p.m.Instance.Families {
		place[f] = i
	}
	at := func(f *form) int {
		if f.family == nil {
			return len(place)
		}
		return place[f.family]
	}
	forms := slices.Clone(p.forms)
	slices.SortStableFunc(forms, func(a, b *form) int { return at(a) - at(b) })
	return forms
}

// families lists what became of each form.
func (p *placer) families(out *Plan, forms []*form) {
	for _, f := range forms {
		if f.count == 0 {
			continue
		}
		family := Family{Pattern: f.pattern, Names: []string{}, Group: f.group, Role: f.role, Tower: f.tower, DType: f.dtype.String(),
			Shape: append([]uint64{}, f.shape...), Count: f.count, Action: Skip, Reason: f.skip, Total: f.total, Stages: make([]int64, p.t.PP)}
		if f.skip == "" {
			p.describe(&family, f)
		}
		for _, c := range f.casts {
			for _, o := range p.templates[c.number].Outputs {
				if !slices.Contains(family.Names, o.Name) {
					family.Names = append(family.Names, o.Name)
				}
			}
		}
		for s := range family.Stages {
			family.Stages[s] = p.usage[usageKey{f, s}]
			family.PerRank = max(family.PerRank, family.Stages[s])
		}
		f.index = len(out.Families)
		out.Families = append(out.Families, family)
	}
	out.Groups = groups(out.Families, p.t.PP)
	out.Degrees, out.Axes = degrees(forms, p.t)
	out.Notes = append(out.Notes, p.notes(out.Families)...)
	for _, f := range forms {
		if f.doubt != "" && f.skip == "" && f.count > 0 {
			out.Notes = append(out.Notes, f.pattern+": "+f.doubt)
		}
	}
}

// describe says how a form is divided.
func (p *placer) describe(family *Family, f *form) {
	n, ep := p.t.TP, 1
	if f.isExpert() {
		n, ep = p.t.expertTP(), p.t.EP
	}
	family.Parts, family.Copies = ep, p.t.StageRanks()/ep
	if spans, _ := f.split(int64(n)); len(spans) > 0 {
		parts := int64(1)
		for _, s := range spans {
			parts = max(parts, s.parts)
		}
		family.Parts *= int(parts)
		family.Copies /= int(parts)
		axis := f.axis
		if axis == whole {
			axis = 0 // of what is narrowed
		}
		family.Axis = &axis
	}
	family.Action = Replicate
	if family.Parts > 1 || p.t.StageRanks() == 1 && (family.Axis != nil || f.isExpert()) {
		family.Action = Split
	}
}

// groups sums families, the largest first; what is skipped comes last.
func groups(families []Family, stages int) []Group {
	var list []Group
	for i := range families {
		f := &families[i]
		at := slices.IndexFunc(list, func(g Group) bool { return g.Group == f.Group && (g.Action == Skip) == (f.Action == Skip) })
		if at < 0 {
			at = len(list)
			list = append(list, Group{Group: f.Group, Stages: make([]int64, stages), Action: f.Action})
		}
		g := &list[at]
		g.Total += f.Total
		for s, n := range f.Stages {
			g.Stages[s] += n
		}
		if g.Action != f.Action {
			g.Action = Mixed
		}
	}
	for i := range list {
		list[i].PerRank = slices.Max(list[i].Stages)
	}
	slices.SortStableFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(skipped(a), skipped(b)), -cmp.Compare(a.Total, b.Total), cmp.Compare(a.Group, b.Group))
	})
	return list
}

func skipped(g Group) int {
	if g.Action == Skip {
		return 1
	}
	return 0
}

// notes say what a reader should know of the numbers.
func (p *placer) notes(families []Family) []string {
	var notes []string
	for i := range families {
		f := &families[i]
		if f.Action != Split || f.Copies <= 1 || p.t.StageRanks() == p.t.EP && p.t.EP > p.t.TP {
			continue
		}
		extra := int64(0)
		for s := range f.Stages {
			extra += f.Stages[s] * int64(p.t.StageRanks()) * int64(f.Copies-1) / int64(f.Copies)
		}
		notes = append(notes, fmt.Sprintf("%s: %d parts on %d ranks, each held %d times: %d bytes more than one copy", f.Pattern, f.Parts, p.t.StageRanks(), f.Copies, extra))
	}
	return notes
}

// sums fills in ranks and totals.
func (p *placer) sums(out *Plan) {
	t := &out.Totals
	for _, s := range out.Stages {
		padding := s.Arena - s.Bytes
		t.Padding = max(t.Padding, padding)
		for r := range s.Ranks {
			out.Ranks = append(out.Ranks, Rank{s.First + r, s.Stage, s.Bytes, padding, s.Tensors})
			t.Device += s.Bytes
		}
	}
	replicated := make([]int64, len(out.Stages))
	for i := range out.Families {
		f := &out.Families[i]
		t.Source += f.Total
		t.Tensors += f.Count
		if f.Action == Skip {
			t.Skipped += f.Total
			continue
		}
		t.Read += f.Total
		for s, n := range f.Stages {
			if f.Action == Replicate {
				replicated[s] += n
			}
		}
	}
	t.Replicated = slices.Max(replicated)
	for i := range p.of {
		f := p.of[i]
		if f.casts[0].number != i {
			continue
		}
		for _, d := range p.templates[i].Dropped {
			t.Dropped += (d.To - d.From) * f.count
		}
	}
	t.Repeated = t.Device - (t.Read - t.Dropped)
	if out.Program != nil {
		t.Extents = int64(len(out.Program.Extents))
	}
}
