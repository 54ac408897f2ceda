package loader

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// tuned runs a tuner on a drive that gives rate(depth) bytes a second.
func tuned(least, most int, rate func(depth int) float64) *Tuner {
	t := NewTuner(least, most)
	now := time.Unix(0, 0)
	for range 100_000 {
		depth := t.Add(DefaultBlock, now)
		if t.Settled() {
			break
		}
		now = now.Add(time.Duration(DefaultBlock / rate(depth) * float64(time.Second)))
	}
	return t
}

func TestTuner(t *testing.T) {
	for name, tc := range map[string]struct {
		least, most, want int
		rate              func(depth int) float64
	}{
		"local drive, full at 16":       {4, 64, 16, func(d int) float64 { return 2e8 * float64(min(d, 16)) }},
		"full at once":                  {4, 64, 4, func(int) float64 { return 3e9 }},
		"network, never full":           {4, 128, 128, func(d int) float64 { return 1e7 * float64(d) }},
		"slower when deep":              {4, 64, 8, func(d int) float64 { return 1e9 * min(float64(d)/8, 8/float64(d)) }},
		"a plateau, then a second rise": {4, 64, 64, func(d int) float64 { return map[bool]float64{true: 1e9 * float64(d), false: 4e9}[d > 8] }},
		"nothing to choose":             {8, 8, 8, func(int) float64 { return 1e9 }},
		"bounds that cross":             {9, 3, 3, func(int) float64 { return 1e9 }},
	} {
		if got := tuned(tc.least, tc.most, tc.rate); got.Depth() != tc.want || !got.Settled() {
			t.Errorf("%s: %d, settled %v, want %d", name, got.Depth(), got.Settled(), tc.want)
		}
	}
}

// What slows the first steps down must not make deeper ones look better: holes are
// read fastest into the memory that lies in the processor's cache.
func TestTunerDoubts(t *testing.T) {
	reads := 0
	got := tuned(4, 96, func(depth int) float64 {
		reads++
		rate := 25e9
		if depth > 4 {
			rate = 18e9
		}
		if reads < 500 || reads%7 == 0 {
			rate /= 3
		}
		return rate
	})
	if got.Depth() != 4 || !got.Settled() {
		t.Errorf("%d, settled %v, want 4", got.Depth(), got.Settled())
	}
}

// Whatever the drive does, the depth stays within its bounds and is found.
func TestTunerEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 512).Draw(t, "most")
		least := rapid.IntRange(1, most).Draw(t, "least")
		rates, reads := rapid.SliceOfN(rapid.Float64Range(1e6, 1e11), 1, 20).Draw(t, "rates"), 0
		got := tuned(least, most, func(int) float64 {
			reads++
			return rates[reads/100%len(rates)]
		})
		if d := got.Depth(); d < least || d > most || !got.Settled() {
			t.Fatalf("%d of %d to %d, settled %v", d, least, most, got.Settled())
		}
	})
}
