package model

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Roles that this package knows the meaning of. Others are for the readers of
// a profile.
const (
	RoleEmbedding = "embedding" // a table that is looked up, not multiplied
	RoleHead      = "head"
)

const (
	maxIgnored   = 4096 // entries of an ignore list that are looked at
	maxIgnoreLen = 1024 // bytes of one
)

// Contradiction is a module whose tensors are not as quantization_config says.
type Contradiction struct {
	Field  string // path of the config's statement
	Module string // name of the first such module, "" where it is about all
	Count  int    // modules
	Msg    string
}

// Contradictions compares the config's quantization_config with the names of a
// checkpoint: whether a module is quantized is decided by its packed tensor.
// What the profile records as the release's own is left out. Modules are the
// matrices that the families of the instance describe.
func (in *Instance) Contradictions(v View) []Contradiction {
	q := in.Profile.Quantization
	if q == nil || v.Config == nil {
		return nil
	}
	list, ok := q.read(in.Profile, v.Config)
	if !ok {
		return nil
	}
	if !slices.ContainsFunc(in.Families, func(f *Family) bool { return f.Scale != nil }) {
		return []Contradiction{{Field: list.path,
			Msg: list.path + " describes a quantized model, and no tensor is packed"}}
	}
	counts := v.tally()
	var found []Contradiction
	for _, f := range in.Families {
		if counts[nameKey{f.Text, f.Slots}] == 0 {
			continue
		}
		if f.Scale != nil {
			found = list.compare(found, f, true)
		} else if f.isMatrix() && !q.recorded(f.module()) {
			found = list.compare(found, f, false)
		}
	}
	return found
}

// isMatrix reports a module that quantizers call Linear.
func (f *Family) isMatrix() bool {
	return len(f.Shapes[0]) == 2 && strings.HasSuffix(f.Pattern, ".weight") &&
		f.Role != RoleEmbedding && f.ScaleOf == nil
}

// module is the pattern of the module that owns the tensor.
func (f *Family) module() string {
	return f.Pattern[:max(0, strings.LastIndexByte(f.Pattern, '.'))]
}

// recorded reports a contradiction that the profile knows of.
func (q *Quantization) recorded(module string) bool {
	return slices.ContainsFunc(q.Contradictions, func(tail string) bool {
		return module == tail || strings.HasSuffix(module, "."+tail)
	})
}

// ignoreList is the ignore list of a quantization_config.
type ignoreList struct {
	path     string
	exact    map[string]bool
	regexps  []*regexp.Regexp
	numbered bool // some entry speaks of single layers
}

// read gives the ignore list; false without a quantization_config.
func (q *Quantization) read(p *Profile, c *Config) (*ignoreList, bool) {
	at, _ := p.locate(c)
	var refs []ref
	for _, text := range q.Paths {
		r, _ := parseRef(text) // checked by the profile parser
		refs = append(refs, r)
	}
	v, path, ok := at.lookup(refs)
	if !ok || !v.IsObject() {
		return nil, false
	}
	list := &ignoreList{path: path, exact: map[string]bool{}}
	ignored, _ := c.Lookup(path + ".ignore")
	for i, entry := range ignored.Strings() {
		if i == maxIgnored {
			break
		}
		list.add(entry)
	}
	return list, true
}

// add reads an entry as compressed-tensors does: "re:" and a regular
// expression that has to match from the start, or the name of a module. An
// expression that is beyond RE2, or too long, matches nothing here.
func (l *ignoreList) add(entry string) {
	if len(entry) > maxIgnoreLen {
		return
	}
	l.numbered = l.numbered || strings.ContainsAny(entry, "0123456789")
	pattern, ok := strings.CutPrefix(entry, "re:")
	if !ok {
		l.exact[entry] = true
		return
	}
	if re, err := regexp.Compile("^(?:" + pattern + ")"); err == nil {
		l.regexps = append(l.regexps, re)
	}
}

func (l *ignoreList) ignores(module string) bool {
	return l.exact[module] ||
		slices.ContainsFunc(l.regexps, func(re *regexp.Regexp) bool { return re.MatchString(module) })
}

// compare appends a contradiction if modules of f are ignored and packed, or
// neither. One module stands for its family where no entry speaks of layers,
// and one expert for those of its layer: ignore lists do not go into experts.
func (l *ignoreList) compare(found []Contradiction, f *Family, packed bool) []Contradiction {
	step := max(1, f.Experts) * max(1, f.Blocks)
	c := Contradiction{Field: l.path + ".ignore"}
	for ordinal := int64(0); ordinal < f.Count; ordinal += step {
		name := f.NameAt(ordinal)
		module := name[:max(0, strings.LastIndexByte(name, '.'))]
		if l.ignores(module) == packed {
			if c.Count == 0 {
				c.Module = module
			}
			c.Count++
		}
		if !l.numbered {
			c.Count *= int((f.Count + step - 1) / step)
			break
		}
	}
	if c.Count == 0 {
		return found
	}
	c.Msg = fmt.Sprintf("%s leaves out %s, which is not quantized", c.Field, f.module())
	if packed {
		c.Msg = fmt.Sprintf("%s lists %s, which is quantized", c.Field, f.module())
	}
	return append(found, c)
}
