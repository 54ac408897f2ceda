package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ckpt/dtype"
)

// lexicon is what expressions may refer to at a point of the profile. Names are
// defined in order: sections, fields, definitions; a later one may use an
// earlier one.
type lexicon struct {
	ints  map[string]bool
	lists map[string]bool
	sets  map[string]bool
}

func (n *lexicon) define(name string, list bool) error {
	if !isName(name) {
		return fmt.Errorf("name %.40q is not a word of letters, digits and _", name)
	}
	if n.ints[name] || n.lists[name] || functions[name].args > 0 || name == layerName {
		return fmt.Errorf("name %q is taken", name)
	}
	if list {
		n.lists[name] = true
	} else {
		n.ints[name] = true
	}
	return nil
}

// expr parses an expression whose names are all defined.
func (n *lexicon) expr(text string) (*expr, error) {
	e, err := parseExpr(text)
	if err != nil {
		return nil, err
	}
	e.names(func(name string, list bool) {
		known := n.ints[name]
		if list {
			known = n.lists[name]
		}
		if !known && err == nil {
			err = fmt.Errorf("expression %q: nothing defines %q", text, name)
		}
	})
	return e, err
}

// ofLayer also knows the number of a layer.
func (n *lexicon) ofLayer() *lexicon {
	ints := maps.Clone(n.ints)
	ints[layerName] = true
	return &lexicon{ints, n.lists, n.sets}
}

// optional parses an expression that may be left out.
func (n *lexicon) optional(text string) (*expr, error) {
	if text == "" {
		return nil, nil
	}
	return n.expr(text)
}

// compiler turns the document into a profile and names the field of an error.
type compiler struct {
	doc   *document
	p     *Profile
	names lexicon
}

func compile(doc *document) (*Profile, error) {
	c := &compiler{doc: doc, p: &Profile{Name: doc.Name, Title: doc.Title, Companions: doc.Companions,
		Quantization: doc.Quantization, partitions: doc.Partitions, prefixes: doc.Prefixes, tie: doc.Tie},
		names: lexicon{map[string]bool{}, map[string]bool{}, map[string]bool{}}}
	if doc.Name == "" || strings.ContainsAny(doc.Name, "/\\ \t\n") {
		return nil, fmt.Errorf("name: %.40q is not a name", doc.Name)
	}
	for _, step := range []func() error{c.sections, c.fields, c.lets, c.sets, c.conditions, c.prefixes,
		c.families, c.tie, c.companions, c.release, c.memory} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.p, nil
}

// placed puts the place of an error before it.
func placed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

func (c *compiler) sections() error {
	for i, s := range c.doc.Sections {
		if err := c.names.define(s.Name, false); err != nil {
			return placed(err, "sections[%d].name", i)
		}
		if len(s.At) == 0 || s.Name == rootSection {
			return fmt.Errorf("sections[%d].at: no place is given", i)
		}
		c.p.sections = append(c.p.sections, section{s.Name, s.At, s.Optional})
	}
	return nil
}

func (c *compiler) refs(paths []string) ([]ref, error) {
	if len(paths) == 0 {
		return nil, errors.New("no path is given")
	}
	var refs []ref
	for _, text := range paths {
		r, err := parseRef(text)
		if err != nil {
			return nil, err
		}
		known := r.section == rootSection
		for _, s := range c.p.sections {
			known = known || s.name == r.section
		}
		if !known {
			return nil, fmt.Errorf("nothing defines the section of %q", text)
		}
		refs = append(refs, r)
	}
	return refs, nil
}

func (c *compiler) fields() error {
	if n := len(c.doc.Fields); n > maxFields {
		return fmt.Errorf("fields: %d are over the limit of %d", n, maxFields)
	}
	for i, f := range c.doc.Fields {
		out, err := c.field(f)
		if err != nil {
			return placed(err, "fields[%d] (%s)", i, f.Name)
		}
		c.p.fields = append(c.p.fields, out)
	}
	return nil
}

func (c *compiler) field(f fieldJSON) (out field, err error) {
	out = field{name: f.Name, kind: f.Type, min: f.Min, max: f.Max, longest: f.Longest,
		values: f.Values, optional: f.Optional}
	if out.kind == "" {
		out.kind = kindInt
	}
	if err := c.fieldKind(f, out.kind); err != nil {
		return out, err
	}
	if out.paths, err = c.refs(f.Paths); err != nil {
		return out, placed(err, "paths")
	}
	if out.fallback, err = c.names.optional(f.Default); err != nil {
		return out, placed(err, "default")
	}
	if out.when, err = c.names.optional(f.When); err != nil {
		return out, placed(err, "when")
	}
	return out, c.names.define(f.Name, out.isList())
}

