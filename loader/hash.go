package loader

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"ckpt/shard"
)

// hashes are the xxh3-128 of source tensors by their number, and the SHA-256 of
// files.
type hashes struct {
	*program
	sums   [][16]byte
	taken  []bool // false of tensors that were not read
	files  []string
	tensor chain[*xxh3.Hasher128]
	file   chain[hash.Hash]
	spare  sync.Pool
}

func newHashes(g *program) *hashes {
	h := &hashes{program: g, sums: make([][16]byte, g.tensors), taken: make([]bool, g.tensors), files: make([]string, len(g.plan.Source.Files))}
	h.tensor.links, h.file.links = map[uint64]link[*xxh3.Hasher128]{}, map[uint64]link[hash.Hash]{}
	h.spare.New = func() any { return xxh3.New128() }
	return h
}

// chain hands what is begun in one block to the next of the file. Blocks come in
// any order: who comes too early is left there, and is continued by who brings
// what it needs.
type chain[T any] struct {
	mu    sync.Mutex
	links map[uint64]link[T]
}

type link[T any] struct {
	state T
	slot  *slot // that waits for the state; else the state waits
}

// arrive gives the state for a slot's block; false leaves the slot in the chain.
func (c *chain[T]) arrive(s *slot) (state T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.links[s.block.seq]
	if ok {
		delete(c.links, s.block.seq)
		return l.state, true
	}
	c.links[s.block.seq] = link[T]{slot: s}
	return state, false
}

// pass gives the state to the block of that number, or the slot that waits for it.
func (c *chain[T]) pass(seq uint64, state T) *slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.links[seq]; ok {
		delete(c.links, seq)
		return l.slot
	}
	c.links[seq] = link[T]{state: state}
	return nil
}

// block hashes what of tensors lies in a slot: those that lie in it whole, the
// beginning of the last one, and, once the blocks before have been hashed, the
// rest of the first.
func (h *hashes) block(s *slot) {
	b := &s.block
	head := false
	h.pieces(b, func(n, begin, end int64) bool {
		switch {
		case begin < b.lo:
			head = true
		case end <= b.hi:
			h.keep(n, xxh3.Hash128(s.buf[begin-b.offset:end-b.offset]))
		default:
			x := h.spare.Get().(*xxh3.Hasher128)
			x.Reset()
			_, _ = x.Write(s.buf[begin-b.offset : b.hi-b.offset]) // never fails
			if next := h.tensor.pass(b.seq+1, x); next != nil {
				h.proceed(next, x)
			}
		}
		return true
	})
	if !head {
		s.release(hashing)
		return
	}
	if x, ok := h.tensor.arrive(s); ok {
		h.proceed(s, x)
	}
}

// proceed goes on with the tensor that a slot begins within, and into the slots
// behind it as far as they are there.
func (h *hashes) proceed(s *slot, x *xxh3.Hasher128) {
	for s != nil {
		b := &s.block
		var next *slot
		h.pieces(b, func(n, begin, end int64) bool {
			if begin >= b.lo {
				return false
			}
			_, _ = x.Write(s.buf[b.lo-b.offset : min(end, b.hi)-b.offset]) // never fails
			if end <= b.hi {
				h.keep(n, x.Sum128())
				h.spare.Put(x)
			} else {
				next = h.tensor.pass(b.seq+1, x)
			}
			return false
		})
		s.release(hashing)
		s = next
	}
}

func (h *hashes) keep(n int64, sum xxh3.Uint128) {
	h.sums[n] = sum.Bytes()
	h.taken[n] = true
}

// pieces goes over the tensors that have bytes in a block, as far as yield wants.
func (g *program) pieces(b *block, yield func(n, begin, end int64) bool) {
	for i := b.run; i < len(g.runs) && g.runs[i].file == b.file && g.runs[i].from < b.hi; i++ {
		r := &g.runs[i]
		first, end := r.records(b.lo, b.hi)
		for k := first; k < end; k++ {
			for p := range r.Pieces {
				begin := r.from + k*r.stride + r.Pieces[p].Offset
				last := begin + g.kinds[r.Pieces[p].Template].bytes
				if begin >= b.hi || last <= b.lo || begin == last {
					continue
				}
				if !yield(r.first+k*int64(len(r.Pieces))+int64(p), begin, last) {
					return
				}
			}
		}
	}
}

// whole takes the SHA-256 of files, block by block in their order.
func (h *hashes) whole(s *slot) {
	var x hash.Hash
	if s.block.offset == 0 {
		x = sha256.New()
	} else {
		var ok bool
		if x, ok = h.file.arrive(s); !ok {
			return
		}
	}
	for s != nil {
		b := &s.block
		x.Write(s.buf[:b.need()])
		var next *slot
		if b.last {
			h.files[b.file] = hex.EncodeToString(x.Sum(nil))
		} else {
			next = h.file.pass(b.seq+1, x)
		}
		s.release(hashingFile)
		s = next
	}
}

// number finds the tensor that begins at an offset of a file.
func (g *program) number(file int, offset int64) (int64, bool) {
	if file < 0 {
		return 0, false
	}
	i := sort.Search(len(g.runs), func(i int) bool {
		r := &g.runs[i]
		return r.file > file || r.file == file && r.to > offset
	})
	if i == len(g.runs) || g.runs[i].file != file || g.runs[i].from > offset {
		return 0, false
	}
	r := &g.runs[i]
	k := (offset - r.from) / r.stride
	for p := range r.Pieces {
		if r.from+k*r.stride+r.Pieces[p].Offset == offset && g.kinds[r.Pieces[p].Template].bytes > 0 {
			return r.first + k*int64(len(r.Pieces)) + int64(p), true
		}
	}
	return 0, false
}

// tensorName is the name of a tensor in the checkpoint.
func (g *program) tensorName(r *run, c *shard.Piece, record int64) string {
	f := &g.plan.Families[g.plan.Program.Templates[c.Template].Family]
	return string(fillName(nil, f.Pattern, c.Layer, uint32(g.expert(r, c, record)), c.Block))
}

// fillName puts numbers into a pattern, as plans write names: {i} the layer, {e}
// the expert, {b} the block.
func fillName(dst []byte, pattern string, layer, expert, block uint32) []byte {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '{' && i+2 < len(pattern) && pattern[i+2] == '}' {
			if at := strings.IndexByte("ieb", pattern[i+1]); at >= 0 {
				dst = strconv.AppendUint(dst, uint64([]uint32{layer, expert, block}[at]), 10)
				i += 2
				continue
			}
		}
		dst = append(dst, pattern[i])
	}
	return dst
}
