package shard

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"ckpt/internal/names"
	"ckpt/model"
)

//go:embed rules.json
var rulesText []byte

// rules split plain transformers by the roles of their modules, as the names
// that their authors use tell them.
type rules struct {
	Schema   string                `json:"schema"`
	Sections []string              `json:"sections"` // places in the config where numbers stand
	Numbers  map[string]numberRule `json:"numbers"`
	Varied   []string              `json:"varied"`   // config fields by which layers lack whole blocks
	Sharing  []string              `json:"sharing"`  // config fields by which layers use keys and values of others
	Stacks   []string              `json:"stacks"`   // a number behind one of these is a layer
	Experts  []string              `json:"experts"`  // or an expert
	Prefixes []string              `json:"prefixes"` // of the language model
	Skip     []skipRule            `json:"skip"`
	Leaves   map[string]string     `json:"leaves"` // last segment of a name: weight, bias, scale, scalar, whole, buffer
	Global   []moduleRule          `json:"global"`
	Layer    []moduleRule          `json:"layer"`
}

type numberRule struct {
	Fields  []string `json:"fields"`
	What    string   `json:"what"`
	Default string   `json:"default"`
	Zero    bool     `json:"zero"` // as good as none
}

type skipRule struct {
	Prefix string `json:"prefix"`
	Tower  string `json:"tower"`
}

type moduleRule struct {
	Modules  []string      `json:"modules"`
	Role     string        `json:"role"`
	Group    string        `json:"group"`
	Axis     *int          `json:"axis"`
	Parts    string        `json:"parts"`
	Repeat   bool          `json:"repeat"`
	Halves   int64         `json:"halves"` // equal sections
	Sections []sectionRule `json:"sections"`
	Dims     []string      `json:"dims"`     // the rule holds for this shape alone
	Each     string        `json:"each"`     // indexes of a part, where the config says so
	Head     []string      `json:"head"`     // the same as a sum, where the config says all of it
	Of       []string      `json:"of"`       // model types that are known to store the sections in this order
	Optional bool          `json:"optional"` // layers of a kind may differ in it
	Shared   bool          `json:"shared"`   // layers may use that of others
}

type sectionRule struct {
	Parts  string `json:"parts"`
	Each   string `json:"each"` // indexes of a part
	Repeat bool   `json:"repeat"`
}

// loadRules parses the rules of this build; a test reads them, so an error is a
// fault of the build.
var loadRules = sync.OnceValues(func() (*rules, error) {
	r := &rules{}
	return r, json.Unmarshal(rulesText, r, json.RejectUnknownMembers(true))
})

// ruler applies the rules to one model.
type ruler struct {
	*rules
	numbers map[string]int64  // what the config says; absent where it does not
	faults  map[string]string // of numbers that the config has and that are none
	seen    map[string]bool   // what the config says, zero too
	types   []string          // model types of the config
}

func newRuler(config *model.Config) (*ruler, error) {
	loaded, err := loadRules()
	if err != nil {
		return nil, err
	}
	r := &ruler{loaded, map[string]int64{}, map[string]string{}, map[string]bool{}, nil}
	if config == nil {
		return r, nil
	}
	for name, n := range r.Numbers {
		r.read(config, name, n)
	}
	for _, section := range r.Sections {
		v, _ := config.Lookup(strings.TrimPrefix(section+".model_type", "."))
		r.types = append(r.types, v.Strings()...)
	}
	for name, n := range r.Numbers {
		if _, ok := r.numbers[name]; !ok && r.faults[name] == "" {
			if v, ok := r.numbers[n.Default]; ok {
				r.numbers[name] = v
			}
		}
	}
	return r, nil
}

// read takes a number from the first place of the config that has it. One that
// is there and makes no sense is a fault: no default stands in for it. So is one
// that another place contradicts.
func (r *ruler) read(config *model.Config, name string, n numberRule) {
	first := ""
	for _, section := range r.Sections {
		for _, field := range n.Fields {
			path := strings.TrimPrefix(section+"."+field, ".")
			v, ok := config.Lookup(path)
			if !ok || v.IsNull() {
				continue
			}
			r.seen[name] = true
			i, err := v.Int()
			if err == nil && i == 0 && n.Zero {
				break
			}
			if err != nil || i <= 0 || i > maxNumber {
				r.faults[name] = fmt.Sprintf("%s of the config must be a positive integer, is %s", path, v)
				delete(r.numbers, name)
				return
			}
			if known := r.numbers[name]; known != 0 && known != i {
				r.faults[name] = fmt.Sprintf("%s of the config is %d and %s is %d", first, known, path, i)
				delete(r.numbers, name)
				return
			}
			if first == "" {
				r.numbers[name], first = i, path
			}
			break // other names in one section are of other makers
		}
	}
}

