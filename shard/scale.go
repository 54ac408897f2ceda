package shard

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"ckpt/dtype"
)

// grouping is how the stored elements of a tensor share scales.
type grouping struct {
	sizes []int64 // elements of a group by axis, 0 where one scale serves however much of the axis there is
	doubt string  // why the last size is one of several that are possible; it is the smallest then
}

// pair finds how the elements of f share the scales of s. What the config says
// is taken; without it, sizes that several groups would give are taken where one
// is a power of two, as all known formats have them. The reason says why s does
// not hold the scales of f.
func (f *form) pair(s *form, q *schemes) (g grouping, reason string) {
	groups := fitGroups(s.shape, f.shape)
	n := len(f.shape)
	reason = fmt.Sprintf("scales %v are not those of %s %v", s.shape, f.dtype, f.shape)
	if groups == nil || f.bytes == 0 || s.bytes == 0 {
		return g, reason
	}
	all := elements(groups) == 1
	for i := range n - 2 {
		if g.sizes = append(g.sizes, 1); all && f.shape[i] > 1 {
			g.sizes[i] = 0
		} else if groups[i] != f.shape[i] {
			return g, reason
		}
	}
	m := matrix{1, int64(f.shape[n-1]), 1, int64(groups[n-1])}
	if n > 1 {
		m.rows, m.rowGroups = int64(f.shape[n-2]), int64(groups[n-2])
	}
	if q.fault != "" && f.family == nil {
		return g, q.fault
	}
	var block [2]int64
	if list := q.about(f.dtype); f.family == nil && len(list) > 0 {
		var ok bool
		if block, ok = m.said(list); !ok {
			return g, fmt.Sprintf("%s, the config says %s", reason, list[0].path)
		}
	} else if block, g.doubt = m.guess(f.dtype); block[0] < 0 {
		return g, reason
	}
	g.sizes = append(g.sizes, block[max(0, 2-n):]...)
	return g, ""
}

// fitGroups gives scales the axes of their tensor: a number alone serves all,
// and an axis that is left out has one group. nil where they have others.
func fitGroups(scales, shape []uint64) []uint64 {
	groups := slices.Clone(scales)
	switch {
	case len(shape) == 0:
		return nil
	case elements(scales) == 1:
		groups = slices.Repeat([]uint64{1}, len(shape))
	case len(shape) > 1 && len(scales) == len(shape)-1:
		groups = append(groups, 1)
	}
	if len(groups) != len(shape) {
		return nil
	}
	for i, n := range groups {
		if n == 0 || n > shape[i] {
			return nil
		}
	}
	return groups
}

// matrix is the last two axes of a tensor and of its scales.
type matrix struct {
	rows, columns, rowGroups, columnGroups int64
}

// said finds the schemes of the config that give these groups; they have to
// agree.
func (m *matrix) said(list []scheme) (block [2]int64, ok bool) {
	for _, s := range list {
		if !into(m.rows, m.rowGroups, s.rows) || !into(m.columns, m.columnGroups, s.columns) {
			continue
		}
		this := [2]int64{min(s.rows, m.rows), min(s.columns, m.columns)}
		if ok && this != block {
			return block, false
		}
		block, ok = this, true
	}
	return block, ok
}

// into reports whether groups of so many make an axis of size; 0 is all of it.
func into(size, groups, of int64) bool {
	return of == 0 && groups == 1 || of > 0 && (size-1)/of+1 == groups
}

// shortRow is how many bytes a row of packed codes has that may be one group.
// No known format has groups of more than 256 numbers of four bits.
const shortRow = 128

// rowScaled are the types that have scales for whole rows.
var rowScaled = []dtype.Type{dtype.F8_E4M3, dtype.F8_E5M2, dtype.I8}

// guess finds sizes where the config says nothing: one scale for all, scales a
// row, groups along rows, or square blocks. block[0] is -1 where none fits.
func (m *matrix) guess(d dtype.Type) (block [2]int64, doubt string) {
	switch {
	case m.rowGroups == 1 && m.columnGroups == 1 && m.rows > 1:
		return block, ""
	case m.rowGroups != m.rows:
		for b := int64(2); b < 2*max(m.rows, m.columns); b *= 2 {
			if into(m.rows, m.rowGroups, b) && into(m.columns, m.columnGroups, b) {
				return [2]int64{min(b, m.rows), min(b, m.columns)}, ""
			}
		}
		return [2]int64{-1}, ""
	case m.columnGroups == 1:
		if slices.Contains(rowScaled, d) || m.columns*int64(d.Bits())/8 > shortRow {
			return [2]int64{1, 0}, ""
		}
		return [2]int64{1, m.columns}, ""
	}
	least, most := (m.columns-1)/m.columnGroups+1, (m.columns-1)/(m.columnGroups-1)
	power := int64(1) << (bits.Len64(uint64(most)) - 1)
	switch {
	case least > most:
		return [2]int64{-1}, ""
	case least == most:
	case power >= least:
		least = power
	default:
		doubt = fmt.Sprintf("%d groups of an axis of %d may be of %d to %d, and the config does not say", m.columnGroups, m.columns, least, most)
	}
	return [2]int64{1, least}, doubt
}

