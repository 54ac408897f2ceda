package loader

import (
	"slices"
	"time"
)

// Tuner finds how many requests in flight a drive needs: it doubles them while
// that makes the reads faster. Then it watches those again, by turns, that were
// not much slower than the best, and takes the fewest that are as fast: what else
// runs on the machine slows some steps down, and memory that stays in the
// processor's cache is worth more than a deep queue.
type Tuner struct {
	least, most int
	depth       int
	settled     bool

	start time.Time
	bytes int64
	warm  int64 // bytes that are still of the depth before
	steps []step
	again []int // steps to be watched again
}

// step is what one depth brought.
type step struct {
	depth int
	rates []float64 // bytes a second, each time it was watched
}

// best is how fast it was at best.
func (s *step) best() float64 { return slices.Max(s.rates) }

// beats says whether the step was clearly faster than one with fewer requests: at
// their best, and in the middle of all times.
func (s *step) beats(x *step) bool {
	return s.best() > x.best()*tuneGain && middle(s.rates) > middle(x.rates)*tuneGain
}

func middle(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

const (
	// tuneTime is how long a depth is watched: some tens of blocks of a fast
	// drive.
	tuneTime = 50 * time.Millisecond
	// tuneGain is by how much more a deeper queue must bring to count; less is
	// noise.
	tuneGain = 1.05
	// tunePatience is how many deeper queues in a row may bring nothing: some
	// drives rise again behind a plateau.
	tunePatience = 2
	// tuneRounds is how often steps are watched again that reached at least a
	// share tuneClose of the best rate.
	tuneRounds = 3
	tuneClose  = 0.6
)

// NewTuner begins with least and never exceeds most.
func NewTuner(least, most int) *Tuner {
	least = max(1, min(least, most))
	return &Tuner{least: least, most: max(least, most), depth: least}
}

// Add hears of bytes that were read and says how many requests may be in flight
// from now on. The first call starts the clock.
func (t *Tuner) Add(bytes int64, now time.Time) (depth int) {
	if t.settled || t.least == t.most {
		return t.depth
	}
	if t.start.IsZero() {
		if t.warm -= bytes; t.warm <= 0 {
			t.start = now // what was read before is of no known time
		}
		return t.depth
	}
	t.bytes += bytes
	spent := now.Sub(t.start)
	// A queue must have been turned over a few times to show what it brings.
	if spent < tuneTime || t.bytes < 2*int64(t.depth)*bytes {
		return t.depth
	}
	t.watched(float64(t.bytes) / spent.Seconds())
	t.start, t.bytes, t.warm = time.Time{}, 0, int64(t.depth)*bytes
	return t.depth
}

// watched takes what the present depth brought and chooses the next.
func (t *Tuner) watched(rate float64) {
	if len(t.again) > 0 {
		s := &t.steps[t.again[0]]
		s.rates = append(s.rates, rate)
		t.again = t.again[1:]
	} else {
		t.steps = append(t.steps, step{t.depth, []float64{rate}})
		best, last := t.best(), len(t.steps)-1
		if last-best < tunePatience && t.depth < t.most {
			t.depth = min(2*t.depth, t.most)
			return
		}
		t.doubt(t.steps[best].best())
	}
	if len(t.again) > 0 {
		t.depth = t.steps[t.again[0]].depth
		return
	}
	t.depth, t.settled = t.steps[t.best()].depth, true
}

// best is the step with the fewest requests that were as fast as any.
func (t *Tuner) best() int {
	best := 0
	for i := range t.steps {
		if t.steps[i].beats(&t.steps[best]) {
			best = i
		}
	}
	return best
}

// doubt lists the steps that may be the best, or none where one is by far.
func (t *Tuner) doubt(rate float64) {
	var list []int
	for i := range t.steps {
		if t.steps[i].best() >= rate*tuneClose {
			list = append(list, i)
		}
	}
	if len(list) < 2 {
		return
	}
	for range tuneRounds {
		t.again = append(t.again, list...)
	}
}

// Depth is how many requests may be in flight.
func (t *Tuner) Depth() int { return t.depth }

// Settled says whether the depth was found.
func (t *Tuner) Settled() bool { return t.settled || t.least == t.most }
