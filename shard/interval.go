package shard

import (
	"cmp"
	"fmt"
	"slices"
)

// interval is bytes from from up to, not including, to.
type interval struct{ from, to int64 }

// stride is a loop of a pattern of bytes.
type stride struct{ n, step int64 }

// maxIntervals bounds what one pattern may expand to in a proof. The matrices
// of the largest models have some 200,000 rows.
const maxIntervals = 1 << 20

// pattern is run bytes from start, repeated by loops.
type pattern struct {
	start, run int64
	loops      []stride
}

// fold joins what lies together: the run that remains, and the loops, innermost
// first. It is false where the pattern meets itself, or is not nested, which no
// plan of ours is.
func (p pattern) fold() (run int64, outer []stride, ok bool) {
	loops := slices.DeleteFunc(slices.Clone(p.loops), func(s stride) bool { return s.n == 1 })
	slices.SortFunc(loops, func(a, b stride) int { return cmp.Compare(a.step, b.step) })
	run = p.run
	span := run // from the first byte to the last
	for _, l := range loops {
		if l.n < 1 || l.step < span {
			return 0, nil, false
		}
		if len(outer) == 0 && l.step == run {
			run *= l.n
		} else {
			outer = append(outer, l)
		}
		span += (l.n - 1) * l.step
	}
	return run, outer, true
}

// expand lists the intervals of a pattern.
func (p pattern) expand(dst []interval) ([]interval, error) {
	if p.run == 0 {
		return dst, nil
	}
	run, outer, ok := p.fold()
	if !ok {
		return nil, fmt.Errorf("a move meets its own bytes")
	}
	total := int64(1)
	for _, l := range outer {
		if total > maxIntervals/l.n {
			return nil, fmt.Errorf("a move of more than %d pieces is not proven", maxIntervals)
		}
		total *= l.n
	}
	for i := range total {
		at := p.start
		for _, l := range outer {
			at += i % l.n * l.step
			i /= l.n
		}
		dst = append(dst, interval{at, at + run})
	}
	return dst, nil
}

// tile checks that intervals cover 0 up to size, each byte once. It sorts them.
func tile(list []interval, size int64) error {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	at := int64(0)
	for _, v := range list {
		switch {
		case v.from == v.to:
			continue
		case v.from < at:
			return fmt.Errorf("bytes %d up to %d occur twice", v.from, min(at, v.to))
		case v.from > at:
			return fmt.Errorf("bytes %d up to %d are left out", at, v.from)
		}
		at = v.to
	}
	if at != size {
		return fmt.Errorf("bytes %d up to %d are left out", at, size)
	}
	return nil
}

// source is where a move reads, over all ranks: parts become loops.
func (m *Move) source() pattern {
	p := pattern{start: m.From, run: m.Run}
	for _, l := range m.Loops {
		p.loops = append(p.loops, stride{l.N, l.From})
	}
	for _, part := range m.Parts {
		p.loops = append(p.loops, stride{int64(part.Mod), part.Step})
	}
	return p
}

// sourceOf is where it reads for one rank of a stage.
func (m *Move) sourceOf(rank int) pattern {
	p := pattern{start: m.From, run: m.Run}
	for _, l := range m.Loops {
		p.loops = append(p.loops, stride{l.N, l.From})
	}
	for _, part := range m.Parts {
		p.start += part.Step * int64(part.of(rank))
	}
	return p
}

// destination is where it writes, on every rank alike.
func (m *Move) destination() pattern {
	p := pattern{start: m.To, run: m.Run}
	for _, l := range m.Loops {
		p.loops = append(p.loops, stride{l.N, l.To})
	}
	return p
}

func (p Part) of(rank int) int { return share{p.Div, p.Mod}.of(rank) }

func (w Window) of(rank int) int64 { return w.Size * int64(share{w.Div, w.Mod}.of(rank)) }
