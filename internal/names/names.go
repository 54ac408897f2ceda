// Package names keeps the names of hundreds of thousands of tensors as a few
// dozen patterns and some numbers. [Table.Intern] turns a name into a [Key],
// [Table.Name] gives it back, byte for byte.
//
// # Layout
//
// A name is split at its dots. A segment that is a canonical decimal number
// (no leading zero, below 2^32) is a number; the first [Slots] of them leave
// the name and stand in the key, and the rest of the name, with [Mark] in
// their place, is its pattern:
//
//	model.layers.12.block_sparse_moe.experts.345.w1.weight
//	model.layers.{}.block_sparse_moe.experts.{}.w1.weight   12, 345
//
// The 497,220 names of a Kimi K3 are 59 patterns. Matching them against a
// profile, grouping them for a listing and joining headers with an index all
// work on patterns and numbers, never on strings.
//
// # Concurrency
//
// A Table may be shared. A [Cache] belongs to one goroutine.
package names

import (
	"math"
	"strconv"
	"strings"
	"sync"
)

// Slots is how many numbers a key keeps apart from its pattern. Layer, expert
// and one more: further numbers stay in the pattern as they are.
const Slots = 3

// Mark stands in a pattern where a number was. The byte never occurs in UTF-8;
// a name that has it all the same (GGUF names are bytes) is its own pattern.
const Mark = '\xff'

// Key is the exact identity of a name within its Table.
type Key struct {
	Pattern uint32
	N       [Slots]uint32
}

// Pattern is what the names of a family have in common.
type Pattern struct {
	ID    uint32
	Text  string // with Mark in place of each number
	Slots int    // how many numbers
}

// String shows the pattern with {} for each number.
func (p Pattern) String() string {
	if p.Slots == 0 {
		return p.Text
	}
	return strings.ReplaceAll(p.Text, string([]byte{Mark}), "{}")
}

// Append appends the name that p and the numbers make.
func (p Pattern) Append(dst []byte, n [Slots]uint32) []byte {
	if p.Slots == 0 {
		return append(dst, p.Text...)
	}
	text := p.Text
	for slot := range p.Slots {
		at := strings.IndexByte(text, Mark)
		dst = append(dst, text[:at]...)
		dst = strconv.AppendUint(dst, uint64(n[slot]), 10)
		text = text[at+1:]
	}
	return append(dst, text...)
}

// Table interns patterns.
type Table struct {
	mu       sync.RWMutex
	split    map[string]uint32 // pattern text with at least one slot
	whole    map[string]uint32 // names without a number
	patterns []Pattern
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{split: map[string]uint32{}, whole: map[string]uint32{}}
}

// Len is the number of patterns.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.patterns)
}

// Pattern is the pattern of that ID: IDs run from 0 to Len()-1, in the order
// in which they were met, which differs from run to run.
func (t *Table) Pattern(id uint32) Pattern {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.patterns[id]
}

// Intern is the key of name; its pattern is added if it is new.
func (t *Table) Intern(name []byte) Key {
	var buf [256]byte
	text, n, slots := Split(buf[:0], name)
	return Key{t.intern(text, slots), n}
}

// Find is the key of name if its pattern is known. It adds nothing.
func (t *Table) Find(name string) (Key, bool) {
	text, n, slots := Split(nil, []byte(name))
	t.mu.RLock()
	defer t.mu.RUnlock()
	id, ok := t.side(slots)[string(text)]
	return Key{id, n}, ok
}

// Name is the name of k, as it was interned.
func (t *Table) Name(k Key) string { return string(t.Append(nil, k)) }

// Append appends the name of k.
func (t *Table) Append(dst []byte, k Key) []byte {
	return t.Pattern(k.Pattern).Append(dst, k.N)
}

func (t *Table) side(slots int) map[string]uint32 {
	if slots == 0 {
		return t.whole
	}
	return t.split
}

func (t *Table) intern(text []byte, slots int) uint32 {
	side := t.side(slots)
	t.mu.RLock()
	id, ok := side[string(text)]
	t.mu.RUnlock()
	if ok {
		return id
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := side[string(text)]; ok {
		return id
	}
	if len(t.patterns) == math.MaxUint32 {
		panic("names: 2^32 patterns") // a header of 100 MB has room for 10^7
	}
	id = uint32(len(t.patterns))
	p := Pattern{id, string(text), slots}
	t.patterns = append(t.patterns, p)
	side[p.Text] = id
	return id
}

// FindPattern is the ID of a pattern by its text.
func (t *Table) FindPattern(text string, slots int) (uint32, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	id, ok := t.side(slots)[text]
	return id, ok
}
