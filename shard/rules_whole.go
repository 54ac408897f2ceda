package shard

import (
	"fmt"
	"slices"
	"strings"
)

// checkWhole looks for what a model lacks that no profile describes: layers and
// experts that the config counts, modules that other layers of a kind have, and a
// head that the config says is not the embedding.
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
	if err := w.checkExperts(); err != nil {
		return err
	}
	if w.standIns() {
		return nil // what is not known may stand in for what is missing
	}
	if err := w.checkModules(layers, n); err != nil {
		return err
	}
	return w.checkHead()
}

// standIns reports whether a layer has modules that the rules do not know.
func (w *walker) standIns() bool {
	return slices.ContainsFunc(w.unknown, func(u unknown) bool { return u.form.count > 0 && u.form.rule == nil })
}

// isModule says whether a tensor shows that its module is there: scales and
// biases come and go with the precision, and weights have names of many formats.
func (f *form) isModule() bool {
	return f.skip == "" && f.family == nil && f.rule != nil && (f.leaf == leafWeight || f.leaf == "")
}

// layers gives the modules of each layer, and how many layers there should be.
// Layers beyond that predict further tokens.
func (w *walker) layers() (layers map[uint32]map[string]*moduleRule, n int64) {
	layers = map[uint32]map[string]*moduleRule{}
	for i := range w.runs {
		for k := range w.runs[i].pieces {
			p := &w.runs[i].pieces[k]
			if !p.form.layered() {
				continue
			}
			if layers[p.layer] == nil {
				layers[p.layer] = map[string]*moduleRule{}
			}
			n = max(n, int64(p.layer)+1)
			if p.form.isModule() {
				layers[p.layer][module(p.form.pattern)] = p.form.rule
			}
		}
	}
	if counted := w.ruler.numbers["layers"]; counted > 0 {
		n = counted
	}
	return layers, n
}

// checkHead misses a head that is not the embedding by what the config says.
func (w *walker) checkHead() error {
	if tied, said := w.tied(); w.headless() && said && !tied {
		return fmt.Errorf("%w: there is no head, and tie_word_embeddings of the config is false", ErrIncomplete)
	}
	return nil
}

// headless says whether a model that generates text has an embedding and no head.
func (w *walker) headless() bool {
	has := func(role string) bool {
		return slices.ContainsFunc(w.forms, func(f *form) bool { return f.role == role && f.count > 0 })
	}
	if w.m.Config == nil || has(roleHead) || !has(roleEmbedding) {
		return false
	}
	v, ok := w.m.Config.Lookup("architectures")
	return !ok || slices.ContainsFunc(v.Strings(), generates) // others embed or classify
}

// tied is what the config says of head and embedding, if anything; one section
// that ties them does.
func (w *walker) tied() (tied, said bool) {
	for _, section := range w.ruler.Sections {
		v, _ := w.m.Config.Lookup(strings.TrimPrefix(section+".tie_word_embeddings", "."))
		yes, ok := v.Bool()
		tied, said = tied || ok && yes, said || ok
	}
	return tied, said
}

// observed notes what was assumed of a whole model, and what it has beyond its
// config.
func (w *walker) observed() []string {
	var notes []string
	if w.o.Keep != nil || w.c.Single {
		return nil
	}
	if _, said := w.tied(); !said && w.headless() {
		notes = append(notes, "there is no head, and the config does not say tie_word_embeddings: true is assumed, the embedding serves as head")
	}
	if n := w.ruler.numbers["layers"]; n > 0 {
		layers, _ := w.layers()
		more := 0
		for i, modules := range layers {
			draft := false
			for _, r := range modules {
				draft = draft || r.Group == "nextn"
			}
			if int64(i) >= n && !draft {
				more++
			}
		}
		if more > 0 {
			notes = append(notes, fmt.Sprintf("%s beyond the %d that the config counts", plural(more, "layer lies", "layers lie"), n))
		}
	}
	return notes
}

func generates(architecture string) bool {
	return strings.HasSuffix(architecture, "ForCausalLM") || strings.HasSuffix(architecture, "ForConditionalGeneration")
}
