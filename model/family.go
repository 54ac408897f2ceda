package model

import (
	"slices"

	"ckpt/dtype"
	"ckpt/internal/names"
)

// Replicated is the split axis of a tensor that every rank keeps whole.
const Replicated = -1

// Family is a set of tensors that differ only in the numbers of their names:
// one weight of every layer, expert or block. Its tensors are numbered from 0
// to Count-1, by layer, then expert, then block; the number is called ordinal.
type Family struct {
	Pattern string   // with prefixes: "model.layers.{i}.self_attn.q_proj.weight"
	Text    string   // the same as package names has it, names.Mark for each number
	Slots   int      // how many numbers a name has
	Aliases []string // other spellings that are accepted, as patterns

	Tower string // "language", "vision", "projector"
	Group string // what it counts with in sums: "kda", "routed-experts", …
	Role  string // what it does: "embedding", "attn_q", "norm", …
	Note  string // for people

	DTypes []dtype.Type // accepted; the first is written by default
	Shapes []Shape      // accepted; the first is written by default

	LayerSet string   // name of its layer set, "" when it has none
	Layers   []uint32 // ascending; nil when names have no layer
	Experts  int64    // per layer; 0 when names have no expert
	Blocks   int64    // 0 when names have no block

	Count int64 // tensors
	Each  int64 // bytes of one, in the default dtype and shape
	Bytes int64 // of all

	Optional  bool // may be absent; written by default
	Tolerated bool // known, neither expected nor counted in totals; not written

	// Scale is the family that holds the scales of these packed weights, with
	// equal ordinals; ScaleOf is the way back. ScaleGroup is how many elements
	// share a scale.
	Scale      *Family
	ScaleOf    *Family
	ScaleGroup int64

	Axis   int     // that tensor parallelism splits, or Replicated
	Parts  int64   // pieces of that axis that stay whole, such as heads; 0: each index is one
	Repeat bool    // more ranks than parts hold copies of them
	Narrow int64   // values at the front that matter, one a head; 0: all
	Stack  int     // axis that counts experts, or Replicated where each has a tensor
	Engine *Engine // nil where the profile has no engine layout
	Source *Source // nil unless the layout is made from another

	template template
	aliases  []template
	ranks    []int32 // layer to its rank in Layers, -1 where it has none
}

// Engine is how an inference engine keeps a family.
type Engine struct {
	Names       []string            // "blk.{i}.attn_q.weight"; several where it is cut up
	NamesByKind map[string][]string // by layer set, where the name depends on it; Names is empty then
	Shapes      []Shape             // one for each name
	Axis        int                 // of the engine's shape, or Replicated
	Transform   string              // for people; "" is the identity
	Reshape     bool                // the same bytes under Shapes
	Map         string              // what is done to each number: "" or MapNegExp
	Cuts        []Cut               // one for each name where each part of the axis is cut up
}

// Source is what a family of a converted layout is made from.
type Source struct {
	Pattern   string `json:"pattern"`
	Transform string `json:"transform"`
}

// At gives the numbers of a tensor; what its name lacks is 0.
func (f *Family) At(ordinal int64) (layer, expert, block uint32) {
	if f.Blocks > 0 {
		block = uint32(ordinal % f.Blocks)
		ordinal /= f.Blocks
	}
	if f.Experts > 0 {
		expert = uint32(ordinal % f.Experts)
		ordinal /= f.Experts
	}
	if f.Layers != nil {
		layer = f.Layers[ordinal]
	}
	return layer, expert, block
}

// Ordinal is the inverse of At. It is false where the family has no such
// tensor.
func (f *Family) Ordinal(layer, expert, block uint32) (int64, bool) {
	var ordinal int64
	if f.Layers != nil {
		if int64(layer) >= int64(len(f.ranks)) || f.ranks[layer] < 0 {
			return 0, false
		}
		ordinal = int64(f.ranks[layer])
	}
	if f.Experts > 0 {
		if int64(expert) >= f.Experts {
			return 0, false
		}
		ordinal = ordinal*f.Experts + int64(expert)
	}
	if f.Blocks > 0 {
		if int64(block) >= f.Blocks {
			return 0, false
		}
		ordinal = ordinal*f.Blocks + int64(block)
	}
	return ordinal, true
}

// Numbers gives the numbers of a tensor's name, in the order of the name.
func (f *Family) Numbers(ordinal int64) [names.Slots]uint32 {
	n := f.template.want
	layer, expert, block := f.At(ordinal)
	for i := range f.template.slots {
		switch f.template.role[i] {
		case layerSlot:
			n[i] = layer
		case expertSlot:
			n[i] = expert
		case blockSlot:
			n[i] = block
		}
	}
	return n
}

// NameAt gives the name of a tensor.
func (f *Family) NameAt(ordinal int64) string {
	return string(f.AppendName(nil, ordinal))
}

// AppendName appends the name of a tensor.
func (f *Family) AppendName(dst []byte, ordinal int64) []byte {
	return names.Pattern{Text: f.Text, Slots: f.Slots}.Append(dst, f.Numbers(ordinal))
}

// AcceptsDType reports whether the family may have this type.
func (f *Family) AcceptsDType(t dtype.Type) bool { return slices.Contains(f.DTypes, t) }

// AcceptsShape reports whether the family may have this shape.
func (f *Family) AcceptsShape(shape []uint64) bool {
	return slices.ContainsFunc(f.Shapes, func(s Shape) bool { return s.Match(shape) })
}

// Sizes is the shape that is written by default.
func (f *Family) Sizes() []uint64 { return f.Shapes[0].Sizes() }

// EngineNames gives the engine's names of a tensor's pattern; which ones may
// depend on the kind of its layer, one of the sets of the instance.
func (f *Family) EngineNames(in *Instance, layer uint32) []string {
	if f.Engine == nil {
		return nil
	}
	for set, list := range f.Engine.NamesByKind {
		if _, ok := slices.BinarySearch(in.Sets[set], layer); ok {
			return list
		}
	}
	return f.Engine.Names
}
