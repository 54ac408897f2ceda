package loader

import (
	"cmp"
	"slices"

	"ckpt/shard"
)

// joinGap is up to which length what is not wanted is read along rather than
// skipped: a request more costs about as much.
const joinGap = 256 << 10

// block is what one request reads: an aligned piece of a file, and what of it
// is wanted.
type block struct {
	file   int
	offset int64  // in the file, aligned
	length int    // aligned; may reach behind the end of the file
	lo, hi int64  // wanted bytes of the file
	run    int    // the first run that has some of them
	seq    uint64 // its number among those of the file, and the file's above it
	last   bool   // of its file
}

// need is how many bytes of the block the file must have.
func (b *block) need() int { return int(b.hi - b.offset) }

// span is wanted bytes of a file that are read together.
type span struct {
	file   int
	lo, hi int64
	run    int // the first that reaches beyond lo
}

// spans lists what the ranks need, in the order of the files, neighbours joined.
// With whole tensors are never parted, so that they can be hashed; with files
// everything is read, headers and skipped tensors included.
func (g *program) spans(whole, files bool) []span {
	var list []span
	add := func(s span) {
		if n := len(list); n > 0 && list[n-1].file == s.file && s.lo-list[n-1].hi <= joinGap {
			list[n-1].hi = max(list[n-1].hi, s.hi)
			return
		}
		list = append(list, s)
	}
	if files {
		for i, f := range g.plan.Source.Files {
			first, _ := slices.BinarySearchFunc(g.runs, i, func(r run, file int) int { return cmp.Compare(r.file, file) })
			add(span{i, 0, f.Size, first})
		}
		return list
	}
	all := len(g.locals) == len(g.plan.Ranks)
	n := needer{program: g}
	for i := range g.runs {
		r := &g.runs[i]
		switch {
		case r.from == r.to:
		case all:
			add(span{r.file, r.from, r.to, i})
		default:
			n.run(r, whole, func(lo, hi int64) { add(span{r.file, lo, hi, i}) })
		}
	}
	return list
}

// needer finds out what some ranks need of tensors.
type needer struct {
	*program
	list []shard.Range
}

func (n *needer) run(r *run, whole bool, add func(lo, hi int64)) {
	for k := range r.Records() {
		for i := range r.Pieces {
			c := &r.Pieces[i]
			at := r.from + k*r.stride + c.Offset
			for _, x := range n.piece(r, c, k, whole) {
				add(at+x.From, at+x.To)
			}
		}
	}
}

// piece is what the ranks need of one tensor, in order.
func (n *needer) piece(r *run, c *shard.Piece, record int64, whole bool) []shard.Range {
	k := &n.kinds[c.Template]
	id := n.expert(r, c, record)
	n.list = n.list[:0]
	for t := range c.Targets {
		of := n.of[c.Targets[t].Stage]
		for o := range k.outputs {
			for i := range k.outputs[o].groups {
				group := &k.outputs[o].groups[i]
				if !slices.ContainsFunc(group.ranks, func(rank int) bool {
					_, has := k.slot(c, record, id, rank)
					return has && of[rank] >= 0
				}) {
					continue
				}
				if whole {
					return append(n.list[:0], shard.Range{To: k.bytes})
				}
				for m := range group.moves {
					from := group.moves[m].from
					n.list = append(n.list, shard.Range{From: from, To: from + group.moves[m].span})
				}
			}
		}
	}
	slices.SortFunc(n.list, func(a, b shard.Range) int { return cmp.Compare(a.From, b.From) })
	return n.list
}

// lanes cuts spans into requests: file after file, or several files by turns
// where each of them has to be hashed from its beginning to its end.
type lanes struct {
	files [][]span // that no lane has begun
	lanes []lane
	turn  int
}

// newLanes takes spans in the order of the files.
func newLanes(g *program, list []span, o Options) *lanes {
	s := &lanes{}
	n := 1
	if o.SHA256 {
		n = o.Workers
	}
	for len(list) > 0 {
		end := slices.IndexFunc(list, func(x span) bool { return x.file != list[0].file })
		if end < 0 {
			end = len(list)
		}
		s.files, list = append(s.files, list[:end]), list[end:]
	}
	for range min(n, len(s.files)) {
		s.lanes = append(s.lanes, lane{program: g, size: o.Block, list: s.files[0], seq: first(s.files[0])})
		s.files = s.files[1:]
	}
	return s
}

// first is the number of the first block of a file.
func first(list []span) uint64 { return uint64(list[0].file) << 32 }

// next gives the next block; false after the last.
func (s *lanes) next(b *block) bool {
	for len(s.lanes) > 0 {
		s.turn %= len(s.lanes)
		l := &s.lanes[s.turn]
		if l.next(b) {
			s.turn++
			return true
		}
		if len(s.files) == 0 {
			s.lanes = slices.Delete(s.lanes, s.turn, s.turn+1)
			continue
		}
		l.list, l.seq = s.files[0], first(s.files[0])
		s.files = s.files[1:]
	}
	return false
}

// lane cuts the spans of one file after the other.
type lane struct {
	*program
	list []span
	size int64 // most of one
	at   int64 // in list[0]; 0 before it is begun
	run  int
	seq  uint64
}

// next gives the next block; false after the last of the file.
func (s *lane) next(b *block) bool {
	if len(s.list) == 0 {
		return false
	}
	x := &s.list[0]
	if s.at <= x.lo {
		s.at = x.lo &^ (pageSize - 1)
		s.run = x.run
	}
	end := min(s.at+s.size, (x.hi+pageSize-1)&^(pageSize-1))
	*b = block{file: x.file, offset: s.at, length: int(end - s.at), lo: max(s.at, x.lo), hi: min(end, x.hi), seq: s.seq}
	for s.run < len(s.runs) && s.runs[s.run].file == x.file && s.runs[s.run].to <= b.lo {
		s.run++
	}
	b.run = s.run
	s.seq++
	if s.at = end; end >= x.hi {
		s.list, s.at = s.list[1:], 0
		b.last = len(s.list) == 0
	}
	return true
}

// total is how many bytes and requests all spans make.
func total(list []span, size int64) (bytes, requests int64) {
	for _, x := range list {
		from, to := x.lo&^(pageSize-1), (x.hi+pageSize-1)&^(pageSize-1)
		bytes += to - from
		requests += (to - from + size - 1) / size
	}
	return bytes, requests
}