// link finds the scales of each form.
func (w *walker) link() {
	if w.ruler != nil { // sketches are of profiles alone
		w.schemes = readSchemes(w.m.Config, w.ruler.Sections)
	}
	for _, f := range w.forms {
		if f.skip != "" || f.scaled || f.family == nil && !f.takesScales() {
			continue
		}
		for _, s := range w.forms {
			if s.skip != "" || s == f || !scales(f, s) {
				continue
			}
			if g, reason := f.pair(s, &w.schemes); reason == "" {
				f.scale, f.grouping = s, g
				break
			} else if f.unpaired == "" {
				f.unpaired = reason
			}
		}
	}
	w.checkScales()
}

// takesScales says whether scales may belong to a form of the rules: to weights
// of a type that needs them, not to biases, nor to other scales.
func (f *form) takesScales() bool {
	return f.family == nil && f.leaf == leafWeight && quantised(f.dtype)
}

// scales reports whether s holds the scales of f, by the profile or by name.
func scales(f, s *form) bool {
	if f.family != nil {
		return s.family != nil && f.family.Scale == s.family
	}
	return s.family == nil && s.scaled && module(s.pattern) == module(f.pattern)
}

// checkScales refuses as unknown, of what the rules know, scales that belong to
// no weight and weights without the scales that others of their type have or
// that the config promises.
func (w *walker) checkScales() {
	places := w.scalePlaces()
	for _, s := range w.forms {
		if s.skip != "" || s.family != nil || !s.scaled {
			continue
		}
		var served []uint64
		reason := "no weight is there for these scales"
		for _, f := range w.forms {
			switch {
			case f.scale == s:
				served = append(served, places[f]...)
			case f.skip == "" && f.unpaired != "" && scales(f, s):
				reason = f.unpaired
			}
		}
		if n, first := lost(places[s], served); n > 0 {
			w.unknown = append(w.unknown, unknown{s, Refusal{s.pattern, ofPlaces(reason, n, len(places[s]), first, s)}})
		}
	}
	for _, f := range w.forms {
		if f.skip != "" || !f.takesScales() {
			continue
		}
		n, first := lost(places[f], places[f.scale])
		reason := "its scales are not there"
		if f.unpaired != "" {
			reason = f.unpaired
		}
		if n > 0 && (f.scale != nil || f.unpaired != "" || w.promised(f)) {
			w.unknown = append(w.unknown, unknown{f, Refusal{f.pattern, ofPlaces(reason, n, len(places[f]), first, f)}})
		}
	}
}

// promised says whether weights of this type have scales: others have, or the
// config says so, or the name does.
func (w *walker) promised(f *form) bool {
	if len(w.schemes.about(f.dtype)) > 0 || strings.HasSuffix(f.pattern, ".weight_packed") {
		return true
	}
	return slices.ContainsFunc(w.forms, func(o *form) bool { return o.scale != nil && o.dtype == f.dtype && o.family == nil })
}

func ofPlaces(reason string, n, of int, first uint64, f *form) string {
	if n < of {
		return fmt.Sprintf("%s, in %d of %d, the first is %s", reason, n, of, fill(f.pattern, uint32(first>>32), uint32(first), 0))
	}
	return reason
}

// scalePlaces lists the layers and experts of the forms that have scales or are
// some, whether asked for or not, in order.
func (w *walker) scalePlaces() map[*form][]uint64 {
	places := map[*form][]uint64{}
	wanted := func(f *form) bool { return f.skip == "" && f.family == nil && (f.scaled || f.takesScales()) }
	if !slices.ContainsFunc(w.forms, wanted) {
		return places
	}
	for _, file := range w.c.Files {
		if !file.Indexed {
			continue
		}
		for i := range file.Records {
			r := &file.Records[i]
			f, err := w.form(r)
			if err != nil || !wanted(f) {
				continue
			}
			at := uint64(0)
			if f.layer != whole {
				at = uint64(r.Key.N[f.layer]) << 32
			}
			if f.expert != whole {
				at |= uint64(r.Key.N[f.expert])
			}
			places[f] = append(places[f], at)
		}
	}
	for _, list := range places {
		slices.Sort(list)
	}
	return places
}

// lost counts the places of a list that another lacks.
func lost(list, other []uint64) (n int, first uint64) {
	if !slices.IsSorted(other) {
		other = slices.Sorted(slices.Values(other))
	}
	for _, p := range list {
		for len(other) > 0 && other[0] < p {
			other = other[1:]
		}
		if len(other) > 0 && other[0] == p {
			continue
		}
		if n++; n == 1 {
			first = p
		}
	}
	return n, first
}

// module is a name without its last segment.
func module(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }
