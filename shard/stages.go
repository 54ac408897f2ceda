package shard

import "fmt"

// layerRange is the layers of a stage: from, and one past the last.
type layerRange struct{ from, end int }

// balance divides layers into n contiguous ranges so that the heaviest is as
// light as can be. Each layer has a weight; first and last are what the first
// and last range hold besides.
func balance(weights []int64, first, last int64, n int) []layerRange {
	low, high := int64(0), first+last
	for _, w := range weights {
		low = max(low, w)
		high += w
	}
	for low < high {
		middle := low + (high-low)/2
		if _, ok := fit(weights, first, last, n, middle); ok {
			high = middle
		} else {
			low = middle + 1
		}
	}
	ranges, _ := fit(weights, first, last, n, high)
	return ranges
}

// fit fills ranges up to most, each with at least one layer, leaving one for
// each range that is to come.
func fit(weights []int64, first, last int64, n int, most int64) ([]layerRange, bool) {
	ranges := make([]layerRange, n)
	at := 0
	for k := range ranges {
		room := most
		if k == 0 {
			room -= first
		}
		if k == n-1 {
			room -= last
		}
		ranges[k].from = at
		for at < len(weights)-(n-1-k) && (at == ranges[k].from || weights[at] <= room) {
			if room -= weights[at]; room < 0 {
				break
			}
			at++
		}
		if at == ranges[k].from && at < len(weights) { // it does not fit; give it one all the same
			at++
		}
		ranges[k].end = at
	}
	if at < len(weights) {
		ranges[n-1].end = len(weights)
		return ranges, false
	}
	return ranges, heaviest(weights, ranges, first, last) <= most
}

func heaviest(weights []int64, ranges []layerRange, first, last int64) int64 {
	most := int64(0)
	for k, r := range ranges {
		sum := int64(0)
		for _, w := range weights[r.from:r.end] {
			sum += w
		}
		if k == 0 {
			sum += first
		}
		if k == len(ranges)-1 {
			sum += last
		}
		most = max(most, sum)
	}
	return most
}

// checkStages refuses more stages than layers; of is which layers, if not all.
func checkStages(t Topology, layers int, of string) error {
	if t.PP <= max(layers, 1) {
		return nil
	}
	return &SplitError{t, "PP", []Refusal{{"", fmt.Sprintf("%d layers%s are fewer than %d stages", layers, of, t.PP)}},
		works(func(d int) bool { return d <= max(layers, 1) })}
}
