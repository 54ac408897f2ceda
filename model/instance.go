package model

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// layersName is the field that counts the layers.
	layersName = "layers"

	// layerName is the number of a layer, counted from 0, in expressions that
	// are computed for each.
	layerName = "layer"

	// maxLayers bounds layer sets. A layer list of a config is at most this
	// long; the deepest models have a few hundred.
	maxLayers = 1 << 14

	// maxTensors bounds an instance. Kimi K3 has half a million.
	maxTensors = 50_000_000
)

// ConfigProblem is one way in which a config does not fit a profile.
type ConfigProblem struct {
	Field    string // dotted path from the top of config.json, or what is computed
	Expected string
	Actual   string
	Msg      string
	// Bounds: a field is missing, of the wrong type or out of bounds, so that
	// sizes cannot be trusted. Otherwise the config is well formed and is not
	// that of the family.
	Bounds bool
}

// Instance is a profile with the sizes of one config.
type Instance struct {
	Profile  *Profile
	Prefixes map[string]string   // as found in the names
	Vars     map[string]int64    // fields and definitions
	Sets     map[string][]uint32 // layers, ascending
	Families []*Family           // in the order of the profile
	Tie      *Tie                // nil where the family has no tied head
	Release  *Release            // nil unless the config has the sizes of the official release
	// Differences are the fields in which the config differs from that of the
	// release, if the profile records one. They are no faults: a member of the
	// family may have other sizes. Where the files turn out to be official ones
	// they are; see [Profile.InstantiateRelease].
	Differences []ConfigProblem

	// Memory is what the model keeps of its sequences while it runs; nil where
	// the profile does not say.
	Memory *Memory

	bindings map[nameKey]*Binding
}

// Tie says what the config says about head and embedding.
type Tie struct {
	Field     string // path in the config
	Tied      bool
	Assumed   bool    // the config does not say: the default of the profile
	Embedding *Family // either may be nil in an instance without it
	Head      *Family
}

// Totals counts the tensors that an instance expects. Optional ones count,
// tolerated ones do not. Sizes are those of default dtypes and shapes.
type Totals struct {
	Tensors       int64
	Bytes         int64
	ExpertTensors int64 // of families with an expert number
	Towers        map[string]TowerTotals
}

// TowerTotals counts one tower.
type TowerTotals struct{ Tensors, Bytes int64 }

// Totals sums the families.
func (in *Instance) Totals() Totals {
	t := Totals{Towers: map[string]TowerTotals{}}
	for _, f := range in.Families {
		if f.Tolerated {
			continue
		}
		t.Tensors += f.Count
		t.Bytes += f.Bytes
		if f.Experts > 0 {
			t.ExpertTensors += f.Count
		}
		tower := t.Towers[f.Tower]
		t.Towers[f.Tower] = TowerTotals{tower.Tensors + f.Count, tower.Bytes + f.Bytes}
	}
	return t
}

// Family finds a family by its pattern, with prefixes.
func (in *Instance) Family(pattern string) (*Family, bool) {
	i := slices.IndexFunc(in.Families, func(f *Family) bool { return f.Pattern == pattern })
	if i < 0 {
		return nil, false
	}
	return in.Families[i], true
}

// Instantiate gives the profile the sizes of the view's config and the prefixes
// of its names; without names, the usual prefixes. The instance is nil when a
// problem leaves its sizes open; every problem that can be seen is reported.
// Work and memory are bounded whatever the config says.
func (p *Profile) Instantiate(v View) (*Instance, []ConfigProblem) {
	return p.instantiate(v, nil)
}

func (p *Profile) instantiate(v View, instead map[ref]jsontext.Value) (*Instance, []ConfigProblem) {
	if v.Config == nil {
		return nil, []ConfigProblem{{Field: "config.json", Expected: "an object", Actual: "absent",
			Msg: "there is no config to take sizes from", Bounds: true}}
	}
	b := p.builder(v.Config, instead)
	for _, step := range []func(){b.fields, b.lets, b.sets, b.requirements, b.checks, b.memory} {
		step()
	}
	if b.stuck {
		return nil, b.problems
	}
	counts := v.tally()
	b.in.Prefixes = p.discover(counts).prefixes
	b.families(counts)
	if b.stuck {
		return nil, b.problems
	}
	b.release()
	return b.in, b.problems
}

func (b *builder) release() {
	r := b.p.Release
	if r == nil {
		return
	}
	b.in.Differences = r.differences(b.p, b.at, &b.scope)
	if len(b.in.Differences) == 0 {
		b.in.Release = r
	}
}

// builder makes an instance step by step and collects problems. Steps that
// need sizes are left out once it is stuck.
type builder struct {
	p        *Profile
	in       *Instance
	at       *located
	scope    scope
	problems []ConfigProblem
	stuck    bool
	sources  map[string]string // of fields: the path in the config, or how the default is computed
}

func (p *Profile) builder(c *Config, instead map[ref]jsontext.Value) *builder {
	b := &builder{p: p, in: &Instance{Profile: p, Vars: map[string]int64{}, Sets: map[string][]uint32{},
		bindings: map[nameKey]*Binding{}}, sources: map[string]string{}}
	b.scope = scope{ints: b.in.Vars, lists: map[string][]int64{}}
	b.at, b.problems = p.locate(c)
	b.at.instead, b.stuck = instead, len(b.problems) > 0
	return b
}

func (b *builder) fail(p ConfigProblem) {
	b.problems = append(b.problems, p)
	b.stuck = true
}

// wants evaluates a condition of the profile; one that cannot be evaluated
// does not hold.
func (b *builder) wants(when *expr) bool {
	if when == nil {
		return true
	}
	n, err := when.eval(&b.scope)
	return err == nil && n != 0
}

func (b *builder) lets() {
	if b.stuck {
		return
	}
	for _, l := range b.p.lets {
		if !b.wants(l.when) {
			continue
		}
		n, err := l.expr.eval(&b.scope)
		if err != nil {
			b.fail(ConfigProblem{Field: l.name, Expected: "an integer", Actual: err.Error(),
				Msg: fmt.Sprintf("%s cannot be computed: %v", l.name, err), Bounds: true})
			continue
		}
		b.in.Vars[l.name] = n
	}
}

func (b *builder) requirements() {
	for i := range b.p.require {
		c := &b.p.require[i]
		if !b.wants(c.when) {
			continue
		}
		ok, path, actual := c.holds(b.at)
		if !ok {
			b.problems = append(b.problems, ConfigProblem{Field: path, Expected: c.expected(), Actual: actual,
				Msg: fmt.Sprintf("%s is %s; %s has %s", path, actual, b.p.Title, c.expected())})
		}
	}
}

func (b *builder) checks() {
	if b.stuck {
		return
	}
	for i := range b.p.checks {
		c := &b.p.checks[i]
		if !b.wants(c.when) {
			continue
		}
		n, err := c.expr.eval(&b.scope)
		if err == nil && n != 0 {
			continue
		}
		actual := "does not hold"
		if err != nil {
			actual = err.Error()
		}
		b.problems = append(b.problems, ConfigProblem{Field: c.field, Expected: c.text, Actual: actual, Msg: c.message})
	}
}
