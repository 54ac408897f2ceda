package shard

import (
	"fmt"
	"slices"
	"strings"
)

// kindOfLayer is what layers have to have in common to be compared: the kind
// that the config gives them, and the blocks that they have.
type kindOfLayer struct {
	config                string
	attention, dense, moe bool
}

// blocks are the groups whose modules come together: a layer has all of them or
// none.
var blockGroups = [...][]string{{"attention"}, {"dense-mlp"}, {"router", "shared-experts", "routed-experts"}}

// layerChecker compares the layers of a model by their modules.
type layerChecker struct {
	*walker
	layers map[uint32]map[string]*moduleRule
	kinds  map[uint32]kindOfLayer
	order  []uint32
}

// checkModules finds modules that layers lack. Of layers that the config calls
// one kind, all have attention and one of the blocks behind it, and of a block or
// of the norms around it none has less than another. Layers may have other modules
// than others: dense ones, of other attention, and those behind the n layers of
// the config, which predict tokens and whose norms are their own.
func (w *walker) checkModules(layers map[uint32]map[string]*moduleRule, n int64) error {
	c := &layerChecker{walker: w, layers: layers, kinds: map[uint32]kindOfLayer{}}
	names := w.ruler.strings(w.m.Config, "layer_types")
	for i, modules := range layers {
		k := kindOfLayer{}
		if at := min(int64(i), n-1); int64(len(names)) >= n {
			k.config = names[at]
		}
		for _, r := range modules {
			k.attention = k.attention || r.Group == "attention"
			k.dense = k.dense || r.Group == "dense-mlp"
			k.moe = k.moe || slices.Contains(blockGroups[2], r.Group)
		}
		c.kinds[i] = k
		c.order = append(c.order, i)
	}
	slices.Sort(c.order)
	if err := c.blocks(n); err != nil {
		return err
	}
	for _, groups := range blockGroups {
		err := c.compare(func(i uint32) (kindOfLayer, bool) { return kindOfLayer{config: c.kinds[i].config}, true }, groups)
		if err != nil {
			return err
		}
	}
	return c.compare(func(i uint32) (kindOfLayer, bool) { return c.kinds[i], int64(i) < n }, []string{"norms"})
}

// blocks finds layers without attention, or without what follows it, where others
// of their kind have it. Configs of pruned architectures say that they differ.
func (c *layerChecker) blocks(n int64) error {
	for _, field := range c.ruler.Varied {
		if c.ruler.says(c.m.Config, field) {
			return nil
		}
	}
	for name, has := range map[string]func(kindOfLayer) bool{
		"self-attention":       func(k kindOfLayer) bool { return k.attention },
		"feed-forward network": func(k kindOfLayer) bool { return k.dense || k.moe },
	} {
		for _, i := range c.order {
			if has(c.kinds[i]) || int64(i) >= n {
				continue
			}
			for _, o := range c.order {
				if has(c.kinds[o]) && c.kinds[o].config == c.kinds[i].config {
					missing := c.modules(o, blockGroups[0])
					if name != "self-attention" {
						missing = append(c.modules(o, blockGroups[1]), c.modules(o, blockGroups[2])...)
					}
					return fmt.Errorf("%w: layer %d has no %s of %s, which others have", ErrIncomplete, i, missing[0], name)
				}
			}
		}
	}
	return nil
}

// modules lists the modules of a layer in some groups, that all such layers have.
func (c *layerChecker) modules(layer uint32, groups []string) []string {
	var list []string
	for name, r := range c.layers[layer] {
		if slices.Contains(groups, r.Group) && !r.Optional {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// compare finds a layer that has some of the modules of another of its kind and
// nothing instead of the rest.
func (c *layerChecker) compare(kind func(uint32) (kindOfLayer, bool), groups []string) error {
	sets := map[kindOfLayer]map[string][]uint32{}
	for _, i := range c.order {
		k, ok := kind(i)
		list := strings.Join(c.modules(i, groups), " ")
		if !ok || list == "" && groups[0] != "norms" {
			continue
		}
		if sets[k] == nil {
			sets[k] = map[string][]uint32{}
		}
		sets[k][list] = append(sets[k][list], i)
	}
	var found []string
	for _, set := range sets {
		for few, lacking := range set {
			for many, having := range set {
				missing := beyond(strings.Fields(few), strings.Fields(many))
				if missing == nil || c.shared(having[0], missing) {
					continue
				}
				found = append(found, fmt.Sprintf("%s has no %s, which %d others have", layerList(lacking), strings.Join(missing, ", "), len(having)))
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrIncomplete, slices.Min(found))
}

// beyond lists what many has and few does not; nil where few has something of its
// own.
func beyond(few, many []string) []string {
	rest := slices.DeleteFunc(slices.Clone(many), func(s string) bool { return slices.Contains(few, s) })
	if len(rest) == 0 || len(rest)+len(few) != len(many) {
		return nil
	}
	return rest
}

// shared says whether what a layer lacks are the keys and values that it takes of
// another, as some configs say.
func (c *layerChecker) shared(of uint32, missing []string) bool {
	if !slices.ContainsFunc(c.ruler.Sharing, func(field string) bool { return c.ruler.says(c.m.Config, field) }) {
		return false
	}
	return !slices.ContainsFunc(missing, func(name string) bool { return !c.layers[of][name].Shared })
}

// layerList names layers, the first few of many.
func layerList(list []uint32) string {
	const shown = 4
	text := make([]string, min(len(list), shown))
	for i := range text {
		text[i] = fmt.Sprint(list[i])
	}
	switch {
	case len(list) == 1:
		return "layer " + text[0]
	case len(list) > shown:
		return fmt.Sprintf("each of %d layers (%s, …)", len(list), strings.Join(text, ", "))
	}
	return "each of layers " + strings.Join(text, ", ")
}
