package synth

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

func keys[K comparable, V any](m map[K]V) iter.Seq[K] { return maps.Keys(m) }

// indexed gives the pairs of tensor and file in the order of the index.
func (l *layout) indexed(all []*shard) (iter.Seq2[string, string], error) {
	files, err := l.Index.arrange(all, len(l.Groups))
	if err != nil {
		return nil, err
	}
	return func(yield func(string, string) bool) {
		for _, s := range files {
			for _, t := range l.Index.sorted(s.tensors) {
				if !yield(t.name(), s.name) {
					return
				}
			}
		}
	}, nil
}

// arrange puts files into the order of the index. A model with fewer layers
// keeps the order that its layers have in the release; further layers follow.
// The files behind the layers are counted from the end.
func (o *indexOrder) arrange(all []*shard, groups int) ([]*shard, error) {
	if len(o.Files) == 0 {
		return all, nil
	}
	tail := groups - 1 // files of the release that hold no layer
	place := map[int]int{}
	for i, n := range o.Files {
		place[n] = i
	}
	if len(place) != len(o.Files) {
		return nil, fmt.Errorf("index order: a file comes twice")
	}
	at := func(s *shard) int {
		n := s.layer + 1
		if s.layer < 0 {
			n = len(o.Files) - tail + s.group
		} else if n > len(o.Files)-tail {
			return len(o.Files) + n
		}
		return place[n]
	}
	return slices.SortedFunc(slices.Values(all), func(a, b *shard) int { return cmp.Compare(at(a), at(b)) }), nil
}

// rank is the place of a family in the index, within a file: that of its list,
// and that in the list.
type rank struct{ list, within int }

// place ranks the families. What the layout does not mention comes last.
func (o *indexOrder) place(families []*family) {
	known := map[string]rank{}
	for i, list := range o.Tensors {
		for j, pattern := range list {
			known[pattern] = rank{i, j}
		}
	}
	for _, f := range families {
		f.rank = rank{list: len(o.Tensors)}
		if r, ok := known[f.pattern()]; ok {
			f.rank = r
		}
	}
}

// sorted is the order of one file's tensors in the index: lists in turn,
// within a list the last number falling, and for each number the patterns.
func (o *indexOrder) sorted(tensors []tensor) []tensor {
	byName := func(a, b tensor) int { return strings.Compare(a.name(), b.name()) }
	if len(o.Tensors) == 0 {
		return slices.SortedFunc(slices.Values(tensors), byName)
	}
	return slices.SortedFunc(slices.Values(tensors), func(a, b tensor) int {
		if a.family.rank.list != b.family.rank.list {
			return a.family.rank.list - b.family.rank.list
		}
		if c := cmp.Compare(b.last(), a.last()); c != 0 {
			return c
		}
		if c := a.family.rank.within - b.family.rank.within; c != 0 {
			return c
		}
		return byName(a, b)
	})
}
