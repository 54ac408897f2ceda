package ui

import (
	"iter"
	"slices"
	"strings"
)

// maxTypos is the largest edit distance at which a name still counts as meant.
const maxTypos = 12

// Nearest gives up to n of the names that differ least from want, the nearest
// first and equals in the order they came. A name that differs in more than a
// third of its length, or in more than 12 characters, is not near.
func Nearest(want string, names iter.Seq[string], n int) []string {
	type hit struct {
		name string
		cost int
	}
	var hits []hit
	limit := min(maxTypos, max(2, len(want)/3))
	for name := range names {
		cost := distance(want, name, limit)
		if cost > limit {
			continue
		}
		i, _ := slices.BinarySearchFunc(hits, cost+1, func(h hit, c int) int { return h.cost - c })
		hits = slices.Insert(hits, i, hit{strings.Clone(name), cost})
		if len(hits) > n {
			hits = hits[:n]
		}
		if len(hits) == n {
			limit = min(limit, hits[n-1].cost-1)
		}
		if limit < 0 {
			break
		}
	}
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.name
	}
	return out
}

// distance is the number of bytes to insert, delete or replace to make b of a,
// or limit+1 where it is more than limit. It visits only the cells that lie
// within limit of the diagonal.
func distance(a, b string, limit int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	over := limit + 1
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = min(j, over)
	}
	for i := 1; i <= len(a); i++ {
		lo, hi := max(1, i-limit), min(len(b), i+limit)
		diagonal := row[lo-1]
		if lo == 1 {
			row[0] = min(i, over)
		} else {
			row[lo-1] = over
		}
		best := row[lo-1]
		for j := lo; j <= hi; j++ {
			above := row[j]
			if j == i+limit {
				above = over
			}
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, above+1, row[j-1]+1, over)
			best = min(best, row[j])
		}
		if best > limit {
			return over
		}
	}
	return row[len(b)]
}
