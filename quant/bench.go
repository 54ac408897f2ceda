package quant

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"ckpt/dtype"
)

// BenchOptions says how long and with how much to measure.
type BenchOptions struct {
	Bytes   int           // of the numbers, 64 MiB if 0; less than the caches hold says little
	Time    time.Duration // a measurement, at least; 300 ms if 0
	Workers int           // goroutines of the parallel lines, GOMAXPROCS if 0
}

// BenchResult is the speed of one kernel.
type BenchResult struct {
	Work           string // "BF16 → MXFP4"
	Implementation string
	Workers        int
	GBps           float64 // of the numbers, 10^9 bytes a second: the best run
	Copy           float64 // of a copy of as many bytes, in turns with it: the best
	Runs           int
	Scaling        float64 // of several workers: in units of one, in turns with it on all of the memory; 0 of one
}

// Ratio is the speed in units of a copy of the same bytes.
func (r BenchResult) Ratio() float64 { return r.GBps / r.Copy }

// A bench holds what every measurement works on.
type bench struct {
	opts     BenchOptions
	src, dst []byte
	report   func(BenchResult)
}

// Benchmark measures the kernels of every implementation, a copy of the same
// bytes in turns with each, and reports every result as it comes. A run takes a
// part of the memory, and the next run, whatever it measures, the next part: it is
// over before a scheduler looks, and finds nothing of its part in the caches.
func Benchmark(ctx context.Context, opts BenchOptions, report func(BenchResult)) error {
	if opts.Bytes == 0 {
		opts.Bytes = 64 << 20
	}
	if opts.Time == 0 {
		opts.Time = 300 * time.Millisecond
	}
	if opts.Workers == 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	opts.Bytes = max(opts.Bytes>>20, 1) << 20
	b := &bench{opts: opts, src: make([]byte, opts.Bytes), dst: make([]byte, opts.Bytes), report: report}
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
		for _, t := range []dtype.Type{dtype.BF16, dtype.F32} {
			if err := b.format(ctx, f, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// A contender is one line of the result: what it does with the numbers between
// two places in the memory, in bytes.
type contender struct {
	BenchResult
	run  func(at, end int) error
	best time.Duration
}

// format measures one format both ways.
func (b *bench) format(ctx context.Context, f Format, t dtype.Type) error {
	e, err := NewEncoder(DefaultScheme(f), f, t, EncodeOptions{})
	if err != nil {
		return err
	}
	d, err := NewDecoder(f, t, DecodeOptions{})
	if err != nil {
		return err
	}
	likeWeights(b.src, t)
	k := len(b.src) / e.size
	codes, scales := make([]byte, f.CodeBytes(k)), make([]byte, f.ScaleBytes(k))
	if _, err := e.Encode(codes, scales, b.src, 1, k); err != nil {
		return err
	}
	part := func(at, end int) (c, s []byte, n int) { // of the numbers in these bytes
		at, end = at/e.size, end/e.size
		return codes[f.CodeBytes(at):f.CodeBytes(end)], scales[f.ScaleBytes(at):f.ScaleBytes(end)], end - at
	}
	for i, name := range Implementations() {
		e, _ := e.With(name) // every listed implementation exists
		d, _ := d.With(name)
		encode := func(workers int) *contender {
			return &contender{BenchResult{Work: t.String() + " → " + f.String(), Implementation: name, Workers: workers}, func(at, end int) error {
				c, s, n := part(at, end)
				_, err := e.EncodeParallel(c, s, b.src[at:end], 1, n, workers)
				return err
			}, 0}
		}
		var all []*contender
		if name == e.Implementation() {
			all = append(all, encode(1))
		}
		if name == d.Implementation() {
			all = append(all, &contender{BenchResult{Work: f.String() + " → " + t.String(), Implementation: name, Workers: 1}, func(at, end int) error {
				c, s, n := part(at, end)
				return d.Decode(b.dst[at:end], c, s, 1, n)
			}, 0})
		}
		if i == 0 { // measures always take the fastest
			all = append(all, &contender{BenchResult{Work: "errors of " + t.String() + " in " + f.String(), Implementation: name, Workers: 1}, func(at, end int) error {
				c, s, n := part(at, end)
				_, err := MeasureBlocks(f, DecodeOptions{}, t, b.src[at:end], c, s, 1, n, 1)
				return err
			}, 0})
		}
		if err := b.measure(ctx, b.window(name), all); err != nil {
			return err
		}
		if i == 0 && b.opts.Workers > 1 && name == e.Implementation() {
			// Waking workers takes as long as 2 MiB of work: all of the memory at once.
			one, more := encode(1), encode(b.opts.Workers)
			if err := b.run(ctx, len(b.src), []*contender{one, more}); err != nil {
				return err
			}
			more.Scaling = one.best.Seconds() / more.best.Seconds()
			b.report(more.BenchResult)
		}
	}
	return nil
}

// window is how much of the memory a run takes.
func (b *bench) window(name string) int {
	if name == Reference {
		return min(1<<20, len(b.src))
	}
	return min(8<<20, len(b.src))
}

// measure runs a copy and each of all in turns and reports them.
func (b *bench) measure(ctx context.Context, window int, all []*contender) error {
	if err := b.run(ctx, window, all); err != nil {
		return err
	}
	for _, c := range all {
		b.report(c.BenchResult)
	}
	return nil
}

// run runs a copy and each of all in turns.
func (b *bench) run(ctx context.Context, window int, all []*contender) error {
	at := 0
	timed := func(best *time.Duration, run func(at, end int) error) error {
		if at+window > len(b.src) {
			at = 0
		}
		start := time.Now()
		err := run(at, at+window)
		if took := time.Since(start); *best == 0 || took < *best {
			*best = took
		}
		at += window
		return err
	}
	var copied time.Duration
	runs := 0
	for begin := time.Now(); runs < 3 || time.Since(begin) < b.opts.Time*time.Duration(len(all)); runs++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		_ = timed(&copied, b.copy) // it returns nil
		for _, c := range all {
			if err := timed(&c.best, c.run); err != nil {
				return err
			}
		}
	}
	for _, c := range all {
		c.GBps = float64(window) / c.best.Seconds() / 1e9
		c.Copy = float64(window) / copied.Seconds() / 1e9
		c.Runs = runs
	}
	return nil
}

func (b *bench) copy(at, end int) error {
	for ; at < end; at += 1 << 20 {
		copy(b.dst[at:at+1<<20], b.src[at:at+1<<20])
	}
	return nil
}

// likeWeights fills dst with numbers like those of weights, the same on every
// machine: a MiB of them, again and again.
func likeWeights(dst []byte, t dtype.Type) {
	rng := rand.New(rand.NewPCG(6, 6))
	part := dst[:1<<20]
	size, _ := sourceBytes(t) // the caller's encoder exists
	v := make([]float64, 1)
	for at := 0; at < len(part); at += size {
		v[0] = rng.NormFloat64() * 0.02
		store(part[at:at+size], t, v)
	}
	for at := len(part); at < len(dst); at += len(part) {
		copy(dst[at:], part)
	}
}
