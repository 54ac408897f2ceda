package audit

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ckpt/checkpoint"
	"ckpt/internal/names"
)

// scaleSuffixes pair packed tensors with their scales where no profile does.
// They are the names of compressed-tensors and of gpt-oss.
var scaleSuffixes = []struct{ packed, scale string }{
	{".weight_packed", ".weight_scale"},
	{"_proj_blocks", "_proj_scales"},
}

// checkScales pairs packed tensors with their scales.
func (a *audit) checkScales() {
	a.col.Checked("QT001", "QT002")
	switch {
	case a.in == nil:
		a.col.Skip("QT003", a.noProfile())
		a.col.Skip("QT004", a.noProfile())
	case a.headers() && !a.anyHeader():
		for _, id := range []string{"QT001", "QT002", "QT003", "QT004"} {
			a.col.Skip(id, nothingRead)
		}
	case a.headers():
		a.col.Checked("QT003", "QT004")
	}
	if reason := a.namesUnknown(); reason != "" {
		a.col.Skip("QT001", reason)
		a.col.Skip("QT002", reason)
		return
	}
	if a.in == nil {
		a.pairByName()
		return
	}
	for _, f := range a.census.families {
		if f.Scale == nil {
			continue
		}
		scale := a.familyCensus(f.Scale)
		for ordinal := range f.Count {
			packed, scaled := f.real.has(ordinal), scale.real.has(ordinal)
			if packed && !scaled {
				a.addUnpaired("QT001", f.NameAt(ordinal), scale.NameAt(ordinal))
			}
			if scaled && !packed {
				a.addUnpaired("QT002", scale.NameAt(ordinal), f.NameAt(ordinal))
			}
		}
	}
}

func (a *audit) addUnpaired(id, have, lack string) {
	f := Finding{ID: id, Tensor: have, Expected: lack, Actual: "absent", Group: id}
	f.Message, f.Fix = "its scale is missing", "fetch the shard that should hold the scale; if it never did, convert again"
	if id == "QT002" {
		f.Message, f.Fix = "the packed tensor it belongs to is missing", "fetch the shard that should hold the packed tensor"
	}
	file := a.holder(have)
	if file != nil {
		f.File = file.Name
		f.Refetch = true
	}
	a.col.Add(f)
}

// holder is the file that has, or by the index should have, a tensor.
func (a *audit) holder(name string) *checkpoint.File {
	key, ok := a.Names.Find(name)
	if !ok {
		return nil
	}
	if a.Index != nil && a.Index.Err == nil {
		if e, ok := a.Index.Find(key); ok {
			f, _ := a.File(a.Index.Files[e.File])
			return f
		}
	}
	if t, ok := a.Lookup(name); ok {
		return t.File
	}
	return nil
}

// pairByName pairs by the suffixes that converters use.
func (a *audit) pairByName() {
	type pair struct {
		partner uint32 // pattern of the other half
		packed  bool
		known   bool
	}
	pairs := map[uint32]pair{}
	for id := range uint32(a.Names.Len()) {
		p := a.Names.Pattern(id)
		for _, s := range scaleSuffixes {
			if base, ok := strings.CutSuffix(p.Text, s.packed); ok {
				partner, known := a.Names.FindPattern(base+s.scale, p.Slots)
				pairs[id] = pair{partner, true, known}
			}
			if base, ok := strings.CutSuffix(p.Text, s.scale); ok && a.packedSomewhere(s.packed) {
				partner, known := a.Names.FindPattern(base+s.packed, p.Slots)
				pairs[id] = pair{partner, false, known}
			}
		}
	}
	if len(pairs) == 0 {
		return
	}
	var have names.Map
	for k := range a.allKeys() {
		have.Put(k, 0)
	}
	for k := range a.allKeys() {
		p, ok := pairs[k.Pattern]
		if !ok {
			continue
		}
		other := names.Key{Pattern: p.partner, N: k.N}
		if _, there := have.Get(other); p.known && there {
			continue
		}
		id, lack := "QT002", "a tensor"
		if p.packed {
			id, lack = "QT001", "a scale"
		}
		a.addUnpaired(id, a.Names.Name(k), lack)
	}
}

// packedSomewhere says whether any tensor has the suffix of packed ones: a
// scale alone (".weight_scale" of FP8) means nothing.
func (a *audit) packedSomewhere(suffix string) bool {
	for id := range uint32(a.Names.Len()) {
		if strings.HasSuffix(a.Names.Pattern(id).Text, suffix) {
			return true
		}
	}
	return false
}

// allKeys yields the tensors that are there, or at level metadata those that
// the index names; files that are lost count with what the index says.
func (a *audit) allKeys() func(yield func(names.Key) bool) {
	return func(yield func(names.Key) bool) {
		if a.Index != nil && a.Index.Err == nil {
			for i := range a.Index.Entries {
				e := &a.Index.Entries[i]
				f, _ := a.File(a.Index.Files[e.File])
				if (!a.headers() || f == nil || !f.Listed()) && !yield(e.Key) {
					return
				}
			}
		}
		if !a.headers() {
			return
		}
		for _, f := range a.Files {
			for i := range f.Records {
				if f.Indexed && !yield(f.Records[i].Key) {
					return
				}
			}
		}
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
