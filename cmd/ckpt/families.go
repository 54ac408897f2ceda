package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ckpt/checkpoint"
	"ckpt/internal/names"
)

// family is the tensors that have a name pattern, a dtype and a shape in
// common.
type family struct {
	pattern names.Pattern
	spec    uint32
	numbers [names.Slots]numbers // in each slot of the pattern
	count   int64
	bytes   int64 // of all tensors
	first   int   // place of the first tensor, counted over all files
}

// name shows the pattern with the numbers that occur: layers.{0-92}.w. With
// short, sets that would be long are cut.
func (f *family) name(short bool) string {
	var b strings.Builder
	slot := 0
	for i := range len(f.pattern.Text) {
		c := f.pattern.Text[i]
		if c != names.Mark || slot >= f.pattern.Slots {
			b.WriteByte(c)
			continue
		}
		b.WriteString(f.numbers[slot].text(short))
		slot++
	}
	return b.String()
}

// group makes families of the tensors that keep wants, ordered by name.
func group(c *checkpoint.Checkpoint, keep func(*checkpoint.File, *checkpoint.Record) bool) []*family {
	type id struct{ pattern, spec uint32 }
	known := map[id]*family{}
	var all []*family
	at := 0
	for f, r := range records(c) {
		at++
		if !keep(f, r) {
			continue
		}
		k := id{r.Key.Pattern, r.Spec}
		fam := known[k]
		if fam == nil {
			fam = &family{pattern: c.Names.Pattern(r.Key.Pattern), spec: r.Spec, first: at}
			known[k] = fam
			all = append(all, fam)
		}
		fam.count++
		fam.bytes += r.Size
		for slot := range fam.pattern.Slots {
			fam.numbers[slot].add(r.Key.N[slot])
		}
	}
	slices.SortFunc(all, func(a, b *family) int {
		return cmp.Or(naturally(a.pattern.Text, b.pattern.Text), cmp.Compare(a.first, b.first))
	})
	return all
}

// smallNumbers is how far numbers are kept as bits; layers and experts lie
// below.
const smallNumbers = 1 << 12

// numbers is a set.
type numbers struct {
	small []uint64
	large map[uint32]struct{}
}

func (s *numbers) add(n uint32) {
	if n >= smallNumbers {
		if s.large == nil {
			s.large = map[uint32]struct{}{}
		}
		s.large[n] = struct{}{}
		return
	}
	for int(n/64) >= len(s.small) {
		s.small = append(s.small, 0)
	}
	s.small[n/64] |= 1 << (n % 64)
}

func (s *numbers) addAll(o *numbers) {
	for _, n := range o.sorted() {
		s.add(n)
	}
}

func (s *numbers) sorted() []uint32 {
	var out []uint32
	for i, word := range s.small {
		for b := range 64 {
			if word&(1<<b) != 0 {
				out = append(out, uint32(i*64+b))
			}
		}
	}
	from := len(out)
	for n := range s.large {
		out = append(out, n)
	}
	slices.Sort(out[from:])
	return out
}

// shortRuns is how many runs of numbers are shown before a set is cut.
const shortRuns = 4

// text writes the set as runs: {0-92}, {3,7,11}; one number stands without
// braces. With short a long set keeps its first runs and its last number.
func (s *numbers) text(short bool) string {
	all := s.sorted()
	if len(all) == 1 {
		return strconv.FormatUint(uint64(all[0]), 10)
	}
	var runs []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		run := strconv.FormatUint(uint64(all[i]), 10)
		if j > i {
			separator := "-"
			if j == i+1 {
				separator = ","
			}
			run += separator + strconv.FormatUint(uint64(all[j]), 10)
		}
		runs = append(runs, run)
		i = j + 1
	}
	if short && len(runs) > shortRuns {
		last := strconv.FormatUint(uint64(all[len(all)-1]), 10)
		return "{" + strings.Join(runs[:shortRuns-1], ",") + "…" + last + "}"
	}
	return "{" + strings.Join(runs, ",") + "}"
}

// naturally compares names with runs of digits as numbers, so that layer 2
// stands before layer 10.
func naturally(a, b string) int {
	for len(a) > 0 && len(b) > 0 {
		na, nb := digits(a), digits(b)
		if na == 0 || nb == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y), cmp.Compare(na, nb)); c != 0 {
			return c
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
