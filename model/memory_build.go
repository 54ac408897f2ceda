package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// memory gives the profile's memory part the sizes of the config.
func (b *builder) memory() {
	spec := b.p.memory
	if b.stuck || spec == nil {
		return
	}
	m := &Memory{Name: b.p.Name, Title: b.p.Title, Layers: b.in.Vars[layersName]}
	m.ContextField = b.fieldPath(spec.contextName)
	var err error
	if m.MaxContext, err = spec.context.eval(&b.scope); err != nil || m.MaxContext < 0 {
		b.unsized(m.ContextField, fmt.Errorf("the most tokens of a sequence are not known: %w", orNegative(err)))
		return
	}
	for i := range spec.caches {
		s := &spec.caches[i]
		if !b.wants(s.when) {
			continue
		}
		caches, err := b.caches(s)
		if err != nil {
			b.unsized("memory: "+s.Name, err)
			return
		}
		m.Caches = append(m.Caches, caches...)
	}
	for i := range spec.activations {
		s := &spec.activations[i]
		if !b.wants(s.when) {
			continue
		}
		n, err := b.positive(s.elements, 0)
		if err != nil {
			b.unsized("memory: "+s.Name, err)
			return
		}
		m.Activations = append(m.Activations, Activation{Name: s.Name, Note: s.Note, PerStep: s.Per == "step",
			Elements: n, DType: s.dtype, Text: b.formula(s.Elements)})
	}
	if layer, ok := b.uncovered(spec); !ok {
		b.unsized("memory", fmt.Errorf("layer %d (counted from 0) is of no kind that has a cache", layer))
		return
	}
	m.Inputs = b.inputs(spec)
	b.in.Memory = m
}

func orNegative(err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("it is negative")
}

func (b *builder) unsized(field string, err error) {
	b.fail(ConfigProblem{Field: field, Expected: "a size that follows from the config", Actual: err.Error(),
		Msg: fmt.Sprintf("%s: %v", field, err), Bounds: true})
}

// fieldPath is where the config has a field, or the name of a definition.
func (b *builder) fieldPath(name string) string {
	for i := range b.p.fields {
		if b.p.fields[i].name == name {
			_, path, _ := b.at.lookup(b.p.fields[i].paths)
			return path
		}
	}
	return name
}

// sizes are those of a cache in one layer.
type sizes struct{ elements, heads, window int64 }

// caches gives the cache of a kind of layer, or one for each group of layers
// where their sizes differ. Layers without heads keep nothing.
func (b *builder) caches(s *cacheSpec) ([]Cache, error) {
	var order []sizes
	groups := map[sizes][]uint32{}
	varies := s.elements.uses(layerName) || s.heads.uses(layerName) || s.window.uses(layerName)
	var one sizes
	for i, layer := range b.in.Sets[s.Layers] {
		if i == 0 || varies {
			var err error
			if one, err = b.sizes(s, int64(layer)); err != nil {
				return nil, fmt.Errorf("layer %d (counted from 0): %w", layer, err)
			}
			if _, seen := groups[one]; !seen {
				order = append(order, one)
			}
		}
		groups[one] = append(groups[one], layer)
	}
	var out []Cache
	for _, z := range order {
		if s.heads != nil && z.heads == 0 {
			continue
		}
		c := Cache{Name: s.Name, Note: s.Note, Counts: s.Counts, Layers: groups[z], PerToken: s.Per == "token",
			Window: z.window, Elements: z.elements, Heads: z.heads, Shared: s.Shared, DType: s.dtype}
		c.ElementsText, c.HeadsText = b.formula(s.Elements), b.formula(s.Heads)
		if varies {
			c.ElementsText = b.formulaAt(s.Elements, int64(groups[z][0]))
			c.HeadsText = b.formulaAt(s.Heads, int64(groups[z][0]))
		}
		out = append(out, c)
	}
	return out, nil
}

