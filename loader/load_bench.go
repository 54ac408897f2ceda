package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ckpt/shard"
)

// BenchOptions say how often to load and what to compare with.
type BenchOptions struct {
	Runs     int  // 0 is 1
	Ceilings bool // measure the null device and copies alone, in the same run
	// Keep keeps the arenas of the last run.
	Keep bool
}

// Bench loads several times, everything anew each time, and gives the median
// run by total seconds with all runs beside it. The loaded arenas are those of
// the last run, nil without Keep. Errors are those of Load, and end it.
func Bench(ctx context.Context, p *shard.Plan, dir string, o Options, b BenchOptions) (*Loaded, *Result, error) {
	var results []*Result
	before := time.Duration(0) // of every run: what came before the first
	if !o.Start.IsZero() {
		before = time.Since(o.Start)
	}
	var kept *Loaded
	var nulls []*Result
	for i := range max(b.Runs, 1) {
		// By turns, so that a machine that slows down slows down both.
		if b.Ceilings {
			n, err := nullRun(ctx, p, dir, o)
			if err != nil {
				return nil, nil, fmt.Errorf("the null device: %w", err)
			}
			nulls = append(nulls, n)
		}
		o.Start = time.Now().Add(-before)
		l, r, err := Load(ctx, p, dir, o)
		if err != nil {
			return nil, r, err
		}
		results = append(results, r)
		if b.Keep && i == max(b.Runs, 1)-1 {
			kept = l
		} else if err := l.Close(); err != nil {
			return nil, r, err
		}
	}
	r := median(results)
	for _, x := range results {
		r.Runs = append(r.Runs, x.run())
	}
	if b.Ceilings {
		c, err := ceilings(p, o, nulls)
		if err != nil {
			if kept != nil {
				err = errors.Join(err, kept.Close())
			}
			return nil, r, err
		}
		if r.Ceiling = c; c.lowest() > 0 {
			c.Percent = 100 * r.Rate / c.lowest()
		}
	}
	if kept != nil {
		kept.Result = r
	}
	return kept, r, nil
}

// median is the run in the middle by total seconds; of an even number, the
// slower one.
func median(list []*Result) *Result {
	sorted := slices.SortedStableFunc(slices.Values(list), func(a, b *Result) int { return cmp.Compare(a.Seconds.Total, b.Seconds.Total) })
	return sorted[len(sorted)/2]
}

// run is what of a result is kept of each run.
func (r *Result) run() RunResult {
	return RunResult{
		Seconds: r.Seconds, Rate: r.Rate, Read: r.Bytes.Read, Disk: r.Bytes.Disk, CPU: r.CPU.PerGB, Cold: r.Cold,
		Latency: r.Latency, Stalls: r.Stalls, Status: r.Verify.Status,
	}
}

// nullRun makes the same reads and keeps nothing.
func nullRun(ctx context.Context, p *shard.Plan, dir string, o Options) (*Result, error) {
	o.Devices, o.Verify, o.Manifest, o.SHA256, o.Hold, o.Progress = []Device{NewNull()}, VerifyNone, nil, false, false, nil
	l, r, err := Load(ctx, p, dir, o)
	if err != nil {
		return nil, err
	}
	return r, l.Close()
}

// ceilings takes the best run of the null device, and measures copies.
func ceilings(p *shard.Plan, o Options, nulls []*Result) (*CeilingResult, error) {
	best := slices.MaxFunc(nulls, func(a, b *Result) int { return cmp.Compare(a.Rate, b.Rate) })
	c := &CeilingResult{Null: best.Rate, CPU: best.CPU.PerGB, Lowest: "null"}
	placed, err := copyRate(p, o)
	if err != nil {
		return nil, fmt.Errorf("the copies alone: %w", err)
	}
	if c.Device = placed; placed > 0 && placed < c.Null {
		c.Lowest = "device"
	}
	return c, nil
}

func (c *CeilingResult) lowest() float64 {
	if c.Lowest == "device" {
		return c.Device
	}
	return c.Null
}
