package loader

import (
	"slices"
	"sync"
	"sync/atomic"

	"ckpt/shard"
)

// assemblyKey tells what is being assembled: an output of a tensor, for a group
// of ranks.
type assemblyKey struct {
	run, piece    int
	record        int64
	target        int
	output, group int
}

// assembly is an output that is put together in memory.
type assembly struct {
	mu   sync.Mutex
	buf  []byte
	left int64 // bytes that are missing
}

// assemblyRoom bounds the memory in which outputs are assembled, in bytes. A
// single tensor that needs more gets it, alone.
const assemblyRoom = 64 << 20

// shop is where outputs are assembled, by all workers together. The reader
// reserves the memory before it reads the first byte of a tensor.
type shop struct {
	mu    sync.Mutex
	open  map[assemblyKey]*assembly
	spare []*assembly
	used  atomic.Int64 // bytes reserved
}

func newShop() *shop { return &shop{open: map[assemblyKey]*assembly{}} }

// take finds an assembly or begins it.
func (s *shop) take(key assemblyKey, bytes int64) *assembly {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.open[key]
	if a != nil {
		return a
	}
	// the smallest that is large enough, else any
	best := -1
	for i, x := range s.spare {
		if int64(cap(x.buf)) >= bytes && (best < 0 || cap(x.buf) < cap(s.spare[best].buf)) {
			best = i
		}
	}
	if best < 0 && len(s.spare) > 0 {
		best = 0
	}
	if best >= 0 {
		a = s.spare[best]
		s.spare = slices.Delete(s.spare, best, best+1)
	} else {
		a = &assembly{}
	}
	if int64(cap(a.buf)) < bytes {
		a.buf = make([]byte, bytes)
	}
	a.buf, a.left = a.buf[:bytes], bytes
	s.open[key] = a
	return a
}

// close ends an assembly that is complete: it is found no more.
func (s *shop) close(key assemblyKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, key)
}

// give gives its memory back.
func (s *shop) give(a *assembly) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used.Add(-int64(len(a.buf)))
	s.spare = append(s.spare, a)
}

// order is what has to be reserved before a block is read.
type order struct {
	bytes int64 // of tensors that begin in it
	open  int64 // of the one that goes on behind it
	next  int64 // number of the first tensor that is not reserved
}

// order sums what is assembled of a block. reserved is the number of the first
// tensor of its file for which nothing is reserved yet, open what the block
// before left open.
func (g *program) order(b *block, reserved, open int64) order {
	o := order{next: reserved}
	for i := b.run; i < len(g.runs) && g.runs[i].file == b.file && g.runs[i].from < b.hi; i++ {
		r := &g.runs[i]
		if !r.whole {
			continue
		}
		first, end := r.records(b.lo, b.hi)
		for k := first; k < end; k++ {
			for p := range r.Pieces {
				c := &r.Pieces[p]
				n := r.first + k*int64(len(r.Pieces)) + int64(p)
				begin := r.from + k*r.stride + c.Offset
				last := begin + g.kinds[c.Template].bytes
				if begin >= b.hi || last <= b.lo {
					continue
				}
				bytes := open
				if n >= o.next {
					bytes = g.assembled(r, c, k)
					o.bytes += bytes
					o.next = n + 1
				}
				if last > b.hi {
					o.open = bytes
				}
			}
		}
	}
	return o
}

// assembled is how many bytes are assembled of one tensor.
func (g *program) assembled(r *run, c *shard.Piece, record int64) (bytes int64) {
	k := &g.kinds[c.Template]
	id := g.expert(r, c, record)
	for t := range c.Targets {
		for o := range k.outputs {
			out := &k.outputs[o]
			for i := range out.groups {
				if out.assemble && g.wanted(k, c, record, id, &out.groups[i], &c.Targets[t]) {
					bytes += out.bytes
				}
			}
		}
	}
	return bytes
}

