package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxConfig bounds the bytes of a config.json. The largest in use are
	// a few hundred kilobytes (lists of labels).
	MaxConfig = 4 << 20

	// maxConfigDepth bounds nested objects. Real configs nest four deep.
	maxConfigDepth = 64
)

// Config is a config.json, parsed strictly: duplicate names, bytes that are
// not UTF-8, deep nesting and trailing data are errors. Numbers keep their
// text, so that nothing is lost between 2⁵³ and 2⁶³.
type Config struct {
	root *object
}

// object is a JSON object of the config. Arrays and scalars stay raw.
type object struct {
	members []member // in the order of the file; searched, not hashed: a config has a hundred
}

type member struct {
	name string
	entry
}

type entry struct {
	raw    jsontext.Value
	object *object // nil unless the value is an object
}

func (o *object) find(name string) (entry, bool) {
	for i := range o.members {
		if o.members[i].name == name {
			return o.members[i].entry, true
		}
	}
	return entry{}, false
}

// configReader walks the tokens of data; raw values are slices of it.
type configReader struct {
	*jsontext.Decoder
	data []byte
}

// ParseConfig reads a config.json. It keeps data: do not change it afterwards.
func ParseConfig(data []byte) (*Config, error) {
	if len(data) > MaxConfig {
		return nil, fmt.Errorf("config of %d bytes is over the limit of %d", len(data), MaxConfig)
	}
	dec := configReader{jsontext.NewDecoder(bytes.NewBuffer(data)), data}
	if kind := dec.PeekKind(); kind != '{' && kind != 0 {
		return nil, fmt.Errorf("config is a JSON %s, not an object", kindName(kind))
	}
	root, err := dec.object(0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("data after the object, at byte %d", dec.InputOffset())
	}
	return &Config{root: root}, nil
}

func (dec configReader) object(depth int) (*object, error) {
	if depth > maxConfigDepth {
		return nil, fmt.Errorf("objects nested deeper than %d, at byte %d", maxConfigDepth, dec.InputOffset())
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	o := &object{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		e, err := dec.entry(depth)
		if err != nil {
			return nil, err
		}
		o.members = append(o.members, member{key, e})
	}
	_, err := dec.ReadToken()
	return o, err
}

func (dec configReader) entry(depth int) (entry, error) {
	if dec.PeekKind() == '{' {
		child, err := dec.object(depth + 1)
		return entry{object: child}, err
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return entry{}, err
	}
	end := dec.InputOffset()
	return entry{raw: dec.data[end-int64(len(raw)) : end]}, nil
}

// Lookup gives the value at a dotted path such as
// "text_config.linear_attn_config.num_heads". The empty path is the whole
// config. A name that itself holds a dot cannot be reached.
func (c *Config) Lookup(path string) (Value, bool) {
	if c == nil {
		return Value{}, false
	}
	e := entry{object: c.root}
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		if e.object == nil {
			return Value{}, false
		}
		var ok bool
		if e, ok = e.object.find(name); !ok {
			return Value{}, false
		}
	}
	return Value(e), true
}

// Names gives the member names of the object at a dotted path, in the
// order of the file; nil when there is no object.
func (c *Config) Names(path string) []string {
	v, ok := c.Lookup(path)
	if !ok || v.object == nil {
		return nil
	}
	names := make([]string, 0, len(v.object.members))
	for i := range v.object.members {
		names = append(names, v.object.members[i].name)
	}
	return names
}

// CodeFiles gives the names of the Python files that the config's auto_map
// makes a loader run, sorted. Code of other repositories ("repo--module.Class")
// is not among them.
func (c *Config) CodeFiles() []string {
	var files []string
	for _, list := range []string{"auto_map", "text_config.auto_map"} {
		for _, name := range c.Names(list) {
			v, _ := c.Lookup(list + "." + name)
			for _, class := range v.Strings() { // a pair of tokenizers is a list
				module, _, ok := strings.Cut(class, ".")
				if ok && module != "" && !strings.ContainsAny(module, "/\\") && !strings.Contains(module, "--") {
					files = append(files, module+".py")
				}
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '[', ']':
		return "array"
	case '{', '}':
		return "object"
	}
	return "value"
}
