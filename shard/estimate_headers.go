package shard

import (
	"fmt"
	"slices"
	"strings"

	"ckpt/dtype"
	"ckpt/model"
)

// compared are the layers of a program that rules planned: what headers say of
// sizes that a config says too.
type compared struct {
	stacks []string // what names of layers that rules know begin with
	layers []seenLayer
}

// seenLayer is what one layer has; keys and values are rows of their projections,
// 0 where there are none or where types hide them.
type seenLayer struct {
	there, draft bool
	keys, values int64
}

// mostLayers bounds the layers that are compared, as configs are.
const mostLayers = 1 << 12

// compare holds the headers that a plan was made of against the sizes that the
// caches take from the config: as many layers, and as many rows of keys and
// values. A profile has compared its own. The error is a *model.ConfigError that
// names the field. Draft layers behind the others are noted, as they keep caches
// that are not counted.
func compare(p *Plan, m *model.Memory) (note string, err error) {
	if p.Program == nil || p.Profile != RulesName {
		return "", nil
	}
	seen := compared{}
	for i := range p.Families {
		if stack, _, ok := strings.Cut(p.Families[i].Pattern, placeholders[0]); ok && p.Families[i].Group != "unknown" {
			seen.stacks = append(seen.stacks, stack)
		}
	}
	for i := range p.Program.Extents {
		for k := range p.Program.Extents[i].Runs {
			for n := range p.Program.Extents[i].Runs[k].Pieces {
				piece := &p.Program.Extents[i].Runs[k].Pieces[n]
				seen.add(&p.Families[p.Program.Templates[piece.Template].Family], piece.Layer)
			}
		}
	}
	if len(seen.layers) == 0 {
		return "", nil // none that the rules know
	}
	if note, err = seen.count(m); err != nil {
		return "", err
	}
	return note, seen.heads(m)
}

func (c *compared) add(f *Family, layer uint32) {
	stack, name, ok := strings.Cut(f.Pattern, placeholders[0]+".")
	if !ok || !slices.Contains(c.stacks, stack) || layer >= mostLayers {
		return
	}
	for uint32(len(c.layers)) <= layer {
		c.layers = append(c.layers, seenLayer{})
	}
	l := &c.layers[layer]
	l.there = true
	l.draft = l.draft || f.Group == "nextn"
	if len(f.Shape) != 2 {
		return
	}
	of, plain := strings.CutSuffix(name, ".weight")
	of, packed := strings.CutSuffix(of, ".weight_packed")
	if !packed && (!plain || f.DType == dtype.U8.String()) { // bytes of codes have lost their rows
		return
	}
	switch of { // by name: rules call projections unknown whose heads have other sizes
	case "self_attn.k_proj", "attention.wk":
		l.keys = int64(f.Shape[0])
	case "self_attn.v_proj", "attention.wv":
		l.values = int64(f.Shape[0])
	}
}

// count compares the number of layers.
func (c *compared) count(m *model.Memory) (note string, err error) {
	drafts := 0
	for i, l := range c.layers {
		switch {
		case int64(i) < m.Layers && !l.there:
			return "", differs(m, fmt.Sprintf("the weights have no layer %d (counted from 0)", i), "layers")
		case int64(i) < m.Layers || !l.there:
		case !l.draft:
			return "", differs(m, fmt.Sprintf("the weights have a layer %d (counted from 0)", i), "layers")
		default:
			drafts++
		}
	}
	if int64(len(c.layers)) < m.Layers {
		return "", differs(m, fmt.Sprintf("the weights have %d layers", len(c.layers)), "layers")
	}
	if drafts > 0 {
		note = fmt.Sprintf("the weights have %s beyond the %d of the config: drafting weights count, its caches do not", plural(drafts, "draft layer", "draft layers"), m.Layers)
	}
	return note, nil
}

// heads compares the rows of keys and values with the numbers that caches keep
// of a token.
func (c *compared) heads(m *model.Memory) error {
	kept := map[uint32]int64{}
	for i := range m.Caches {
		cache := &m.Caches[i]
		if cache.Counts != model.KVCache || !cache.PerToken || cache.Heads == 0 {
			continue
		}
		n, err := product(cache.Elements, cache.Heads)
		if err != nil {
			return err
		}
		for _, layer := range cache.Layers {
			kept[layer] += n
		}
	}
	for i, l := range c.layers {
		n, ok := kept[uint32(i)]
		if !ok || l.keys == 0 || l.values == 0 || l.keys+l.values == n {
			continue
		}
		return differs(m, fmt.Sprintf("keys and values of layer %d have %d and %d rows in the weights, %d by the config", i, l.keys, l.values, n), "kv_heads", "head_dim")
	}
	return nil
}

// differs is the error that names the fields with their values.
func differs(m *model.Memory, actual string, inputs ...string) error {
	var fields, values []string
	for _, name := range inputs {
		at := slices.IndexFunc(m.Inputs, func(in model.Input) bool { return in.Name == name })
		if at < 0 {
			continue
		}
		in := &m.Inputs[at]
		fields = append(fields, in.Source)
		if in.List != nil {
			values = append(values, in.Source+" differs by layer")
		} else {
			values = append(values, fmt.Sprintf("%s is %d", in.Source, in.Value))
		}
	}
	field, expected := strings.Join(fields, ", "), strings.Join(values, " and ")
	return &model.ConfigError{Problems: []model.ConfigProblem{{Field: field, Expected: expected, Actual: actual,
		Msg: fmt.Sprintf("%s, and %s", expected, actual)}}}
}
