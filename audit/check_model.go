package audit

import (
	"fmt"
	"slices"
	"strings"

	"ckpt/checkpoint"
	"ckpt/dtype"
	"ckpt/model"
)

// comparesProfile are the codes that compare with a profile.
var comparesProfile = []string{"MD001", "MD002", "MD003", "MD004", "MD005", "MD006", "MD007", "MD008"}

// checkModel compares tensors with the profile.
func (a *audit) checkModel() {
	if a.in == nil {
		reason := a.noProfile()
		for _, id := range comparesProfile {
			a.col.Skip(id, reason)
		}
		return
	}
	switch {
	case !a.headers() && !a.indexUsable():
		a.col.Skip("MD002", a.namesUnknown())
	case a.headers() && !a.anyHeader():
		for _, id := range []string{"MD002", "MD003", "MD004", "MD006"} {
			a.col.Skip(id, nothingRead)
		}
	default:
		a.col.Checked("MD002")
		if a.headers() {
			a.col.Checked("MD003", "MD004")
		}
	}
	for i, s := range a.census.unknown {
		f := Finding{ID: "MD002", Tensor: s.name, Offset: At(s.at), Group: "unknown", Message: a.title() + " has no tensor of this name",
			Fix: "compare with the names of MD001: a pair is a renaming"}
		if !a.headers() {
			f.Offset = nil
		}
		if i == maxStrangers-1 {
			f.Count = 1 + a.census.more // the last stands for those of which no name was kept
		}
		a.add(s.file, f)
	}
	a.checkPresence()
	a.checkRegions()
}

// anyHeader says whether any weight file could be read.
func (a *audit) anyHeader() bool {
	return slices.ContainsFunc(a.Files, func(f *checkpoint.File) bool { return f.Header != nil })
}

// noProfile says why nothing is compared with a profile.
func (a *audit) noProfile() string {
	switch {
	case a.opts.Profile == ProfileNone:
		return "--profile none"
	case a.fit != nil && a.fit.Profile != nil:
		return "the config leaves the sizes of " + a.fit.Profile.Title + " open"
	}
	return "no profile knows this family"
}

// title names the family.
func (a *audit) title() string { return a.fit.Profile.Title }

// checkPresence tells which tensors are missing. Names are unknown where a file
// is lost that no index speaks for.
func (a *audit) checkPresence() {
	if reason := a.namesUnknown(); reason != "" {
		a.col.Skip("MD001", reason)
		a.col.Skip("MD005", reason)
		return
	}
	a.col.Checked("MD001", "MD005")
	layers := map[uint32]map[uint32]string{} // of experts that lack tensors: the first one's name
	for _, f := range a.census.families {
		if f.Optional || f.Tolerated {
			continue
		}
		for ordinal := range f.Count {
			if f.named.has(ordinal) || a.paired(f, ordinal) {
				continue
			}
			a.missing(f, ordinal, layers)
		}
	}
	for layer, experts := range layers {
		a.incomplete(layer, experts)
	}
}

// namesUnknown says why the names of some tensors are unknown, "" where none
// are: then nothing can be told to be missing.
func (a *audit) namesUnknown() string {
	switch {
	case a.indexUsable():
	case a.lost > 0 || a.unlisted():
		return "files are lost that no index speaks for: their tensors are unknown"
	case !a.headers():
		return "without an index names stand in the shards alone"
	}
	return ""
}

// unlisted says whether the names of some file are unknown.
func (a *audit) unlisted() bool {
	return slices.ContainsFunc(a.Files, func(f *checkpoint.File) bool { return f.Indexed && f.Fault == nil && f.Header != nil && !f.Listed() })
}

// paired says whether a missing tensor is half of a pair whose other half is
// there: QT001 and QT002 tell of it.
func (a *audit) paired(f *familyCensus, ordinal int64) bool {
	other := f.Scale
	if other == nil {
		other = f.ScaleOf
	}
	if other == nil {
		return false
	}
	return a.familyCensus(other).real.has(ordinal)
}

func (a *audit) familyCensus(f *model.Family) *familyCensus {
	for _, c := range a.census.families {
		if c.Family == f {
			return c
		}
	}
	return nil
}

