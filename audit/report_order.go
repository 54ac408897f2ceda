package audit

import (
	"cmp"
	"strings"
)

// compareFindings orders the entries of a report: weight, code, those that count
// before the ignored, place.
func compareFindings(a, b *Finding) int {
	return cmp.Or(
		cmp.Compare(b.Severity, a.Severity),
		strings.Compare(a.ID, b.ID),
		cmp.Compare(entryOf(a), entryOf(b)),
		compareExamples(&a.Examples[0], &b.Examples[0]),
		strings.Compare(a.Group, b.Group),
	)
}

func entryOf(f *Finding) int {
	if f.Ignored == nil {
		return 0
	}
	return f.Ignored.Entry
}

// compareExamples orders instances by place and, at one place, by what they say,
// so that the order never depends on which goroutine came first.
func compareExamples(a, b *Example) int {
	if c := compareNatural(a.File, b.File); c != 0 {
		return c
	}
	if c := compareNatural(a.Tensor, b.Tensor); c != 0 {
		return c
	}
	return cmp.Or(
		compareOffsets(a.Offset, b.Offset),
		strings.Compare(a.Message, b.Message),
		strings.Compare(a.Expected, b.Expected),
		strings.Compare(a.Actual, b.Actual),
		strings.Compare(a.Fix, b.Fix),
	)
}

// compareOffsets puts what has no offset first.
func compareOffsets(a, b *int64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}

// compareNatural orders texts with the numbers in them as numbers: layers.2
// before layers.10. Different texts are never equal.
func compareNatural(a, b string) int {
	if a == b {
		return 0
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if !isDigit(a[i]) || !isDigit(b[j]) {
			if a[i] != b[j] {
				return cmp.Compare(a[i], b[j])
			}
			i, j = i+1, j+1
			continue
		}
		m, n := digits(a[i:]), digits(b[j:])
		if c := compareNumbers(a[i:i+m], b[j:j+n]); c != 0 {
			return c
		}
		i, j = i+m, j+n
	}
	return cmp.Or(cmp.Compare(len(a)-i, len(b)-j), strings.Compare(a, b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
