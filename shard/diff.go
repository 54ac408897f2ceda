package shard

import (
	"fmt"
	"slices"
)

// Difference is one thing in which two plans differ.
type Difference struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Diff compares two plans: what they are of, how they split it, and what ranks
// hold. Nothing means that they place the same bytes alike.
func Diff(a, b *Plan) []Difference {
	var d differ
	d.add("source", a.Source.Fingerprint, b.Source.Fingerprint)
	d.add("profile", a.Profile, b.Profile)
	d.add("topology", a.Topology(), b.Topology())
	d.add("proof", proofWord(a.Proof), proofWord(b.Proof))
	d.add("layout", a.Layout, b.Layout)
	d.add("a-log", a.ALog, b.ALog)
	d.bytes("bytes on all ranks", a.Totals.Device, b.Totals.Device)
	d.bytes("bytes on the fullest rank", a.Fullest().Bytes, b.Fullest().Bytes)
	d.bytes("replicated bytes a rank", a.Totals.Replicated, b.Totals.Replicated)
	d.bytes("padding bytes a rank", a.Totals.Padding, b.Totals.Padding)
	d.bytes("bytes read", a.Totals.Read, b.Totals.Read)
	d.bytes("bytes skipped", a.Totals.Skipped, b.Totals.Skipped)
	for i, s := range a.Stages {
		if i < len(b.Stages) {
			d.add(fmt.Sprintf("layers of stage %d", i), layersOf(s), layersOf(b.Stages[i]))
		}
	}
	d.families(a, b)
	if len(d) == 0 && !samePlaces(a, b) {
		d = append(d, Difference{"places in files or arenas", "one", "another"})
	}
	return d
}

func proofWord(p *Proof) string {
	switch {
	case p == nil:
		return "none"
	case p.OK():
		return "proven"
	}
	return "not proven"
}

func layersOf(s Stage) string { return fmt.Sprintf("%d up to %d", s.FirstLayer, s.EndLayer) }

type differ []Difference

func (d *differ) add(what string, a, b any) {
	if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
		*d = append(*d, Difference{what, x, y})
	}
}

func (d *differ) bytes(what string, a, b int64) { d.add(what, a, b) }

// families compares what has one pattern, dtype and shape.
func (d *differ) families(a, b *Plan) {
	type key struct{ pattern, dtype, shape, reason string }
	of := func(f *Family) key { return key{f.Pattern, f.DType, fmt.Sprint(f.Shape), f.Reason} }
	there := map[key]*Family{}
	for i := range b.Families {
		there[of(&b.Families[i])] = &b.Families[i]
	}
	for i := range a.Families {
		x := &a.Families[i]
		y := there[of(x)]
		delete(there, of(x))
		if y == nil {
			d.add(x.Pattern, describeFamily(x), "absent")
			continue
		}
		d.add(x.Pattern, describeFamily(x), describeFamily(y))
	}
	for i := range b.Families {
		if y := &b.Families[i]; there[of(y)] != nil {
			d.add(y.Pattern, "absent", describeFamily(y))
		}
	}
}

func describeFamily(f *Family) string {
	axis := ""
	if f.Axis != nil {
		axis = fmt.Sprintf(" on axis %d", *f.Axis)
	}
	return fmt.Sprintf("%d × %s %v %s%s, %d parts, %d bytes a rank, as %v", f.Count, f.DType, f.Shape, f.Action, axis, f.Parts, f.PerRank, f.Names)
}

// samePlaces compares the programs.
func samePlaces(a, b *Plan) bool {
	if a.Program == nil || b.Program == nil {
		return a.Program == b.Program
	}
	same := func(x, y Extent) bool {
		return x.File == y.File && x.Offset == y.Offset && x.Bytes == y.Bytes && slices.EqualFunc(x.Runs, y.Runs, sameRun)
	}
	return slices.EqualFunc(a.Program.Extents, b.Program.Extents, same) &&
		fmt.Sprint(a.Program.Templates, a.Program.Orders) == fmt.Sprint(b.Program.Templates, b.Program.Orders)
}

func sameRun(x, y Run) bool {
	return x.Offset == y.Offset && x.Count == y.Count && x.Stride == y.Stride && x.Order == y.Order &&
		slices.EqualFunc(x.Pieces, y.Pieces, func(a, b Piece) bool {
			return a.Template == b.Template && a.Offset == b.Offset && a.Layer == b.Layer && a.Expert == b.Expert && a.Block == b.Block && a.ByID == b.ByID &&
				slices.EqualFunc(a.Targets, b.Targets, func(s, t Target) bool {
					return s.Stage == t.Stage && slices.Equal(s.At, t.At) && slices.Equal(s.Step, t.Step)
				})
		})
}