func (a *audit) missing(f *familyCensus, ordinal int64, layers map[uint32]map[uint32]string) {
	name := f.NameAt(ordinal)
	if f.Experts > 0 {
		layer, expert, _ := f.At(ordinal)
		if layers[layer] == nil {
			layers[layer] = map[uint32]string{}
		}
		if first, ok := layers[layer][expert]; !ok || name < first {
			layers[layer][expert] = name
		}
		return
	}
	a.col.Add(Finding{ID: "MD001", Tensor: name, Expected: fmt.Sprintf("%v %v", f.DTypes[0], f.Shapes[0]), Actual: "absent", Group: "missing",
		Message: "expected by " + a.title() + " and nowhere here", Fix: "fetch the index and the shards again; they may be of another export"})
}

// incomplete tells of the experts of a layer that lack tensors.
func (a *audit) incomplete(layer uint32, experts map[uint32]string) {
	first := ""
	for _, name := range experts {
		if first == "" || name < first {
			first = name
		}
	}
	total := int64(0)
	for _, f := range a.census.families {
		total = max(total, f.Experts)
	}
	a.col.Add(Finding{ID: "MD005", Tensor: first, Expected: plural(total, "expert"), Group: "incomplete",
		Actual:  fmt.Sprintf("%d whole", total-int64(len(experts))),
		Message: fmt.Sprintf("layer %d: %d of %d experts lack tensors", layer, len(experts), total),
		Fix:     "fetch the layer's shard and the index again; after an export of your own, gather the experts of all ranks"})
}

// verdicts remembers, by spec, whether a family may have it: a spec is judged
// once and not for each of half a million tensors.
type verdicts []verdict1

type verdict1 uint8

const (
	fitsFamily verdict1 = iota + 1
	wrongType
	wrongShape
	wrongBoth
)

// fit compares the dtype and shape of a tensor with its family.
func (r *registrar) fit(f *familyCensus, file *checkpoint.File, rec *checkpoint.Record) {
	if !file.Usable() && !r.a.consistent(rec) {
		return // the header contradicts itself: neither need be what was meant
	}
	if r.fits[f.number] == nil {
		r.fits[f.number] = make(verdicts, r.a.Specs())
	}
	v := &r.fits[f.number][rec.Spec]
	if *v == 0 {
		*v = judge(f.Family, r.a.Spec(rec.Spec))
	}
	if *v != fitsFamily {
		r.a.misfit(f.Family, file, rec, *v)
	}
}

// consistent says whether dtype and shape of a tensor give the bytes that it
// takes.
func (a *audit) consistent(rec *checkpoint.Record) bool {
	spec := a.Spec(rec.Spec)
	size, err := spec.DType.Size(spec.Shape)
	return err == nil && int64(size) == rec.Size
}

func judge(f *model.Family, spec checkpoint.Spec) verdict1 {
	typ, shape := f.AcceptsDType(spec.DType), f.AcceptsShape(spec.Shape)
	switch {
	case typ && shape:
		return fitsFamily
	case shape:
		return wrongType
	case typ:
		return wrongShape
	}
	return wrongBoth
}

// misfit tells of a wrong dtype or shape; those of scales have codes of their
// own.
func (a *audit) misfit(f *model.Family, file *checkpoint.File, rec *checkpoint.Record, v verdict1) {
	spec := a.Spec(rec.Spec)
	ids := [2]string{"MD004", "MD003"}
	if f.ScaleOf != nil {
		ids = [2]string{"QT004", "QT003"}
	}
	finding := Finding{Tensor: a.Names.Name(rec.Key), Offset: At(rec.Offset), Fix: a.fetch(file.Name)}
	if v == wrongType || v == wrongBoth {
		t := finding
		t.ID, t.Expected, t.Actual = ids[0], typeNames(f.DTypes), spec.DType.String()
		t.Message, t.Group = fmt.Sprintf("dtype is %v; %s has %s", spec.DType, a.title(), typeNames(f.DTypes)), f.Pattern
		a.add(file, t)
	}
	if v == wrongShape || v == wrongBoth {
		s := finding
		s.ID, s.Expected, s.Actual = ids[1], shapeNames(f.Shapes), shapeName(spec.Shape)
		s.Message, s.Group = fmt.Sprintf("shape is %s; the config gives %s", s.Actual, s.Expected), f.Pattern
		a.add(file, s)
	}
}

