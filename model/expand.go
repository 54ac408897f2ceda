package model

import (
	"fmt"
	"math"
	"slices"
)

// families expands the profile's families to those of the instance.
func (b *builder) families(counts map[nameKey]int) {
	var tensors, bytes int64
	for i := range b.p.families {
		spec := &b.p.families[i]
		if !b.wants(spec.when) {
			continue
		}
		list, err := b.expand(spec, counts)
		for _, f := range list {
			if err == nil {
				tensors, bytes, err = sum(f, tensors, bytes)
			}
		}
		if err != nil {
			name, _ := b.p.resolve(spec.Pattern, b.in.Prefixes)
			b.fail(ConfigProblem{Field: name, Expected: "sizes that follow from the config",
				Actual: err.Error(), Msg: fmt.Sprintf("%s: %v", name, err), Bounds: true})
			return
		}
		for _, f := range list {
			b.in.Families = append(b.in.Families, f)
			if !b.in.bind(f) {
				b.fail(ConfigProblem{Field: f.Pattern, Expected: "names of one family", Actual: "another family has them",
					Msg: fmt.Sprintf("two families of the profile have the names %s", f.Pattern)})
				return
			}
		}
	}
	b.pair()
	b.tie()
}

// sum adds a family to the totals, which are bounded.
func sum(f *Family, tensors, bytes int64) (int64, int64, error) {
	tensors += f.Count // both are at most maxTensors
	if tensors > maxTensors {
		return 0, 0, fmt.Errorf("more than %d tensors", maxTensors)
	}
	bytes, err := add(bytes, f.Bytes)
	return tensors, bytes, err
}

