package model

import (
	"slices"
	"strings"
)

// maxCombinations bounds how many ways of filling in prefixes are tried.
const maxCombinations = 64

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

// listed gives what the profile says each prefix may be.
func (p *Profile) listed() [][]string {
	all := make([][]string, len(p.prefixes))
	for i, prefix := range p.prefixes {
		all[i] = prefix.Options
	}
	return all
}

// found gives the listed options, and for a prefix that may be anything what
// stands before a telling pattern in the names.
func (p *Profile) found(counts map[nameKey]int) [][]string {
	all := p.listed()
	for i, prefix := range p.prefixes {
		if found := p.foreign(prefix, all, counts); found != "" {
			all[i] = append(slices.Clone(all[i]), found)
		}
	}
	return all
}

// foreign finds the commonest prefix in the names that is none of the options.
func (p *Profile) foreign(prefix prefix, all [][]string, counts map[nameKey]int) (best string) {
	mark := "{" + prefix.Name + "}"
	votes := map[string]int{}
	for _, pattern := range p.evidence.names {
		rest, ok := strings.CutPrefix(pattern, mark)
		if !ok || !prefix.Any {
			continue
		}
		p.combinations(all, func(values map[string]string) {
			tail, ok := p.key(rest, values)
			for name, n := range counts {
				before, found := strings.CutSuffix(name.text, tail.text)
				if ok && found && name.slots == tail.slots && strings.HasSuffix(before, ".") {
					votes[before] += n
				}
			}
		})
	}
	for before, n := range votes {
		if !slices.Contains(prefix.Options, before) && !strings.ContainsAny(before, "{}") &&
			(n > votes[best] || n == votes[best] && before < best) {
			best = before
		}
	}
	return best
}

// combinations calls do with every way of filling in the prefixes, the usual
// one first. The map is do's to keep.
func (p *Profile) combinations(options [][]string, do func(map[string]string)) {
	total := 1
	for _, list := range options {
		total *= len(list)
	}
	for n := range total {
		values, rest := make(map[string]string, len(options)), n
		for i, list := range options {
			values[p.prefixes[i].Name] = list[rest%len(list)]
			rest /= len(list)
		}
		do(values)
	}
}

// discovery is what the names of a checkpoint say about a profile.
type discovery struct {
	prefixes map[string]string
	telling  int // of the profile's telling patterns, those present
	known    int // tensors whose pattern the profile has
	tensors  int
}

// discover finds the prefixes under which most tensors are known. It looks no
// further once it knows all of them.
func (p *Profile) discover(counts map[nameKey]int) discovery {
	best := discovery{known: -1}
	tensors := 0
	for _, n := range counts {
		tensors += n
	}
	try := func(values map[string]string) {
		if best.known == tensors {
			return
		}
		d := p.count(values, counts)
		if d.known > best.known || d.known == best.known && d.telling > best.telling {
			best = d
		}
	}
	p.combinations(p.listed(), try)
	if best.known < tensors {
		p.combinations(p.found(counts), try)
	}
	best.tensors = tensors
	return best
}

func (p *Profile) count(values map[string]string, counts map[nameKey]int) discovery {
	d := discovery{prefixes: values}
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