func typeNames(types []dtype.Type) string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = t.String()
	}
	return joinOr(list)
}

// shapeName spells a shape as headers and profiles do: [128, 8].
func shapeName(shape []uint64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

func shapeNames(shapes []model.Shape) string {
	list := make([]string, len(shapes))
	for i, s := range shapes {
		list[i] = s.String()
	}
	return joinOr(list)
}

func joinOr(list []string) string {
	out := ""
	for i, s := range list {
		if i > 0 {
			out += " or "
		}
		out += s
	}
	return out
}

// region is where the experts of a layer lie.
type region struct {
	file     *checkpoint.File
	from, to int64
	bytes    int64
	tensors  int64
	spread   bool // over several files
}

func (f *familyCensus) place(ordinal int64, file *checkpoint.File, rec *checkpoint.Record) {
	if f.Experts == 0 || f.Layers == nil {
		return
	}
	if f.regions == nil {
		f.regions = make([]region, len(f.Layers))
	}
	rank := ordinal / f.Experts
	if f.Blocks > 0 {
		rank /= f.Blocks
	}
	f.regions[rank].add(region{file, rec.Offset, rec.Offset + rec.Size, rec.Size, 1, false})
}

// add joins two regions.
func (r *region) add(o region) {
	if r.tensors == 0 {
		*r = o
		return
	}
	r.spread = r.spread || o.spread || r.file != o.file
	r.from, r.to = min(r.from, o.from), max(r.to, o.to)
	r.bytes += o.bytes
	r.tensors += o.tensors
}

// checkRegions tells of layers whose experts do not lie in one piece, where the
// family's release has them so.
func (a *audit) checkRegions() {
	release := a.fit.Profile.Release
	if release == nil || len(release.Files) == 0 {
		a.col.Skip("MD006", "the profile does not say how experts lie in their files")
		return
	}
	if !a.headers() {
		return
	}
	a.col.Checked("MD006")
	layers, whole := a.layerRegions()
	for _, layer := range sortedKeys(layers) {
		r := layers[layer]
		if r.tensors != whole || r.file == nil || !r.spread && r.to-r.from == r.bytes {
			continue // incomplete layers have findings of their own
		}
		if !r.file.Usable() || a.strangersIn(r) {
			continue // so have holes, and what lies there and is not known
		}
		f := Finding{ID: "MD006", Offset: At(r.from), Group: "regions", Expected: plural(r.bytes, "byte") + " in one piece",
			Message: fmt.Sprintf("the experts of layer %d do not lie in one piece", layer), Fix: "nothing needs to be done for correctness"}
		f.Actual = fmt.Sprintf("%s between first and last", plural(r.to-r.from, "byte"))
		if r.spread {
			f.Offset, f.Actual = nil, "in several files"
		}
		f.File = r.file.Name
		a.col.Add(f)
	}
}

// strangersIn says whether a tensor that the profile does not know lies in a
// region.
func (a *audit) strangersIn(r *region) bool {
	return slices.ContainsFunc(a.census.unknown, func(s stranger) bool {
		return s.file == r.file && s.at >= r.from && s.at < r.to
	})
}

// layerRegions joins the regions of all expert families by layer, and says how
// many tensors a whole layer has.
func (a *audit) layerRegions() (layers map[uint32]*region, whole int64) {
	layers = map[uint32]*region{}
	for _, f := range a.census.families {
		if f.Experts == 0 || len(f.Layers) == 0 || f.Tolerated {
			continue
		}
		whole += f.Count / int64(len(f.Layers))
		for rank, r := range f.regions {
			if r.tensors == 0 {
				continue
			}
			layer := f.Layers[rank]
			if layers[layer] == nil {
				layers[layer] = &region{}
			}
			layers[layer].add(r)
		}
	}
	return layers, whole
}
