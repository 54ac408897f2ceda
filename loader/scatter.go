package loader

import (
	"ckpt/shard"
)

// scatterer copies what lies in blocks to the arenas. Each worker has one, with
// queues of its own; nothing here allocates once it is warm.
type scatterer struct {
	*program
	arenas []Arena // of locals
	queues []Queue // of devices
	ways   []Way   // of devices
	pack   *packer // nil where no device needs one
	shop   *shop

	joined  []joined // of locals: copies that wait for a neighbour
	touched []bool   // devices that got copies since they were last asked
	counts  []counts // of locals
	done    []*assembly
}

// joined is bytes of a block on their way to one place.
type joined struct {
	src []byte
	to  int64
}

// counts is what a rank got from one worker.
type counts struct {
	bytes, copies, rects, assembled int64
}

// block copies what a block has for the ranks. The copies are started, not done.
func (s *scatterer) block(b *block, buf []byte) error {
	for i := b.run; i < len(s.runs) && s.runs[i].file == b.file && s.runs[i].from < b.hi; i++ {
		r := &s.runs[i]
		first, end := r.records(b.lo, b.hi)
		for k := first; k < end; k++ {
			for p := range r.Pieces {
				c := &r.Pieces[p]
				begin := r.from + k*r.stride + c.Offset
				lo, hi := max(b.lo, begin), min(b.hi, begin+s.kinds[c.Template].bytes)
				if lo >= hi {
					continue
				}
				part := part{run: i, piece: p, record: k, lo: lo - begin, src: buf[lo-b.offset : hi-b.offset]}
				if err := s.piece(r, c, &part); err != nil {
					return err
				}
			}
		}
	}
	return s.flushAll()
}

// part is some bytes of a tensor.
type part struct {
	run, piece int
	record     int64
	lo         int64 // of the tensor: where src begins
	src        []byte
}

func (p *part) hi() int64 { return p.lo + int64(len(p.src)) }

func (s *scatterer) piece(r *run, c *shard.Piece, p *part) error {
	k := &s.kinds[c.Template]
	id := s.expert(r, c, p.record)
	for t := range c.Targets {
		to := &c.Targets[t]
		of := s.of[to.Stage]
		for o := range k.outputs {
			out := &k.outputs[o]
			for g := range out.groups {
				group := &out.groups[g]
				if out.assemble {
					if err := s.assemble(r, c, p, assemblyKey{p.run, p.piece, p.record, t, o, g}, id); err != nil {
						return err
					}
					continue
				}
				for _, rank := range group.ranks {
					slot, has := k.slot(c, p.record, id, rank)
					if l := of[rank]; has && l >= 0 {
						if err := s.moves(l, group.moves, at(to, o, slot), p); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}

// moves does what a part has of the moves of a rank.
func (s *scatterer) moves(l int, moves []move, at int64, p *part) error {
	for i := range moves {
		m := &moves[i]
		if m.from >= p.hi() || m.from+m.span <= p.lo {
			continue
		}
		var err error
		switch {
		case len(m.loops) == 0:
			err = s.bytes(l, m.from, at+m.to, m.run, p)
		case m.rows() && m.run < oneByOne:
			err = s.rows(l, m, at+m.to, p)
		default:
			err = s.runs1(l, m, 0, m.from, at+m.to, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bytes copies n bytes that begin at from in the tensor, as far as the part has
// them.
func (s *scatterer) bytes(l int, from, to, n int64, p *part) error {
	lo, hi := max(from, p.lo), min(from+n, p.hi())
	if lo >= hi {
		return nil
	}
	return s.copy(l, to+lo-from, p.src[lo-p.lo:hi-p.lo])
}

// copy starts a copy, or makes the one before longer.
func (s *scatterer) copy(l int, to int64, src []byte) error {
	j := &s.joined[l]
	if n := len(j.src); n > 0 {
		if j.to+int64(n) == to && cap(j.src) >= n+len(src) {
			if next := j.src[:n+len(src)]; &next[n] == &src[0] {
				j.src = next
				return nil
			}
		}
		if err := s.flush(l); err != nil {
			return err
		}
	}
	*j = joined{src, to}
	return nil
}

func (s *scatterer) flush(l int) error {
	j := &s.joined[l]
	if len(j.src) == 0 {
		return nil
	}
	src := j.src
	j.src = nil
	d := s.locals[l].device
	s.touched[d] = true
	s.counts[l].bytes += int64(len(src))
	s.counts[l].copies++
	return s.queues[d].Copy(s.arenas[l], j.to, src)
}

func (s *scatterer) flushAll() error {
	for l := range s.joined {
		if err := s.flush(l); err != nil {
			return err
		}
	}
	return nil
}

// rows copies the rows of which the part has bytes: whole ones as a rectangle,
// what is left of the first and the last by itself.
func (s *scatterer) rows(l int, m *move, to int64, p *part) error {
	stride, n := m.loops[0].From, m.loops[0].N
	first, end := within(m.from, m.run, stride, n, p.lo, p.hi())
	if first < end && m.from+first*stride < p.lo {
		if err := s.bytes(l, m.from+first*stride, to+first*m.run, m.run, p); err != nil {
			return err
		}
		first++
	}
	if first < end && m.from+(end-1)*stride+m.run > p.hi() {
		end--
		if err := s.bytes(l, m.from+end*stride, to+end*m.run, m.run, p); err != nil {
			return err
		}
	}
	if first >= end {
		return nil
	}
	begin := m.from + first*stride - p.lo
	r := Rect{
		Src:  p.src[begin : begin+(end-first-1)*stride+m.run],
		Rows: int(end - first), Run: int(m.run), Stride: int(stride),
	}
	return s.rect(l, to+first*m.run, r)
}

// within gives the repetitions of a span, stride bytes apart from from on, that
// have bytes from lo up to hi.
func within(from, span, stride, n, lo, hi int64) (first, end int64) {
	if lo >= from+span {
		first = (lo-from-span)/stride + 1
	}
	if hi > from {
		end = min(n, (hi-from+stride-1)/stride)
	}
	return min(first, n), end
}

func (s *scatterer) rect(l int, to int64, r Rect) error {
	d := s.locals[l].device
	s.touched[d] = true
	n := int64(r.Rows) * int64(r.Run)
	s.counts[l].bytes += n
	s.counts[l].copies++
	s.counts[l].rects++
	if s.ways[d] != WayPack {
		return s.queues[d].CopyRect(s.arenas[l], to, r)
	}
	dst, err := s.pack.room(s, int(n))
	if err != nil {
		return err
	}
	packRows(dst, r)
	return s.queues[d].Copy(s.arenas[l], to, dst)
}

// runs1 copies long runs one by one.
func (s *scatterer) runs1(l int, m *move, loop int, from, to int64, p *part) error {
	if loop == len(m.loops) {
		return s.bytes(l, from, to, m.run, p)
	}
	x := m.loops[loop]
	span := m.run
	for _, in := range m.loops[loop+1:] {
		span += (in.N - 1) * in.From
	}
	first, end := within(from, span, x.From, x.N, p.lo, p.hi())
	for i := first; i < end; i++ {
		if err := s.runs1(l, m, loop+1, from+i*x.From, to+i*x.To, p); err != nil {
			return err
		}
	}
	return nil
}
