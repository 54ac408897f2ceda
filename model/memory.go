package model

import (
	"errors"
	"fmt"
	"slices"

	"ckpt/dtype"
)

const (
	// Bounds of a profile's memory part. The largest embedded one has three
	// caches and three activations.
	maxCaches      = 16
	maxActivations = 16
)

// Term is the line of an estimate that a cache counts with.
type Term string

// The terms.
const (
	KVCache        Term = "kv_cache"        // keys and values of attention with heads
	MLACache       Term = "mla_cache"       // latents of multi-head latent attention
	RecurrentState Term = "recurrent_state" // of linear attention
	ConvState      Term = "conv_state"      // the last inputs of short convolutions
)

// Memory is what a model keeps of its sequences while it runs, and what it
// passes through, with the sizes of one config.
type Memory struct {
	Name  string // of the profile or reading that says so
	Title string // the same for people

	// MaxContext is the config's own maximum of tokens in a sequence, 0 where
	// it does not say; ContextField is where it would.
	MaxContext   int64
	ContextField string

	Layers      int64
	Caches      []Cache
	Activations []Activation
	Inputs      []Input // of everything above, in the order of the profile
}

// Cache is what layers of one kind keep.
type Cache struct {
	Name   string // "keys and values"
	Note   string // for people
	Counts Term
	Layers []uint32 // ascending

	// PerToken: it grows with the tokens of a sequence, up to Window of them
	// where that is not 0. Otherwise a sequence has it once.
	PerToken bool
	Window   int64

	// Elements is how many numbers one head of one layer keeps for a token or
	// for a sequence. Tensor parallelism splits the heads; where Shared, ranks
	// beyond their number hold copies. Without heads (0) every rank keeps all.
	Elements int64
	Heads    int64
	Shared   bool

	// DType is the type of the numbers; Invalid is the type that the user
	// chooses for caches.
	DType dtype.Type

	ElementsText Formula
	HeadsText    Formula // zero where there are no heads
}

// Formula is an expression of a profile and the same with its values.
type Formula struct {
	Text   string // "kv_rank + rope_dim"
	Values string // "512 + 64"
}

// Activation is what passes through while tokens are computed: an assumption.
type Activation struct {
	Name     string
	Note     string
	PerStep  bool // for each token of a step; otherwise once for a sequence
	Elements int64
	DType    dtype.Type
	Text     Formula
}

// Input is a value that sizes follow from.
type Input struct {
	Name   string
	Value  int64
	List   []int64 // of a list that differs by layer, in place of Value
	Source string  // the path in the config, or how it is computed
}

// memoryJSON is the memory part of a profile.
type memoryJSON struct {
	Context     string           `json:"context"` // a field or definition
	Caches      []cacheJSON      `json:"caches"`
	Activations []activationJSON `json:"activations"`
}

type cacheJSON struct {
	Name     string `json:"name"`
	Note     string `json:"note"`
	Counts   Term   `json:"counts"`
	Layers   string `json:"layers"` // a set
	Per      string `json:"per"`    // "token" or "sequence"
	Window   string `json:"window"` // tokens; 0 is none
	Elements string `json:"elements"`
	Heads    string `json:"heads"`
	Shared   bool   `json:"shared"`
	DType    string `json:"dtype"` // none: the user's choice
	When     string `json:"when"`
}

type activationJSON struct {
	Name     string `json:"name"`
	Note     string `json:"note"`
	Per      string `json:"per"` // "step" or "sequence"
	Elements string `json:"elements"`
	DType    string `json:"dtype"`
	When     string `json:"when"`
}

type memorySpec struct {
	context     *expr
	contextName string
	caches      []cacheSpec
	activations []activationSpec
}

type cacheSpec struct {
	cacheJSON
	elements, heads, window, when *expr
	dtype                         dtype.Type
}

type activationSpec struct {
	activationJSON
	elements, when *expr
	dtype          dtype.Type
}

func (c *compiler) memory() error {
	doc := c.doc.Memory
	if doc == nil {
		return nil
	}
	if !c.names.ints[layersName] || !c.names.ints[doc.Context] {
		return fmt.Errorf("memory.context: a field of that name and one called %q are needed", layersName)
	}
	if n := len(doc.Caches); n == 0 || n > maxCaches {
		return fmt.Errorf("memory.caches: %d are not in 1…%d", n, maxCaches)
	}
	if n := len(doc.Activations); n > maxActivations {
		return fmt.Errorf("memory.activations: %d are over the limit of %d", n, maxActivations)
	}
	out := &memorySpec{contextName: doc.Context}
	var err error
	if out.context, err = c.names.expr(doc.Context); err != nil {
		return placed(err, "memory.context")
	}
	for i, j := range doc.Caches {
		cache, err := c.cache(j)
		if err != nil {
			return placed(err, "memory.caches[%d] (%.60s)", i, j.Name)
		}
		out.caches = append(out.caches, cache)
	}
	for i, j := range doc.Activations {
		a, err := c.activation(j)
		if err != nil {
			return placed(err, "memory.activations[%d] (%.60s)", i, j.Name)
		}
		out.activations = append(out.activations, a)
	}
	c.p.memory = out
	return nil
}

func (c *compiler) cache(j cacheJSON) (out cacheSpec, err error) {
	out = cacheSpec{cacheJSON: j}
	if !slices.Contains([]Term{KVCache, MLACache, RecurrentState, ConvState}, j.Counts) {
		return out, fmt.Errorf("counts: %.40q is no term", j.Counts)
	}
	if !c.names.sets[j.Layers] {
		return out, fmt.Errorf("layers: no set is called %.60q", j.Layers)
	}
	if j.Per != "token" && j.Per != "sequence" {
		return out, fmt.Errorf("per: %.40q is neither token nor sequence", j.Per)
	}
	if j.Per == "sequence" && (j.Window != "" || j.DType == "") {
		return out, errors.New("per: what a sequence has once needs a dtype and no window")
	}
	if j.Shared && j.Heads == "" {
		return out, errors.New("shared: there are no heads")
	}
	if j.DType != "" {
		if out.dtype, err = parseDType(j.DType); err != nil {
			return out, err
		}
	}
	return out, c.expressions(
		part{"elements", j.Elements, &out.elements, true}, part{"heads", j.Heads, &out.heads, false},
		part{"window", j.Window, &out.window, false}, part{"when", j.When, &out.when, false})
}

func (c *compiler) activation(j activationJSON) (out activationSpec, err error) {
	out = activationSpec{activationJSON: j}
	if j.Per != "step" && j.Per != "sequence" {
		return out, fmt.Errorf("per: %.40q is neither step nor sequence", j.Per)
	}
	if out.dtype, err = parseDType(j.DType); err != nil {
		return out, err
	}
	if out.elements, err = c.names.expr(j.Elements); err != nil {
		return out, placed(err, "elements")
	}
	out.when, err = c.names.optional(j.When)
	return out, placed(err, "when")
}

// part is one expression of a cache.
type part struct {
	field, text string
	to          **expr
	needed      bool
}

// expressions parses those that may speak of a layer.
func (c *compiler) expressions(parts ...part) (err error) {
	names := c.names.ofLayer()
	for _, p := range parts {
		if p.text == "" && !p.needed {
			continue
		}
		if *p.to, err = names.expr(p.text); err != nil {
			return placed(err, "%s", p.field)
		}
	}
	return nil
}

func parseDType(name string) (dtype.Type, error) {
	t, ok := dtype.Parse(name)
	if !ok {
		return t, fmt.Errorf("dtype: %.40q is no dtype", name)
	}
	return t, nil
}
