package loader

import "time"

// Tuner finds how many requests in flight a drive needs: it doubles them while
// that makes the reads faster, and goes back to the fewest that were as fast.
type Tuner struct {
	least, most int
	depth       int
	settled     bool

	start time.Time
	bytes int64
	steps []step
}

// step is what one depth brought.
type step struct {
	depth int
	rate  float64 // bytes a second
}

const (
	// tuneTime is how long a depth is watched: some tens of blocks of a fast
	// drive.
	tuneTime = 50 * time.Millisecond
	// tuneGain is by how much more a deeper queue must bring to count; less is
	// noise.
	tuneGain = 1.03
	// tunePatience is how many deeper queues in a row may bring nothing: some
	// drives rise again behind a plateau.
	tunePatience = 2
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
		t.start = now // what was read before is of no known time
		return t.depth
	}
	t.bytes += bytes
	spent := now.Sub(t.start)
	// A queue must have been turned over a few times to show what it brings.
	if spent < tuneTime || t.bytes < 2*int64(t.depth)*bytes {
		return t.depth
	}
	t.steps = append(t.steps, step{t.depth, float64(t.bytes) / spent.Seconds()})
	t.start, t.bytes = now, 0
	t.decide()
	return t.depth
}

func (t *Tuner) decide() {
	best := 0 // the fewest requests that were as fast as any
	for i, s := range t.steps {
		if s.rate > t.steps[best].rate*tuneGain {
			best = i
		}
	}
	last := len(t.steps) - 1
	if last-best < tunePatience && t.depth < t.most {
		t.depth = min(2*t.depth, t.most)
		return
	}
	t.depth, t.settled = t.steps[best].depth, true
}

// Depth is how many requests may be in flight.
func (t *Tuner) Depth() int { return t.depth }

// Settled says whether the depth was found.
func (t *Tuner) Settled() bool { return t.settled || t.least == t.most }
