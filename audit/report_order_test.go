package audit

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCompareNatural(t *testing.T) {
	sorted := []string{
		"", "0", "1", "01", "2", "9", "10", "99999999999999999999999", "100000000000000000000000",
		"a", "a0", "a1b", "a1b1", "a1b2", "a2", "a10", "a10.x", "a10.y",
		"model-00002-of-000096", "model-00010-of-000096", "model-2-of-97", "model-10-of-97",
	}
	slices.SortFunc(sorted, compareNatural)
	text := strings.Join(sorted, " ")
	for _, want := range []string{"a2 a10", "a1b1 a1b2", " 2 9 10 ", "99999999999999999999999 100000000000000000000000"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if i, j := slices.Index(sorted, "model-00010-of-000096"), slices.Index(sorted, "model-2-of-97"); i < j {
		t.Errorf("10 before 2: %q", sorted)
	}
}

func TestCompareNaturalIsATotalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a.]{0,2}[01]{0,3}[b.]{0,1}[0129]{0,3}`)
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if (compareNatural(a, b) == 0) != (a == b) {
			t.Fatalf("%q and %q are equal", a, b)
		}
		if cmp.Compare(compareNatural(a, b), 0) != -cmp.Compare(compareNatural(b, a), 0) {
			t.Fatalf("%q and %q: not antisymmetric", a, b)
		}
		if compareNatural(a, b) <= 0 && compareNatural(b, c) <= 0 && compareNatural(a, c) > 0 {
			t.Fatalf("%q, %q, %q: not transitive", a, b, c)
		}
	})
}