// fieldKind checks what belongs to the type of a field.
func (c *compiler) fieldKind(f fieldJSON, kind string) error {
	switch kind {
	case kindInt, kindBool:
	case kindInts:
		if f.Longest < 1 || f.Longest > maxLayers {
			return fmt.Errorf("longest: %d is not in 1…%d", f.Longest, maxLayers)
		}
	case kindPerLayer, kindKinds:
		if !c.names.ints[layersName] {
			return fmt.Errorf("type: %s needs a field called %q before it", kind, layersName)
		}
		if kind == kindKinds && (len(f.Values) == 0 || len(f.Values) > maxKinds) {
			return fmt.Errorf("values: %d are not in 1…%d", len(f.Values), maxKinds)
		}
	default:
		return fmt.Errorf("type: %.40q is none of int, bool, ints, per_layer, kinds", kind)
	}
	if kind != kindBool && kind != kindKinds && f.Min > f.Max {
		return fmt.Errorf("max: %d is below min, %d", f.Max, f.Min)
	}
	if (kind == kindInts || kind == kindKinds) && f.Default != "" {
		return errors.New("default: a list has none")
	}
	if (kind == kindInt || kind == kindBool) && f.Optional {
		return errors.New("optional: only a list can be; a number has a default")
	}
	return nil
}

func (c *compiler) lets() error {
	for i, l := range c.doc.Lets {
		e, err := c.names.expr(l.Expr)
		if err != nil {
			return placed(err, "let[%d].expr", i)
		}
		when, err := c.names.optional(l.When)
		if err != nil {
			return placed(err, "let[%d].when", i)
		}
		if err := c.names.define(l.Name, false); err != nil {
			return placed(err, "let[%d].name", i)
		}
		c.p.lets = append(c.p.lets, let{l.Name, l.Expr, e, when})
	}
	return nil
}

func (c *compiler) sets() error {
	if n := len(c.doc.Sets); n > maxSets {
		return fmt.Errorf("sets: %d are over the limit of %d", n, maxSets)
	}
	for i, s := range c.doc.Sets {
		if !isName(s.Name) || c.names.sets[s.Name] {
			return fmt.Errorf("sets[%d].name: %.40q is taken or no name", i, s.Name)
		}
		out, err := c.set(s)
		if err != nil {
			return placed(err, "sets[%d] (%s)", i, s.Name)
		}
		c.names.sets[s.Name] = true
		c.p.sets = append(c.p.sets, out)
	}
	for i, partition := range c.doc.Partitions {
		for _, name := range partition {
			if !c.names.sets[name] {
				return fmt.Errorf("partitions[%d]: no set is called %q", i, name)
			}
		}
	}
	if len(c.p.sets) > 0 && !c.names.ints[layersName] {
		return fmt.Errorf("fields: layer sets need a field called %q", layersName)
	}
	return nil
}

func (c *compiler) set(s setJSON) (out layerSet, err error) {
	out = layerSet{name: s.Name, list: s.List, base: s.Base}
	isRange := s.From != "" || s.To != ""
	switch {
	case s.List != "" && isRange, s.Where != "" && (s.List != "" || isRange):
		err = errors.New("only one of list, where, and from with to is possible")
	case s.List != "" && !c.names.lists[s.List]:
		err = fmt.Errorf("list: no list is called %q", s.List)
	case s.Where != "":
		out.where, err = c.names.ofLayer().expr(s.Where)
		out.text, err = s.Where, placed(err, "where")
	case s.List == "":
		out.text = "from " + s.From + " up to " + s.To
		if out.from, err = c.names.expr(s.From); err == nil {
			out.to, err = c.names.expr(s.To)
		}
	}
	return out, err
}

func (c *compiler) conditions() (err error) {
	if c.p.require, err = c.conditionList("require", c.doc.Require); err != nil {
		return err
	}
	if c.p.evidence.config, err = c.conditionList("match.config", c.doc.Match.Config); err != nil {
		return err
	}
	for i, k := range c.doc.Checks {
		out := check{text: k.Expr, field: k.Field, message: k.Message}
		if out.expr, err = c.names.expr(k.Expr); err != nil {
			return placed(err, "checks[%d].expr", i)
		}
		if out.when, err = c.names.optional(k.When); err != nil {
			return placed(err, "checks[%d].when", i)
		}
		c.p.checks = append(c.p.checks, out)
	}
	return nil
}

