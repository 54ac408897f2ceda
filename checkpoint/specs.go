package checkpoint

import (
	"encoding/binary"
	"slices"
	"sync"

	"ckpt/dtype"
)

// specTable numbers the pairs of dtype and shape: a few dozen in a checkpoint.
type specTable struct {
	mu    sync.RWMutex
	known map[string]uint32
	specs []Spec
}

func newSpecTable() *specTable { return &specTable{known: map[string]uint32{}} }

func (t *specTable) at(id uint32) Spec {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.specs[id]
}

func (t *specTable) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.specs)
}

// maxRank is the longest shape that is looked for among those that are known: a
// header has room for one of 49 million dimensions.
const maxRank = 64

// append numbers a pair without looking for it.
func (t *specTable) append(d dtype.Type, shape []uint64) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.specs = append(t.specs, Spec{d, slices.Clone(shape)})
	return uint32(len(t.specs) - 1)
}

// add numbers the pair whose key it is.
func (t *specTable) add(key []byte, d dtype.Type, shape []uint64) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.known[string(key)]; ok {
		return id
	}
	id := uint32(len(t.specs))
	t.specs = append(t.specs, Spec{d, slices.Clone(shape)})
	t.known[string(key)] = id
	return id
}

// specCache is one goroutine's way into the table: the lock is taken once a
// kind, not once a tensor.
type specCache struct {
	table *specTable
	known map[string]uint32
	key   []byte
}

func (t *specTable) newCache() *specCache {
	return &specCache{table: t, known: map[string]uint32{}}
}

// maxCached bounds what a cache remembers of a file in which no two tensors
// are of a kind.
const maxCached = 1 << 12

func (c *specCache) id(d dtype.Type, shape []uint64) uint32 {
	if len(shape) > maxRank {
		return c.table.append(d, shape)
	}
	c.key = append(c.key[:0], byte(d))
	for _, n := range shape {
		c.key = binary.LittleEndian.AppendUint64(c.key, n)
	}
	if id, ok := c.known[string(c.key)]; ok {
		return id
	}
	id := c.table.add(c.key, d, shape)
	if len(c.known) < maxCached {
		c.known[string(c.key)] = id
	}
	return id
}
