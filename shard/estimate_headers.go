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

// seenLayer is what one layer has, by the last part of its modules' names.
type seenLayer struct {
	there, draft bool
	modules      map[string]*seenModule
}

// seenModule is the sizes of a projection as its tensors show them, 0 where none
// does.
type seenModule struct {
	rows    int64 // outputs
	columns int64 // inputs, where a stored element is one number
	scales  int64 // columns of scales that lie beside a qweight
	turned  bool  // qweight: inputs before outputs, some of them packed
}

// outputs is how many numbers the projection gives.
func (s *seenModule) outputs() int64 {
	switch {
	case s == nil:
		return 0
	case s.turned:
		return s.scales
	}
	return s.rows
}

// mostLayers bounds the layers that are compared, as configs are.
const mostLayers = 1 << 12

// compare holds the headers that a plan was made of against the sizes that the
// caches take from the config: as many layers, and as many rows of keys and
// values or latents. A profile has compared its own. The error is a *model.ConfigError that
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
	module, leaf, ok := cutLast(name)
	if !ok || len(f.Shape) != 2 || !slices.Contains(comparedModules, module) {
		return
	}
	if l.modules == nil {
		l.modules = map[string]*seenModule{}
	}
	if l.modules[module] == nil {
		l.modules[module] = &seenModule{}
	}
	l.modules[module].add(leaf, f)
}

// comparedModules are known by name: rules call projections unknown whose heads
// have other sizes.
var comparedModules = []string{
	"self_attn.k_proj", "self_attn.v_proj", "attention.wk", "attention.wv", "self_attn.qkv_proj", "self_attn.o_proj", "self_attn.kv_a_proj_with_mqa",
}

func cutLast(name string) (before, last string, ok bool) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return "", name, false
	}
	return name[:at], name[at+1:], true
}

// add takes the sizes of one tensor. Types that hold several numbers an element
// pack inputs; bytes of one column are codes that have lost their rows.
func (s *seenModule) add(leaf string, f *Family) {
	rows, columns := int64(f.Shape[0]), int64(f.Shape[1])
	packs := f.DType == dtype.U8.String() || f.DType == dtype.U32.String() || f.DType == dtype.I32.String()
	switch leaf {
	case "weight", "weight_packed":
		if f.DType == dtype.U8.String() && columns == 1 {
			return
		}
		if s.rows = rows; !packs {
			s.columns = columns
		}
	case "qweight":
		s.turned = true
	case "scales":
		s.scales = columns
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

// heads compares the rows of keys and values, or of the latent that stands for
// them, with the numbers that caches keep of a token.
func (c *compared) heads(m *model.Memory) error {
	heads, latents := map[uint32]int64{}, map[uint32]int64{}
	for i := range m.Caches {
		cache := &m.Caches[i]
		kept := heads
		if cache.Counts == model.MLACache {
			kept = latents
		}
		if cache.Counts != model.KVCache && cache.Counts != model.MLACache || !cache.PerToken || cache.Heads == 0 && cache.Counts == model.KVCache {
			continue
		}
		n, err := product(cache.Elements, max(1, cache.Heads))
		if err != nil {
			return err
		}
		for _, layer := range cache.Layers {
			kept[layer] += n
		}
	}
	for i := range c.layers {
		l := &c.layers[i]
		if n, ok := heads[uint32(i)]; ok {
			if seen, what := l.keysAndValues(); seen != 0 && seen != n {
				return differs(m, fmt.Sprintf("%s of layer %d have %d rows in the weights, %d by the config", what, i, seen, n), "kv_heads", "head_dim")
			}
		}
		if n, ok := latents[uint32(i)]; ok {
			if seen := l.modules["self_attn.kv_a_proj_with_mqa"].outputs(); seen != 0 && seen != n {
				return differs(m, fmt.Sprintf("the latent of layer %d has %d rows in the weights, %d by the config", i, seen, n), "kv_rank", "rope_dim")
			}
		}
	}
	return nil
}

// keysAndValues is how many rows keys and values have together, 0 where that
// does not show. A fused projection has the queries too, as many as the output
// projection takes.
func (l *seenLayer) keysAndValues() (rows int64, what string) {
	for _, names := range [...][2]string{{"self_attn.k_proj", "self_attn.v_proj"}, {"attention.wk", "attention.wv"}} {
		if k, v := l.modules[names[0]].outputs(), l.modules[names[1]].outputs(); k != 0 && v != 0 {
			return k + v, "keys and values"
		}
	}
	fused, out := l.modules["self_attn.qkv_proj"].outputs(), l.modules["self_attn.o_proj"]
	if fused == 0 || out == nil || out.columns == 0 || fused <= out.columns {
		return 0, ""
	}
	return fused - out.columns, "fused keys and values"
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
