package shard

import (
	"fmt"
	"slices"
	"strings"
)

// checkWhole looks for what a model lacks that no profile describes: layers that
// the config counts, modules that all other layers of a kind have, and a head
// that the config says is not the embedding. Architectures differ by layer, so a
// module counts as missing only where a single layer lacks it.
func (w *walker) checkWhole() error {
	if w.m.Instance != nil || w.o.Keep != nil || w.c.Single {
		return nil
	}
	if fault := w.ruler.faults["layers"]; fault != "" {
		return fmt.Errorf("%w: %s", ErrIncomplete, fault)
	}
	layers, n := w.layers()
	missing := int64(0)
	first := int64(-1)
	for i := range min(n, int64(len(layers))+1) {
		if layers[uint32(i)] == nil {
			first = i
			break
		}
	}
	for i := range layers {
		if int64(i) < n {
			missing--
		}
	}
	if missing += n; missing > 0 {
		return fmt.Errorf("%w: %d of %d layers are missing, the first is %d", ErrIncomplete, missing, n, first)
	}
	if len(w.unruled()) > 0 {
		return nil // what is not known may stand in for what is missing
	}
	for _, kind := range layerKinds {
		if err := lacking(layers, n, kind); err != nil {
			return err
		}
	}
	return w.checkHead()
}

// layerKinds are the groups whose modules come together: a layer has all of
// them or none.
var layerKinds = [...][]string{{"attention"}, {"norms"}, {"dense-mlp"}, {"router", "shared-experts", "routed-experts"}, {"attention", "norms"}}

// layers gives the modules of each layer with their group, and how many layers
// there should be. Layers beyond that predict further tokens.
func (w *walker) layers() (layers map[uint32]map[string]string, n int64) {
	layers = map[uint32]map[string]string{}
	for i := range w.runs {
		for k := range w.runs[i].pieces {
			p := &w.runs[i].pieces[k]
			if !p.form.layered() {
				continue
			}
			if layers[p.layer] == nil {
				layers[p.layer] = map[string]string{}
			}
			n = max(n, int64(p.layer)+1)
			leaf := p.form.pattern[len(module(p.form.pattern)):]
			if w.ruler.Leaves[strings.TrimPrefix(leaf, ".")] == "weight" { // scales and biases come and go with the precision
				layers[p.layer][module(p.form.pattern)] = p.form.group
			}
		}
	}
	if counted := w.ruler.numbers["layers"]; counted > 0 {
		n = counted
	}
	return layers, n
}

// lacking finds a module of some groups that one layer lacks, of all that have
// any module of them.
func lacking(layers map[uint32]map[string]string, n int64, groups []string) error {
	having := map[string][]uint32{}
	var all []uint32
	for i := range uint32(n) {
		some := false
		for module, group := range layers[i] {
			if slices.Contains(groups, group) {
				having[module] = append(having[module], i)
				some = true
			}
		}
		if some {
			all = append(all, i)
		}
	}
	var missing []string
	for module, in := range having {
		if len(all) < 3 || len(in) != len(all)-1 {
			continue
		}
		at := 0
		for at < len(in) && in[at] == all[at] {
			at++
		}
		missing = append(missing, fmt.Sprintf("layer %d has no %s, which all others have", all[at], module))
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrIncomplete, slices.Min(missing))
}

// checkHead misses a head that is not the embedding by what the config says.
func (w *walker) checkHead() error {
	has := func(role string) bool {
		return slices.ContainsFunc(w.forms, func(f *form) bool { return f.role == role && f.count > 0 })
	}
	if w.m.Config == nil || has(roleHead) || !has(roleEmbedding) {
		return nil
	}
	apart := false
	for _, section := range w.ruler.Sections {
		v, _ := w.m.Config.Lookup(strings.TrimPrefix(section+".tie_word_embeddings", "."))
		tied, ok := v.Bool()
		if ok && tied {
			return nil
		}
		apart = apart || ok
	}
	if v, ok := w.m.Config.Lookup("architectures"); ok && !slices.ContainsFunc(v.Strings(), generates) {
		return nil // models that embed or classify have no head
	}
	if apart {
		return fmt.Errorf("%w: there is no head, and tie_word_embeddings of the config is false", ErrIncomplete)
	}
	return nil
}

func generates(architecture string) bool {
	return strings.HasSuffix(architecture, "ForCausalLM") || strings.HasSuffix(architecture, "ForConditionalGeneration")
}