func (c *compiler) conditionList(field string, list []conditionJSON) ([]condition, error) {
	var out []condition
	for i, j := range list {
		cond, err := c.condition(j)
		if err != nil {
			return nil, placed(err, "%s[%d]", field, i)
		}
		out = append(out, cond)
	}
	return out, nil
}

func (c *compiler) condition(j conditionJSON) (out condition, err error) {
	out = condition{equals: j.Equals, oneOf: j.OneOf, contains: j.Contains,
		present: j.Present, absent: j.Absent, optional: j.Optional}
	kinds := 0
	for _, set := range []bool{j.Equals != nil, j.OneOf != nil, j.Contains != nil, j.Present, j.Absent} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return out, errors.New("exactly one of equals, one_of, contains, present, absent is needed")
	}
	for _, v := range append([]jsontext.Value{j.Equals, j.Contains}, j.OneOf...) {
		if v.Kind() == '{' || v.Kind() == 'n' {
			return out, errors.New("objects and null cannot be compared")
		}
	}
	if j.Contains != nil && j.Contains.Kind() != '"' {
		return out, errors.New("contains: only a string")
	}
	if out.paths, err = c.refs(j.Paths); err != nil {
		return out, placed(err, "paths")
	}
	out.when, err = c.names.optional(j.When)
	return out, placed(err, "when")
}

// prefixes bounds the combinations that have to be tried.
func (c *compiler) prefixes() error {
	combinations := 1
	for i, p := range c.doc.Prefixes {
		if !isName(p.Name) || len(p.Options) == 0 {
			return fmt.Errorf("prefixes[%d]: needs a name and options", i)
		}
		for _, slot := range slotNames {
			if p.Name == slot {
				return fmt.Errorf("prefixes[%d]: {%s} is a number", i, slot)
			}
		}
		if combinations *= len(p.Options); combinations > maxCombinations {
			return fmt.Errorf("prefixes: more than %d combinations", maxCombinations)
		}
	}
	for i, pattern := range c.doc.Match.Names {
		if _, err := c.p.resolve(pattern, c.p.usualPrefixes()); err != nil {
			return placed(err, "match.names[%d]", i)
		}
	}
	m := &c.doc.Match
	c.p.evidence.names, c.p.evidence.known, c.p.evidence.own = m.Names, m.Known, m.Own
	if k := c.doc.Match.Known; !(0 <= k && k <= 1) {
		return fmt.Errorf("match.known: %g is not in 0…1", k)
	}
	return nil
}

func (c *compiler) families() error {
	if n := len(c.doc.Families); n == 0 != (c.doc.Schema == ReadingSchema) || n > maxFamilies {
		return fmt.Errorf("families: %d are not in 1…%d", n, maxFamilies)
	}
	for i, f := range c.doc.Families {
		spec, err := c.family(f)
		if err != nil {
			return placed(err, "families[%d] (%.100s)", i, f.Pattern)
		}
		c.p.families = append(c.p.families, spec)
	}
	for i, f := range c.p.families {
		if f.Scale != nil && !c.hasPattern(f.Scale.Pattern) {
			return fmt.Errorf("families[%d].scale: no family has the pattern %q", i, f.Scale.Pattern)
		}
	}
	return nil
}

func (c *compiler) hasPattern(pattern string) bool {
	return slices.ContainsFunc(c.p.families, func(f familySpec) bool { return f.Pattern == pattern })
}

func (c *compiler) family(f familyJSON) (out familySpec, err error) {
	out = familySpec{familyJSON: f}
	if err := c.patterns(f); err != nil {
		return out, err
	}
	if len(f.DTypes) == 0 {
		return out, errors.New("dtypes: none is given")
	}
	for _, name := range f.DTypes {
		t, ok := dtype.Parse(name)
		if !ok {
			return out, fmt.Errorf("dtypes: %.40q is no dtype", name)
		}
		out.dtypes = append(out.dtypes, t)
	}
	if err := c.familyShapes(f, &out); err != nil {
		return out, err
	}
	for _, e := range []struct {
		field, text string
		to          **expr
	}{{"experts", f.Experts, &out.experts}, {"blocks", f.Blocks, &out.blocks}, {"when", f.When, &out.when}} {
		if *e.to, err = c.names.optional(e.text); err != nil {
			return out, placed(err, "%s", e.field)
		}
	}
	if f.Scale != nil && f.Scale.Group < 1 {
		return out, fmt.Errorf("scale.group: %d is below 1", f.Scale.Group)
	}
	if f.Axis != nil && (*f.Axis < 0 || *f.Axis >= maxRank) {
		return out, fmt.Errorf("axis: %d is not in 0…%d", *f.Axis, maxRank-1)
	}
	if out.split, err = c.split(f); err != nil {
		return out, err
	}
	out.engine, err = c.engine(f.Engine)
	return out, placed(err, "engine")
}

