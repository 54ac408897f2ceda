package model

import (
	"maps"
)

// maxCombinations bounds how many ways of filling in prefixes are tried.
const maxCombinations = 256

// PatternCount is a name pattern of a checkpoint, as package names has it.
type PatternCount struct {
	Text  string // names.Mark in place of each number
	Slots int    // how many numbers
	Count int    // how many tensors have it
}

// View is what a checkpoint shows of itself.
type View struct {
	Config   *Config // nil where there is none, or none that parses
	Patterns []PatternCount
}

// nameKey tells patterns apart: a name that holds a byte 0xFF has no slots.
type nameKey struct {
	text  string
	slots int
}

func (v View) tally() map[nameKey]int {
	counts := make(map[nameKey]int, len(v.Patterns))
	for _, p := range v.Patterns {
		counts[nameKey{p.Text, p.Slots}] += p.Count
	}
	return counts
}

func (p *Profile) usualPrefixes() map[string]string {
	values := make(map[string]string, len(p.prefixes))
	for _, prefix := range p.prefixes {
		values[prefix.Name] = prefix.Options[0]
	}
	return values
}

// combinations calls do with every way of filling in the prefixes, the usual
// one first. The map is do's to keep.
func (p *Profile) combinations(do func(map[string]string)) {
	total := 1
	for _, prefix := range p.prefixes {
		total *= len(prefix.Options)
	}
	for n := range total {
		values, rest := make(map[string]string, len(p.prefixes)), n
		for _, prefix := range p.prefixes {
			values[prefix.Name] = prefix.Options[rest%len(prefix.Options)]
			rest /= len(prefix.Options)
		}
		do(values)
	}
}

// discovery is what the names of a checkpoint say about a profile.
type discovery struct {
	prefixes map[string]string
	telling  int // of the profile's identifying patterns, those present
	known    int // tensors whose pattern the profile has
	tensors  int
	patterns []string // the identifying patterns, resolved
}

// discover finds the prefixes under which most tensors are known.
func (p *Profile) discover(counts map[nameKey]int) discovery {
	var best discovery
	p.combinations(func(values map[string]string) {
		d := p.count(values, counts)
		if best.prefixes == nil || d.known > best.known || d.known == best.known && d.telling > best.telling {
			best = d
		}
	})
	for _, n := range counts {
		best.tensors += n
	}
	return best
}

func (p *Profile) count(values map[string]string, counts map[nameKey]int) discovery {
	d := discovery{prefixes: maps.Clone(values)}
	seen := map[nameKey]bool{}
	for i := range p.families {
		f := &p.families[i]
		for _, pattern := range append([]string{f.Pattern}, f.Aliases...) {
			if key, ok := p.key(pattern, values); ok && !seen[key] {
				seen[key] = true
				d.known += counts[key]
			}
		}
	}
	for _, pattern := range p.evidence.names {
		key, ok := p.key(pattern, values)
		if ok && counts[key] > 0 {
			d.telling++
		}
	}
	return d
}

func (p *Profile) key(pattern string, values map[string]string) (nameKey, bool) {
	t, err := p.template(pattern, values)
	return nameKey{t.text, t.slots}, err == nil
}

func (p *Profile) template(pattern string, values map[string]string) (template, error) {
	text, err := p.resolve(pattern, values)
	if err != nil {
		return template{}, err
	}
	return parseTemplate(text)
}