// strings gives a list of the config.
func (r *ruler) strings(config *model.Config, field string) []string {
	for _, section := range r.Sections {
		if v, ok := config.Lookup(strings.TrimPrefix(section+"."+field, ".")); ok {
			return v.Strings()
		}
	}
	return nil
}

// says reports whether the config has a field that is neither null, nor false,
// nor zero.
func (r *ruler) says(config *model.Config, field string) bool {
	for _, section := range r.Sections {
		v, ok := config.Lookup(strings.TrimPrefix(section+"."+field, "."))
		if yes, is := v.Bool(); ok && !v.IsNull() && (!is || yes) {
			if n, err := v.Int(); err != nil || n != 0 {
				return true
			}
		}
	}
	return false
}

// maxNumber bounds counts and sizes of heads, so that sums of them stay far from
// overflow.
const maxNumber = 1 << 31

// number gives a number of the config that has to be there. The reason names the
// field that is wrong, or says what nobody says.
func (r *ruler) number(name string) (n int64, reason string) {
	if n = r.numbers[name]; n > 0 {
		return n, ""
	}
	for _, of := range [...]string{name, r.Numbers[name].Default} {
		if fault := r.faults[of]; fault != "" {
			return 0, fault
		}
	}
	return 0, "the config does not say how many " + r.Numbers[name].What + " there are"
}

// place takes the text of a name pattern apart.
type place struct {
	pattern string // {i} and {e} for layer and expert, other numbers written out
	module  string // what the rules know it by
	leaf    string
	layer   int // slots
	expert  int
}

// place reads the text of a pattern with the numbers of one of its names.
func (r *ruler) place(text string, n [names.Slots]uint32) place {
	p := place{layer: whole, expert: whole}
	segments := strings.Split(text, ".")
	slot := 0
	for i, s := range segments {
		if s != string([]byte{names.Mark}) {
			continue
		}
		before := ""
		if i > 0 {
			before = segments[i-1]
		}
		switch {
		case p.layer == whole && p.expert == whole && slices.Contains(r.Stacks, before):
			p.layer, segments[i] = slot, placeholders[0]
		case p.expert == whole && slices.Contains(r.Experts, before):
			p.expert, segments[i] = slot, placeholders[1]
		default:
			segments[i] = fmt.Sprint(n[slot])
		}
		slot++
	}
	p.pattern = strings.Join(segments, ".")
	p.leaf = segments[len(segments)-1]
	p.module = strings.Join(segments[:len(segments)-1], ".")
	return p
}

// class gives the class of names of this pattern with tensors of this shape; the
// reason says why there is none.
func (r *ruler) class(p place, shape []uint64) (c *class, reason string) {
	c = &class{pattern: p.pattern, tower: towerLanguage, axis: whole, stack: whole, layer: p.layer, expert: p.expert, block: whole}
	for _, s := range r.Skip {
		if strings.HasPrefix(p.pattern, s.Prefix) {
			c.tower, c.group, c.skip = s.Tower, s.Tower, ofTower(s.Tower)
			return c, ""
		}
	}
	leaf, ok := r.Leaves[p.leaf]
	if !ok {
		return nil, ""
	}
	rule := r.find(p)
	if rule == nil {
		return nil, ""
	}
	c.group, c.role = rule.Group, rule.Role
	if leaf == "buffer" {
		c.skip = "a buffer that every consumer computes"
		return c, ""
	}
	for i, dim := range rule.Dims {
		if fault := r.faults[dim]; fault != "" {
			return nil, fault
		}
		if len(shape) != len(rule.Dims) || int64(shape[i]) != r.numbers[dim] {
			return nil, fmt.Sprintf("shape %v is not [%s]", shape, strings.Join(rule.Dims, ", "))
		}
	}
	return c, r.axis(c, rule, leaf, shape)
}