// patterns checks that every placeholder of a pattern has its range, and the
// other way about.
func (c *compiler) patterns(f familyJSON) error {
	if f.Layers != "" && !c.names.sets[f.Layers] {
		return fmt.Errorf("layers: no set is called %q", f.Layers)
	}
	if n := len(f.Aliases); n > maxAliases {
		return fmt.Errorf("aliases: %d are over the limit of %d", n, maxAliases)
	}
	want := map[string]bool{"i": f.Layers != "", "e": f.Experts != "", "b": f.Blocks != ""}
	for i, pattern := range append([]string{f.Pattern}, f.Aliases...) {
		text, err := c.p.resolve(pattern, c.p.usualPrefixes())
		if err == nil {
			var t template
			if t, err = parseTemplate(text); err == nil {
				err = t.covers(want)
			}
		}
		if err != nil && i > 0 {
			return placed(err, "aliases[%d]", i-1)
		}
		if err != nil {
			return placed(err, "pattern")
		}
	}
	return nil
}

func (c *compiler) familyShapes(f familyJSON, out *familySpec) (err error) {
	if (len(f.Shapes) > 0) == (len(f.ShapesBy) > 0) {
		return errors.New("shapes: one of shapes and shapes_by is needed")
	}
	if out.shapes, err = compileShapes(f.Shapes, &c.names); err != nil {
		return placed(err, "shapes")
	}
	for set, list := range f.ShapesBy {
		if !c.names.sets[set] || f.Layers == "" || len(list) == 0 {
			return fmt.Errorf("shapes_by: %q needs a set of that name, layers and a shape", set)
		}
		shapes, err := compileShapes(list, &c.names)
		if err != nil {
			return placed(err, "shapes_by.%s", set)
		}
		out.shapesBy = append(out.shapesBy, kindShapes{set, shapes})
	}
	sort.Slice(out.shapesBy, func(i, j int) bool { return out.shapesBy[i].set < out.shapesBy[j].set })
	return nil
}

func (c *compiler) engine(e *engineJSON) (*engineSpec, error) {
	if e == nil {
		return nil, nil
	}
	out := &engineSpec{names: e.Names, namesByKind: e.NamesByKind, axis: Replicated, transform: e.Transform}
	if (len(e.Names) > 0) == (len(e.NamesByKind) > 0) {
		return nil, errors.New("one of names and names_by_kind is needed")
	}
	for set := range e.NamesByKind {
		if !c.names.sets[set] {
			return nil, fmt.Errorf("names_by_kind: no set is called %q", set)
		}
	}
	if e.Axis != nil {
		if out.axis = *e.Axis; out.axis < 0 || out.axis >= maxRank {
			return nil, fmt.Errorf("axis: %d is not in 0…%d", out.axis, maxRank-1)
		}
	}
	var err error
	if out.shapes, err = compileShapes(e.Shapes, &c.names); err != nil {
		return nil, placed(err, "shapes")
	}
	if n := len(e.Names); n > 0 && len(out.shapes) != n || n == 0 && len(out.shapes) != 1 {
		return nil, errors.New("shapes: one for each name is needed")
	}
	return out, c.operations(e, out)
}

func (c *compiler) tie() error {
	t := c.doc.Tie
	if t == nil {
		return nil
	}
	if !c.names.ints[t.Field] {
		return fmt.Errorf("tie.field: nothing defines %q", t.Field)
	}
	for _, pattern := range []string{t.Embedding, t.Head} {
		if !c.hasPattern(pattern) {
			return fmt.Errorf("tie: no family has the pattern %.100q", pattern)
		}
	}
	return nil
}

func (c *compiler) companions() error {
	for i, companion := range c.doc.Companions {
		for _, name := range companion.AnyOf {
			if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\") {
				return fmt.Errorf("companions[%d]: %.40q is no file name", i, name)
			}
		}
		if len(companion.AnyOf) == 0 {
			return fmt.Errorf("companions[%d].any_of: no file is named", i)
		}
	}
	if q := c.doc.Quantization; q != nil {
		if _, err := c.refs(q.Paths); err != nil {
			return placed(err, "quantization.paths")
		}
	}
	return nil
}
