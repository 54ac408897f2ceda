package names

import (
	"hash/maphash"
	"math/bits"
)

// Map maps keys of one Table to small integers.
//
// # Layout
//
// Sixteen keys that differ only in the low bits of their second number share a
// block, and a hash table finds the block. The second number is the expert's,
// so the tensors of a layer's experts lie side by side: the 497,220 keys of a
// Kimi K3 take 5 MB, and looking them up in any order that a file has them
// stays in the processor's cache. It allocates nothing else and has nothing for
// the garbage collector to walk.
//
// The zero value is empty. Reading in parallel is safe while nobody writes.
type Map struct {
	slots  []mapSlot // a power of two, at most half full
	blocks []mapBlock
	n      int
	seed   [2]uint64 // random: no file can be made whose names collide
}

const blockBits = 4

type mapBlock [1 << blockBits]uint32 // values plus one; 0 is free

type mapSlot struct {
	key   Key    // without the low bits of its second number
	block uint32 // plus one; 0 is free
}

// Len is the number of pairs.
func (m *Map) Len() int { return m.n }

// Get is the value of k.
func (m *Map) Get(k Key) (uint32, bool) {
	if m.n == 0 {
		return 0, false
	}
	low := split(&k)
	s := m.slot(k)
	if s.block == 0 {
		return 0, false
	}
	v := m.blocks[s.block-1][low]
	return v - 1, v != 0
}

// Put adds the pair if k is new; otherwise it returns k's value and false.
// Values are below 2^32-1.
func (m *Map) Put(k Key, value uint32) (old uint32, added bool) {
	low := split(&k)
	v := &m.block(k)[low]
	if *v != 0 {
		return *v - 1, false
	}
	*v = value + 1
	m.n++
	return value, true
}

// split takes from k what tells the keys of one block apart.
func split(k *Key) (low uint32) {
	low = k.N[1] & (1<<blockBits - 1)
	k.N[1] >>= blockBits
	return low
}

// block finds the block of k, or makes it.
func (m *Map) block(k Key) *mapBlock {
	if m.slots == nil {
		m.init()
	}
	s := m.slot(k)
	if s.block == 0 {
		m.blocks = append(m.blocks, mapBlock{})
		*s = mapSlot{k, uint32(len(m.blocks))}
		if len(m.blocks)*2 > len(m.slots) {
			m.grow()
		}
		return &m.blocks[len(m.blocks)-1]
	}
	return &m.blocks[s.block-1]
}

func (m *Map) init() {
	const fewest = 64
	seed := maphash.MakeSeed()
	for i := range m.seed {
		m.seed[i] = maphash.Comparable(seed, i)
	}
	m.slots = make([]mapSlot, fewest)
}

func (m *Map) slot(k Key) *mapSlot {
	for i := m.hash(k); ; i++ {
		s := &m.slots[i&uint64(len(m.slots)-1)]
		if s.block == 0 || s.key == k {
			return s
		}
	}
}

func (m *Map) hash(k Key) uint64 {
	a := uint64(k.Pattern)<<32 | uint64(k.N[0])
	b := uint64(k.N[1])<<32 | uint64(k.N[2])
	hi, lo := bits.Mul64(a^m.seed[0], b^m.seed[1])
	hi, lo = bits.Mul64(hi^lo^m.seed[0], 0x9e3779b97f4a7c15^a+b)
	return hi ^ lo
}

func (m *Map) grow() {
	old := m.slots
	m.slots = make([]mapSlot, 2*len(old))
	for _, s := range old {
		if s.block != 0 {
			*m.slot(s.key) = s
		}
	}
}
