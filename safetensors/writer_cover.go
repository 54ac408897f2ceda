package safetensors

import (
	"fmt"
	"slices"
	"sort"
	"sync"
)

// span is a half-open part of the file.
type span struct{ begin, end int64 }

// cover records which bytes have been written. Neighbours are merged, so a
// file written front to back is one span, and one written by tensors in any
// order is never more spans than tensors.
type cover struct {
	mu    sync.Mutex
	spans []span // sorted, disjoint, never touching
}

// claim takes [begin, end) or gives the first byte that is taken already.
func (c *cover) claim(begin, end int64) (taken int64, ok bool) {
	if begin == end {
		return 0, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The first span that ends at or behind begin: the only one that can
	// touch on the left.
	i := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].end >= begin })
	left := i < len(c.spans) && c.spans[i].end == begin
	next := i
	if left {
		next++
	}
	if next < len(c.spans) && c.spans[next].begin < end {
		return max(c.spans[next].begin, begin), false
	}
	right := next < len(c.spans) && c.spans[next].begin == end
	switch {
	case left && right:
		c.spans[i].end = c.spans[next].end
		c.spans = slices.Delete(c.spans, next, next+1)
	case left:
		c.spans[i].end = end
	case right:
		c.spans[next].begin = begin
	default:
		c.spans = slices.Insert(c.spans, i, span{begin, end})
	}
	return 0, true
}

// missing counts the bytes of [begin, end) that nobody claimed and gives the
// first of them.
func (c *cover) missing(begin, end int64) (first, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first, n = end, end-begin
	at := begin
	i := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].end > begin })
	for ; i < len(c.spans) && c.spans[i].begin < end; i++ {
		s := c.spans[i]
		if s.begin > at && first == end {
			first = at
		}
		n -= min(s.end, end) - max(s.begin, begin)
		at = s.end
	}
	if at < end && first == end {
		first = at
	}
	return first, n
}

// UnwrittenError says that a tensor was not written to its end.
type UnwrittenError struct {
	Tensor  string
	First   int64 // offset in the tensor of the first byte that is missing
	Missing int64 // bytes of this tensor that are missing
	Others  int   // further tensors with missing bytes
}

func (e *UnwrittenError) Error() string {
	s := fmt.Sprintf("tensor %q: %d bytes never written, the first at %d", e.Tensor, e.Missing, e.First)
	if e.Others > 0 {
		s += fmt.Sprintf(" (and %d more tensors)", e.Others)
	}
	return s
}