// expand makes the family, or one for each kind of layer where their shapes
// differ.
func (b *builder) expand(spec *familySpec, counts map[nameKey]int) ([]*Family, error) {
	if spec.shapesBy == nil {
		shapes, err := evalShapes(spec.shapes, &b.scope)
		if err != nil {
			return nil, err
		}
		f, err := b.family(spec, spec.Layers, shapes, counts)
		return []*Family{f}, err
	}
	var kinds [][]Shape
	uniform := true
	for _, kind := range spec.shapesBy {
		shapes, err := evalShapes(kind.shapes, &b.scope)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, shapes)
		uniform = uniform && slices.EqualFunc(shapes, kinds[0], Shape.equal)
	}
	if uniform {
		f, err := b.family(spec, spec.Layers, kinds[0], counts)
		return []*Family{f}, err
	}
	var list []*Family
	for i, kind := range spec.shapesBy {
		f, err := b.family(spec, kind.set, kinds[i], counts)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

func (b *builder) family(spec *familySpec, set string, shapes []Shape, counts map[nameKey]int) (*Family, error) {
	f := &Family{Tower: spec.Tower, Group: spec.Group, Role: spec.Role, Note: spec.Note,
		DTypes: spec.dtypes, Shapes: shapes, LayerSet: set, Optional: spec.Optional, Tolerated: spec.Tolerated,
		Axis: Replicated, Source: spec.Source}
	if spec.Axis != nil {
		f.Axis = *spec.Axis
	}
	for _, step := range []func() error{
		func() error { return b.spell(f, spec, counts) },
		func() error { return b.count(f, spec) },
		func() error { return b.measure(f) },
		func() error { return b.split(f, spec) },
		func() error { return b.engine(f, spec.engine) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// spell resolves the pattern. Of several spellings the first one that the
// checkpoint uses becomes the family's own.
func (b *builder) spell(f *Family, spec *familySpec, counts map[nameKey]int) error {
	var all []template
	for _, pattern := range append([]string{spec.Pattern}, spec.Aliases...) {
		t, err := b.p.template(pattern, b.in.Prefixes)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(other template) bool { return other.pattern == t.pattern }) {
			all = append(all, t)
		}
	}
	own := max(0, slices.IndexFunc(all, func(t template) bool { return counts[nameKey{t.text, t.slots}] > 0 }))
	f.template = all[own]
	f.Pattern, f.Text, f.Slots = f.template.pattern, f.template.text, f.template.slots
	for i, t := range all {
		if i != own {
			f.aliases = append(f.aliases, t)
			f.Aliases = append(f.Aliases, t.pattern)
		}
	}
	return nil
}

// count says how many tensors there are and numbers their layers.
func (b *builder) count(f *Family, spec *familySpec) (err error) {
	f.Count = 1
	if f.LayerSet != "" {
		f.Layers = b.in.Sets[f.LayerSet]
		f.Count = int64(len(f.Layers))
		f.ranks = b.ranks(f.LayerSet)
	}
	for _, n := range []struct {
		expr *expr
		to   *int64
	}{{spec.experts, &f.Experts}, {spec.blocks, &f.Blocks}} {
		if n.expr == nil {
			continue
		}
		if *n.to, err = n.expr.eval(&b.scope); err != nil {
			return err
		}
		if *n.to < 1 || *n.to > maxTensors {
			return fmt.Errorf("%d of them", *n.to)
		}
		if f.Count, err = mul(f.Count, *n.to); err != nil || f.Count > maxTensors {
			return fmt.Errorf("more than %d tensors", maxTensors)
		}
	}
	return nil
}

// ranks numbers the layers of a set; families share the table.
func (b *builder) ranks(set string) []int32 {
	for _, f := range b.in.Families {
		if f.LayerSet == set {
			return f.ranks
		}
	}
	layers := b.in.Sets[set]
	if len(layers) == 0 {
		return nil
	}
	table := make([]int32, layers[len(layers)-1]+1)
	for i := range table {
		table[i] = -1
	}
	for rank, layer := range layers {
		table[layer] = int32(rank)
	}
	return table
}

// measure computes bytes. Every shape and dtype that is accepted must have a
// size, so that nothing accepted can overflow later.
func (b *builder) measure(f *Family) error {
	for _, shape := range f.Shapes {
		for _, t := range f.DTypes {
			size, err := t.Size(shape.Sizes())
			if err != nil {
				return err
			}
			if size > math.MaxInt64 {
				return errOverflow
			}
			if f.Each == 0 {
				f.Each = int64(size)
			}
		}
	}
	var err error
	f.Bytes, err = mul(f.Each, f.Count)
	return err
}

func (b *builder) engine(f *Family, spec *engineSpec) error {
	if spec == nil {
		return nil
	}
	shapes, err := evalShapes(spec.shapes, &b.scope)
	if err != nil {
		return err
	}
	f.Engine = &Engine{Names: spec.names, NamesByKind: spec.namesByKind, Shapes: shapes,
		Axis: spec.axis, Transform: spec.transform, Reshape: spec.reshape, Map: spec.mapping}
	f.Engine.Cuts, err = evalCuts(spec.cuts, &b.scope)
	return err
}

// pair ties packed families to their scales.
func (b *builder) pair() {
	for i := range b.p.families {
		spec := &b.p.families[i]
		if spec.Scale == nil {
			continue
		}
		packed, ok := b.find(spec.Pattern)
		scale, there := b.find(spec.Scale.Pattern)
		if ok && there && packed.Count == scale.Count {
			packed.Scale, scale.ScaleOf = scale, packed
			packed.ScaleGroup, scale.ScaleGroup = spec.Scale.Group, spec.Scale.Group
		}
	}
}

func (b *builder) tie() {
	t := b.p.tie
	if t == nil {
		return
	}
	at := slices.IndexFunc(b.p.fields, func(f field) bool { return f.name == t.Field })
	out := &Tie{Field: t.Field, Tied: b.in.Vars[t.Field] != 0}
	if at >= 0 {
		v, path, ok := b.at.lookup(b.p.fields[at].paths)
		out.Field, out.Assumed = path, !ok || v.IsNull()
	}
	out.Embedding, _ = b.find(t.Embedding)
	out.Head, _ = b.find(t.Head)
	b.in.Tie = out
}

// find gives the family of a pattern of the profile, whatever its spelling.
func (b *builder) find(pattern string) (*Family, bool) {
	t, err := b.p.template(pattern, b.in.Prefixes)
	if err != nil {
		return nil, false
	}
	for _, f := range b.in.Families {
		if f.Pattern == t.pattern || slices.Contains(f.Aliases, t.pattern) {
			return f, true
		}
	}
	return nil, false
}