// assemble does the moves of a part within memory. Whoever brings the last bytes
// changes the numbers and starts the copies to all ranks of the group.
func (s *scatterer) assemble(r *run, c *shard.Piece, p *part, key assemblyKey, id int64) error {
	k := &s.kinds[c.Template]
	out := &k.outputs[key.output]
	group := &out.groups[key.group]
	to := &c.Targets[key.target]
	if !s.wanted(k, c, p.record, id, group, to) || !overlaps(group.moves, p) {
		return nil
	}
	a := s.shop.take(key, out.bytes)
	n := int64(0)
	for i := range group.moves {
		m := &group.moves[i]
		if m.from < p.hi() && m.from+m.span > p.lo {
			n += gather(a.buf, m, m.loops, m.from, m.to, p)
		}
	}
	a.mu.Lock()
	a.left -= n
	complete := a.left == 0
	a.mu.Unlock()
	if !complete {
		return nil
	}
	s.shop.close(key)
	if out.transform != "" {
		f, err := transformOf(out.transform, out.dtype)
		if err != nil {
			return err
		}
		f(a.buf)
	}
	s.done = append(s.done, a)
	for _, rank := range group.ranks {
		slot, has := k.slot(c, p.record, id, rank)
		l := s.of[to.Stage][rank]
		if !has || l < 0 {
			continue
		}
		d := s.locals[l].device
		s.touched[d] = true
		s.counts[l].bytes += out.bytes
		s.counts[l].copies++
		s.counts[l].assembled++
		if err := s.queues[d].Copy(s.arenas[l], at(to, key.output, slot), a.buf); err != nil {
			return err
		}
	}
	return nil
}

// wanted says whether a rank of this machine takes the bytes of a group.
func (g *program) wanted(k *kind, c *shard.Piece, record, id int64, x *group, to *shard.Target) bool {
	for _, rank := range x.ranks {
		if _, has := k.slot(c, record, id, rank); has && g.of[to.Stage][rank] >= 0 {
			return true
		}
	}
	return false
}

func overlaps(moves []move, p *part) bool {
	for i := range moves {
		if moves[i].from < p.hi() && moves[i].from+moves[i].span > p.lo {
			return true
		}
	}
	return false
}

// gather does what a part has of a move, and says how many bytes that was.
func gather(dst []byte, m *move, loops []shard.Loop, from, to int64, p *part) int64 {
	if len(loops) == 0 {
		lo, hi := max(from, p.lo), min(from+m.run, p.hi())
		if lo >= hi {
			return 0
		}
		copy(dst[to+lo-from:to+hi-from], p.src[lo-p.lo:hi-p.lo])
		return hi - lo
	}
	span := m.run
	for _, in := range loops[1:] {
		span += (in.N - 1) * in.From
	}
	x := loops[0]
	first, end := within(from, span, x.From, x.N, p.lo, p.hi())
	n := int64(0)
	if len(loops) == 1 && first < end { // the innermost: whole runs in a loop of their own
		if from+first*x.From < p.lo {
			n += gather(dst, m, nil, from+first*x.From, to+first*x.To, p)
			first++
		}
		if first < end && from+(end-1)*x.From+m.run > p.hi() {
			end--
			n += gather(dst, m, nil, from+end*x.From, to+end*x.To, p)
		}
		if first < end {
			strided(dst[to+first*x.To:], p.src[from+first*x.From-p.lo:], int(end-first), int(m.run), int(x.To), int(x.From))
			n += (end - first) * m.run
		}
		return n
	}
	for i := first; i < end; i++ {
		n += gather(dst, m, loops[1:], from+i*x.From, to+i*x.To, p)
	}
	return n
}

// strided copies n runs between places at two distances.
func strided(dst, src []byte, n, run, to, from int) {
	switch run {
	case 1:
		for i := range n {
			dst[i*to] = src[i*from]
		}
	case 2:
		for i := range n {
			*(*[2]byte)(dst[i*to:]) = [2]byte(src[i*from:])
		}
	case 4:
		for i := range n {
			*(*[4]byte)(dst[i*to:]) = [4]byte(src[i*from:])
		}
	default:
		for i := range n {
			copy(dst[i*to:i*to+run], src[i*from:])
		}
	}
}
