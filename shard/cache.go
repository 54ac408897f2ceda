package shard

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"ckpt/dtype"
	"ckpt/model"
)

// cache is what one rank of a stage keeps of all sequences, in bytes.
func (e *estimator) cache(c *model.Cache, s *Stage, context, seqs int64) (int64, error) {
	layers := stageLayers(c.Layers, s, len(e.plan.Stages))
	row, err := e.row(c)
	if err != nil {
		return 0, err
	}
	return product(row, layers, cachedTokens(c, context), seqs)
}

// stageLayers counts the layers of a cache that a stage has.
func stageLayers(layers []uint32, s *Stage, stages int) int64 {
	if stages == 1 {
		return int64(len(layers))
	}
	before := func(end int) int {
		return sort.Search(len(layers), func(i int) bool { return int64(layers[i]) >= int64(end) })
	}
	return int64(before(s.EndLayer) - before(s.FirstLayer))
}

// cachedTokens is how many tokens of a sequence a layer keeps; 1 of what it
// keeps once.
func cachedTokens(c *model.Cache, context int64) int64 {
	switch {
	case !c.PerToken:
		return 1
	case c.Window > 0:
		return min(context, c.Window)
	}
	return context
}

// row is what a rank keeps of one layer, for a token or for a sequence.
func (e *estimator) row(c *model.Cache) (int64, error) {
	heads, err := e.heads(c)
	if err != nil {
		return 0, err
	}
	elements, err := product(c.Elements, heads)
	if err != nil {
		return 0, err
	}
	return sized(e.cacheType(c), elements)
}

func (e *estimator) cacheType(c *model.Cache) dtype.Type {
	if c.DType == dtype.Invalid {
		return e.demand.CacheType.DType()
	}
	return c.DType
}

func sized(t dtype.Type, elements int64) (int64, error) {
	bytes, err := t.Size([]uint64{uint64(elements)})
	switch {
	case errors.Is(err, dtype.ErrBlock):
		return 0, fmt.Errorf("%w: %s keeps blocks of %d, and %d numbers are not a multiple", ErrCacheType, t, t.Block(), elements)
	case err != nil:
		return 0, err
	case bytes > math.MaxInt64:
		return 0, ErrOverflow
	}
	return int64(bytes), nil
}

// ErrCacheType: a cache cannot be kept in the type that was asked for.
var ErrCacheType = errors.New("cache type does not fit")

// heads is how many heads of a cache a rank has; 1 where it is not split.
func (e *estimator) heads(c *model.Cache) (int64, error) {
	if c.Heads == 0 {
		return 1, nil
	}
	if n, ok := headsPerRank(c, int64(e.plan.TP)); ok {
		return n, nil
	}
	return 0, &SplitError{Topology: e.plan.Topology(), Degree: "TP",
		Refusals: []Refusal{{"", fmt.Sprintf("%d heads of the %s do not divide by %d", c.Heads, c.Name, e.plan.TP)}},
		Works:    works(func(d int) bool { _, ok := headsPerRank(c, int64(d)); return ok })}
}

// headsPerRank divides heads; where a rank would have less than one and they
// are shared, it has a copy.
func headsPerRank(c *model.Cache, tp int64) (int64, bool) {
	switch {
	case c.Heads%tp == 0:
		return c.Heads / tp, true
	case c.Shared && tp%c.Heads == 0:
		return 1, true
	}
	return 0, false
}

// activation is what passes through a rank, in bytes.
func (e *estimator) activation(a *model.Activation, context, seqs int64) (int64, error) {
	each, err := sized(a.DType, a.Elements)
	if err != nil {
		return 0, err
	}
	return product(each, passing(a, context, seqs))
}

// passing is for how many tokens or sequences an activation is held.
func passing(a *model.Activation, context, seqs int64) int64 {
	if !a.PerStep {
		return seqs
	}
	if n, err := product(context, seqs); err == nil {
		return min(n, StepTokens)
	}
	return StepTokens
}

// MemoryOf says what a model keeps of its sequences: by its profile where that
// says so, else by what its config says of its architecture. Errors:
// model.UnknownArchitectureError and model.ConfigError.
func MemoryOf(m *Model) (*model.Memory, error) {
	if m.Instance != nil && m.Instance.Memory != nil {
		return m.Instance.Memory, nil
	}
	return model.ReadMemory(m.Config)
}
