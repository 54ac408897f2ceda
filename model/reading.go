package model

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// ReadingSchema is the "schema" of a reading: a profile that knows how a
// family's config gives its caches, and none of its tensors.
const ReadingSchema = "ckpt.reading/v1"

//go:embed readings/*.json
var readingFiles embed.FS

// readings lists those of this build. No two claim the same model type.
var readings = []embeddedProfile{
	reading("deepseek"),
	reading("gemma"),
	reading("gemma2"),
	reading("gemma3"),
	reading("gpt-oss"),
	reading("llama"),
	reading("mistral"),
	reading("openelm"),
	reading("qwen2"),
	reading("qwen3"),
	reading("qwen3-next"),
}

// reading gives one that is parsed when it is first needed.
func reading(name string) embeddedProfile {
	return embeddedProfile{name, sync.OnceValue(func() *Profile {
		data, err := readingFiles.ReadFile("readings/" + name + ".json")
		if err == nil {
			var p *Profile
			if p, err = parseReading(data); err == nil {
				return p
			}
		}
		panic(fmt.Sprintf("embedded reading %s: %v", name, err))
	})}
}

func parseReading(data []byte) (*Profile, error) {
	var doc document
	if err := json.Unmarshal(data, &doc, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if doc.Schema != ReadingSchema {
		return nil, fmt.Errorf("reading: schema is %.40q, not %q", doc.Schema, ReadingSchema)
	}
	p, err := compile(&doc)
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if p.memory == nil {
		return nil, fmt.Errorf("reading %s: it has no memory part", doc.Name)
	}
	return p, nil
}

// UnknownArchitectureError says that no profile and no reading of this build
// knows the caches of a model.
type UnknownArchitectureError struct {
	ModelType     string // of the config; empty where it has none
	Architectures []string
	Known         []string // model types
}

func (e *UnknownArchitectureError) Error() string {
	what := "config.json has no model_type"
	if e.ModelType != "" {
		what = fmt.Sprintf("model_type %q", e.ModelType)
	}
	if len(e.Architectures) > 0 {
		what += " (" + strings.Join(e.Architectures, ", ") + ")"
	}
	return what + ": the caches of this architecture are not known, and a guess can be wrong by a factor of ten"
}

// ConfigError is a config whose sizes cannot be taken. Problems has at least
// one entry.
type ConfigError struct{ Problems []ConfigProblem }

func (e *ConfigError) Error() string {
	list := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		list = append(list, p.Msg)
	}
	return "config.json: " + strings.Join(list, "; ")
}

// ReadMemory says what the model of a config keeps of its sequences, by the
// embedded profiles and by readings for families without one. It needs no
// tensor names. Errors: UnknownArchitectureError, and ConfigError where fields
// are missing, of the wrong type or out of bounds; nothing counts as zero for
// want of a field.
func ReadMemory(c *Config) (*Memory, error) {
	for _, p := range Embedded() {
		if p.memory == nil {
			continue
		}
		if share, _ := p.weighConfig(c); share >= leastConfigAlone {
			return p.ReadMemory(c)
		}
	}
	for _, r := range readings {
		p := r.load()
		if share, _ := p.weighConfig(c); share == 1 {
			return p.ReadMemory(c)
		}
	}
	return nil, unknownArchitecture(c)
}

// ReadMemory takes sizes from a config as this profile says, without looking
// at its tensors.
func (p *Profile) ReadMemory(c *Config) (*Memory, error) {
	if c == nil {
		return nil, &ConfigError{[]ConfigProblem{{Field: "config.json", Expected: "an object", Actual: "absent",
			Msg: "there is no config to take sizes from", Bounds: true}}}
	}
	b := p.builder(c, nil)
	for _, step := range []func(){b.fields, b.lets, b.sets, b.memory} {
		step()
	}
	if b.stuck {
		return nil, &ConfigError{b.problems}
	}
	if b.in.Memory == nil {
		return nil, fmt.Errorf("profile %s does not say what the model keeps of its sequences", p.Name)
	}
	return b.in.Memory, nil
}

func unknownArchitecture(c *Config) error {
	e := &UnknownArchitectureError{Known: KnownArchitectures()}
	for _, path := range []string{"text_config.model_type", "model_type"} {
		if v, ok := c.Lookup(path); ok && e.ModelType == "" {
			e.ModelType, _ = v.Text()
		}
	}
	if v, ok := c.Lookup("architectures"); ok {
		e.Architectures = v.Strings()
	}
	return e
}

// KnownArchitectures gives the model types that ReadMemory knows, sorted.
func KnownArchitectures() []string {
	var known []string
	add := func(p *Profile) {
		for _, cond := range p.evidence.config {
			if cond.paths[0].path != "model_type" {
				continue
			}
			for _, v := range append(slices.Clip(cond.oneOf), cond.equals) {
				if text, ok := (Value{raw: v}).Text(); ok {
					known = append(known, text)
				}
			}
		}
	}
	for _, p := range Embedded() {
		if p.memory != nil {
			add(p)
		}
	}
	for _, r := range readings {
		add(r.load())
	}
	slices.Sort(known)
	return slices.Compact(known)
}
