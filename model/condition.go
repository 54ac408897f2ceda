package model

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ref is a place in the config: a section of the profile and a dotted path in
// it. The section "root" is the whole config.
type ref struct {
	section string
	path    string
}

const rootSection = "root"

func parseRef(text string) (ref, error) {
	section, path, ok := strings.Cut(text, ":")
	if !ok || section == "" || path == "" {
		return ref{}, fmt.Errorf("%.60q is not a path of the form section:path", text)
	}
	return ref{section, path}, nil
}

// located is a config with the places of a profile's sections found in it.
type located struct {
	config *Config
	base   map[string]string // section to dotted path; a section that is absent has none

	instead map[ref]jsontext.Value // values that count in place of the config's
}

// locate finds the sections. An optional one may be absent; of one that is
// not, the first place that is an object counts.
func (p *Profile) locate(c *Config) (*located, []ConfigProblem) {
	at := &located{config: c, base: map[string]string{rootSection: ""}}
	var problems []ConfigProblem
	for _, s := range p.sections {
		path, found := s.find(c)
		switch {
		case found:
			at.base[s.name] = path
		case path != "":
			v, _ := c.Lookup(path)
			problems = append(problems, ConfigProblem{Field: path, Expected: "an object", Actual: v.String(),
				Msg: path + " must be an object", Bounds: true})
		case !s.optional:
			problems = append(problems, ConfigProblem{Field: s.at[0], Expected: "an object", Actual: "absent",
				Msg: s.at[0] + " is missing", Bounds: true})
		}
	}
	return at, problems
}

// find gives the place of the section, or the place of a value that should be
// it and is no object.
func (s *section) find(c *Config) (path string, found bool) {
	for _, path := range s.at {
		v, ok := c.Lookup(path)
		if !ok || v.IsNull() {
			continue
		}
		return path, v.IsObject()
	}
	return "", false
}

// path is the dotted path of r from the top of the config.
func (l *located) path(r ref) string {
	base, ok := l.base[r.section]
	if !ok {
		base = r.section
	}
	if base == "" {
		return r.path
	}
	return base + "." + r.path
}

// lookup gives the first of several places that holds a value. A null is a
// value only when no later place has one. The path is that of the value, or
// of the first place when there is none.
func (l *located) lookup(refs []ref) (v Value, path string, ok bool) {
	for _, r := range refs {
		if raw, there := l.instead[r]; there {
			return Value{raw: raw}, l.path(r), true
		}
		if _, there := l.base[r.section]; !there {
			continue
		}
		got, there := l.config.Lookup(l.path(r))
		if !there || ok && got.IsNull() {
			continue
		}
		v, path, ok = got, l.path(r), true
		if !v.IsNull() {
			return v, path, true
		}
	}
	if !ok {
		path = l.path(refs[0])
	}
	return v, path, ok
}

// condition is a statement about one value of a config.
type condition struct {
	paths    []ref
	equals   jsontext.Value
	oneOf    []jsontext.Value
	contains jsontext.Value
	present  bool
	absent   bool
	optional bool
	when     *expr
}

// holds tests the condition; path and actual describe what was found.
func (c *condition) holds(at *located) (ok bool, path, actual string) {
	v, path, there := at.lookup(c.paths)
	missing := !there || v.IsNull()
	actual = "absent"
	if there {
		actual = v.String()
	}
	switch {
	case c.absent:
		return missing, path, actual
	case missing:
		return c.optional, path, actual
	case c.present:
		return true, path, actual
	}
	return c.accepts(v), path, actual
}

func (c *condition) accepts(v Value) bool {
	if v.IsObject() {
		return false
	}
	switch {
	case c.equals != nil:
		return equal(v.raw, c.equals)
	case c.contains != nil:
		want, _ := Value{raw: c.contains}.Text()
		for _, s := range v.Strings() {
			if s == want {
				return true
			}
		}
		return false
	}
	for _, want := range c.oneOf {
		if equal(v.raw, want) {
			return true
		}
	}
	return false
}

// expected says in words what the condition wants.
func (c *condition) expected() string {
	switch {
	case c.absent:
		return "absent or null"
	case c.equals != nil:
		return Value{raw: c.equals}.String()
	case c.contains != nil:
		return "a list with " + string(c.contains)
	case c.oneOf != nil:
		texts := make([]string, len(c.oneOf))
		for i, v := range c.oneOf {
			texts[i] = string(v)
		}
		return strings.Join(texts, " or ")
	}
	return "present"
}
