package cpu

import (
	"slices"
	"testing"
)

func TestDisable(t *testing.T) {
	for _, tc := range []struct {
		list          string
		avx2, avx512  bool // whether they may stay
		wantedInItems []string
	}{
		{"", true, true, nil},
		{"avx512", true, false, []string{"avx512"}},
		{"avx2", false, false, []string{"avx2"}},
		{"AVX2, avx512", false, false, []string{"avx2", "avx512"}},
		{"sse9", true, true, []string{"sse9"}},
	} {
		items := parse(tc.list)
		if !slices.Equal(items, tc.wantedInItems) {
			t.Errorf("parse(%q) = %q", tc.list, items)
		}
		if got := has(AVX2, items); got != (tc.avx2 && present(AVX2)) {
			t.Errorf("%q: avx2 %v", tc.list, got)
		}
		if got := has(AVX512, items); got != (tc.avx512 && present(AVX512)) {
			t.Errorf("%q: avx512 %v", tc.list, got)
		}
	}
}

func TestNames(t *testing.T) {
	if AVX2.String() != "avx2" || AVX512.String() != "avx512" {
		t.Error(AVX2, AVX512)
	}
	if len(Unknown()) > 0 {
		t.Errorf("%s names %q, which nobody knows", Variable, Unknown())
	}
}