// find gives the rule of a module.
func (r *ruler) find(p place) *moduleRule {
	list, module := r.Global, p.module
	if p.layer != whole {
		before, after, ok := strings.Cut(module, "."+placeholders[0]+".")
		if !ok {
			return nil
		}
		before = before[:strings.LastIndexByte(before, '.')+1]
		if !slices.Contains(r.Prefixes, before) {
			return nil
		}
		list, module = r.Layer, after
	}
	for i := range list {
		for _, m := range list[i].Modules {
			if m == module {
				return &list[i]
			}
			before, ok := strings.CutSuffix(module, m)
			if p.layer == whole && ok && slices.Contains(r.Prefixes, before) {
				return &list[i]
			}
		}
	}
	return nil
}

// axis says how a tensor is split whose module has this rule.
func (r *ruler) axis(c *class, rule *moduleRule, leaf string, shape []uint64) (reason string) {
	c.scaled = leaf == "scale"
	single := elements(shape) == 1
	if rule.Axis == nil || leaf == "whole" || (leaf == "scalar" || leaf == "scale") && single {
		return ""
	}
	axis := *rule.Axis
	switch {
	case leaf == "scalar":
		return fmt.Sprintf("shape %v is not one number", shape)
	case len(shape) == 1 && (leaf == "bias" || leaf == "scale"), len(shape) == 2 && leaf == "scale" && shape[1] == 1:
		if axis != 0 {
			return "" // one for each row, and the rows stay
		}
	case len(shape) != 2:
		return fmt.Sprintf("shape %v is not a matrix", shape)
	}
	c.axis, c.repeat = axis, rule.Repeat
	if rule.Parts != "" {
		c.what = r.Numbers[rule.Parts].What
		if c.parts, reason = r.number(rule.Parts); reason != "" {
			return reason
		}
	}
	if rule.Each != "" && !c.scaled {
		if fault := r.faults[rule.Each]; fault != "" {
			return fault
		}
		if n, ok := r.numbers[rule.Each]; ok && int64(shape[axis]) != n*c.parts {
			return fmt.Sprintf("%d rows are not %d %s of %d", shape[axis], c.parts, c.what, n)
		}
	}
	return r.sections(c, rule, int64(shape[axis]))
}

// sections divides a fused axis.
func (r *ruler) sections(c *class, rule *moduleRule, size int64) string {
	if rule.Halves > 0 {
		if size%rule.Halves != 0 {
			return fmt.Sprintf("%d rows are not %d equal pieces", size, rule.Halves)
		}
		for range rule.Halves {
			c.sections = append(c.sections, section{size: size / rule.Halves})
		}
		return ""
	}
	sum := int64(0)
	if len(rule.Of) > 0 && !slices.ContainsFunc(rule.Of, func(t string) bool { return slices.Contains(r.types, t) }) {
		return fmt.Sprintf("fused, and nobody says in which order a model_type %q stores its queries, keys and values", strings.Join(r.types, ", "))
	}
	for _, s := range rule.Sections {
		parts, reason := r.number(s.Parts)
		if reason != "" {
			return reason
		}
		c.sections = append(c.sections, section{parts: parts, repeat: s.Repeat, what: r.Numbers[s.Parts].What})
		sum += parts
	}
	if len(rule.Sections) == 0 {
		return ""
	}
	if size%sum != 0 {
		return fmt.Sprintf("%d rows are not heads of one size", size)
	}
	each := size / sum
	if !c.scaled { // groups of rows share scales
		n, reason := r.headSize(rule.Sections[0].Each)
		if reason == "" && n != each {
			reason = fmt.Sprintf("%d rows are not heads of %d", size, n)
		}
		if reason != "" {
			return reason
		}
	}
	for i := range c.sections {
		c.sections[i].size = c.sections[i].parts * each
	}
	return ""
}

// headSize is how many numbers a head of a fused tensor has. Its rows alone do
// not tell: other counts of heads divide them as well.
func (r *ruler) headSize(name string) (n int64, reason string) {
	if n, ok := r.numbers[name]; ok {
		return n, ""
	}
	hidden, heads := r.numbers["hidden"], r.numbers["heads"]
	switch {
	case r.faults[name] != "":
		return 0, r.faults[name]
	case r.faults["hidden"] != "":
		return 0, r.faults["hidden"]
	case hidden == 0 || heads == 0 || hidden%heads != 0:
		return 0, "the config does not say how large heads are"
	}
	return hidden / heads, ""
}