func (b *builder) sizes(s *cacheSpec, layer int64) (z sizes, err error) {
	if z.elements, err = b.positive(s.elements, layer); err != nil {
		return z, fmt.Errorf("elements: %w", err)
	}
	if s.heads != nil {
		if z.heads, err = b.scope.ofLayer(s.heads, layer); err != nil || z.heads < 0 {
			return z, fmt.Errorf("heads: %w", orNegative(err))
		}
		if _, err = mul(z.elements, z.heads); err != nil {
			return z, err
		}
	}
	if s.window != nil {
		if z.window, err = b.scope.ofLayer(s.window, layer); err != nil || z.window < 0 {
			return z, fmt.Errorf("window: %w", orNegative(err))
		}
	}
	return z, nil
}

// positive computes a size, which is never zero.
func (b *builder) positive(e *expr, layer int64) (int64, error) {
	n, err := b.scope.ofLayer(e, layer)
	if err == nil && (n < 1 || n > math.MaxInt64/2) {
		err = fmt.Errorf("%d is no size", n)
	}
	return n, err
}

// uncovered finds a layer in no set of any cache; ok where there is none.
func (b *builder) uncovered(spec *memorySpec) (layer int, ok bool) {
	covered := make([]bool, b.in.Vars[layersName])
	for i := range spec.caches {
		s := &spec.caches[i]
		if !b.wants(s.when) {
			continue
		}
		for _, n := range b.in.Sets[s.Layers] {
			if int(n) < len(covered) {
				covered[n] = true
			}
		}
	}
	layer = slices.Index(covered, false)
	return layer, layer < 0
}

func (b *builder) formula(text string) Formula {
	return Formula{text, substitute(text, &b.scope)}
}

func (b *builder) formulaAt(text string, layer int64) Formula {
	b.scope.ints[layerName] = layer
	defer delete(b.scope.ints, layerName)
	return b.formula(text)
}

// substitute writes an expression with values in place of names. Entries of
// lists stand as at(name, number): they are among the inputs.
func substitute(text string, in *scope) string {
	var out strings.Builder
	p := exprParser{text: text}
	for last := 0; ; last = p.at {
		token := p.peek()
		out.WriteString(text[last:p.at]) // spaces
		if token == "" {
			return out.String()
		}
		p.next()
		if n, ok := in.ints[token]; ok {
			fmt.Fprint(&out, n)
			continue
		}
		out.WriteString(token)
	}
}

// inputs lists every value that the sizes follow from, once.
func (b *builder) inputs(spec *memorySpec) []Input {
	var used []string
	note := func(name string, _ bool) {
		if name != layerName && !slices.Contains(used, name) {
			used = append(used, name)
		}
	}
	note(layersName, false)
	note(spec.contextName, false)
	var sets []string
	for i := range spec.caches {
		s := &spec.caches[i]
		if !b.wants(s.when) {
			continue
		}
		if !slices.Contains(sets, s.Layers) {
			sets = append(sets, s.Layers)
		}
		for _, e := range []*expr{s.elements, s.heads, s.window} {
			if e != nil {
				e.names(note)
			}
		}
	}
	for i := range spec.activations {
		if b.wants(spec.activations[i].when) {
			spec.activations[i].elements.names(note)
		}
	}
	var list []Input
	for _, name := range used {
		list = append(list, b.input(name))
	}
	for _, name := range sets {
		list = append(list, b.setInput(name))
	}
	return list
}

func (b *builder) input(name string) Input {
	in := Input{Name: name, Source: b.sources[name]}
	if values, ok := b.scope.lists[name]; ok {
		in.List = values
		if len(values) > 0 && !slices.ContainsFunc(values, func(n int64) bool { return n != values[0] }) {
			in.List, in.Value = nil, values[0]
		}
		return in
	}
	in.Value = b.in.Vars[name]
	if i := slices.IndexFunc(b.p.lets, func(l let) bool { return l.name == name }); i >= 0 {
		in.Source = b.p.lets[i].text
	}
	return in
}

// setInput counts the layers of a kind.
func (b *builder) setInput(name string) Input {
	in := Input{Name: name + " layers", Value: int64(len(b.in.Sets[name]))}
	for i := range b.p.sets {
		switch s := &b.p.sets[i]; {
		case s.name != name:
		case s.list != "":
			in.Source = b.listPath(s.list)
		default:
			in.Source = s.text
		}
	}
	return in
}
