package loader

import (
	"context"
	"errors"

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
	return nil, nil, errors.ErrUnsupported
}
