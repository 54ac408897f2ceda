package convert

import (
	"fmt"
	"slices"
	"strings"

	"ckpt/checkpoint"
	"ckpt/internal/names"
	"ckpt/model"
)

// stack tells which tensors belong to a layer of the language model. Vision
// towers have layers of their own, which are not cut.
type stack struct {
	table    *names.Table
	prefixes []string // of patterns, up to the layer's number
	layered  []bool   // by pattern: its first number is a layer
}

// layer is the layer of a tensor, and whether it has one.
func (s *stack) layer(k names.Key) (uint32, bool) {
	if int64(k.Pattern) < int64(len(s.layered)) && s.layered[k.Pattern] {
		return k.N[0], true
	}
	return 0, false
}

// findStack finds the layers by the family's profile, or by the form of the
// names where no profile fits.
func findStack(c *checkpoint.Checkpoint, layers int) (*stack, error) {
	counts := patternCounts(c)
	s := &stack{table: c.Names}
	if config, err := model.ParseConfig(c.Config.Data); err == nil {
		if fit := model.Match(model.View{Config: config, Patterns: counts}); fit.Instance != nil {
			s.prefixes = profilePrefixes(fit.Instance)
		}
	}
	if len(s.prefixes) == 0 {
		s.prefixes = namePrefixes(c, layers)
	}
	found := false
	for id := range c.Names.Len() {
		text := c.Names.Pattern(uint32(id)).Text
		first, _, ok := strings.Cut(text, string([]byte{names.Mark}))
		ok = ok && slices.Contains(s.prefixes, first)
		s.layered = append(s.layered, ok)
		found = found || ok
	}
	if !found {
		return nil, fmt.Errorf("no tensor name says that it belongs to one of %d layers", layers)
	}
	return s, nil
}

func patternCounts(c *checkpoint.Checkpoint) []model.PatternCount {
	counts := make([]int, c.Names.Len())
	for _, f := range c.Files {
		if !f.Indexed {
			continue
		}
		for i := range f.Records {
			counts[f.Records[i].Key.Pattern]++
		}
	}
	var out []model.PatternCount
	for id, n := range counts {
		if n > 0 {
			p := c.Names.Pattern(uint32(id))
			out = append(out, model.PatternCount{Text: p.Text, Slots: p.Slots, Count: n})
		}
	}
	return out
}

// profilePrefixes are the beginnings of the names of families that have
// layers, which in every profile is their first number.
func profilePrefixes(in *model.Instance) []string {
	var out []string
	for _, f := range in.Families {
		if f.LayerSet == "" {
			continue
		}
		if first, _, ok := strings.Cut(f.Text, string([]byte{names.Mark})); ok && !slices.Contains(out, first) {
			out = append(out, first)
		}
	}
	return out
}

// stackWords end the part of a name before the layer's number.
var stackWords = []string{"layers.", "blk.", "h.", "blocks."}

// towerWords are found in the names of towers beside the language model.
var towerWords = []string{"vision", "visual", "audio", "image", "vit."}

// namePrefixes are the beginnings "….layers." under which as many layers are
// found as the config counts.
func namePrefixes(c *checkpoint.Checkpoint, layers int) []string {
	highest := map[string]int64{}
	for _, f := range c.Files {
		for i := range f.Records {
			k := f.Records[i].Key
			first, _, ok := strings.Cut(c.Names.Pattern(k.Pattern).Text, string([]byte{names.Mark}))
			if ok && isStack(first) {
				highest[first] = max(highest[first], int64(k.N[0]))
			}
		}
	}
	var out []string
	for prefix, n := range highest {
		if n+1 >= int64(layers) { // prediction layers may stand behind the last
			out = append(out, prefix)
		}
	}
	slices.Sort(out)
	return out
}

func isStack(prefix string) bool {
	hasWord := func(w string) bool { return strings.Contains(prefix, w) }
	ends := func(w string) bool { return prefix == w || strings.HasSuffix(prefix, "."+w) }
	return slices.ContainsFunc(stackWords, ends) && !slices.ContainsFunc(towerWords, hasWord)
}
