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
// bytes in turns with each, and reports every result as it comes.
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
	for _, name := range Implementations() {
		e, _ := e.With(name) // every listed implementation exists
		d, _ := d.With(name)
		if name != e.Implementation() && name != d.Implementation() {
			continue
		}
		for _, workers := range []int{1, b.opts.Workers} {
			if workers > 1 && name != Implementations()[0] {
				continue
			}
			var failed error
			err := b.run(ctx, t.String()+" → "+f.String(), name, workers, func() {
				if _, err := e.EncodeParallel(codes, scales, b.src, 1, k, workers); err != nil {
					failed = err
				}
			})
			if err == nil {
				err = failed
			}
			if err != nil {
				return err
			}
			if b.opts.Workers == 1 {
				break
			}
		}
		if err := b.run(ctx, f.String()+" → "+t.String(), name, 1, func() {
			_ = d.Decode(b.dst, codes, scales, 1, k) // the lengths are right
		}); err != nil {
			return err
		}
	}
	return nil
}

// run measures f and a copy in turns.
func (b *bench) run(ctx context.Context, work, name string, workers int, f func()) error {
	r := BenchResult{Work: work, Implementation: name, Workers: workers}
	best, copied := time.Duration(1<<62), time.Duration(1<<62)
	for begin := time.Now(); r.Runs < 3 || time.Since(begin) < b.opts.Time; r.Runs++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		f()
		best = min(best, time.Since(start))
		start = time.Now()
		for at := 0; at < len(b.src); at += 1 << 20 {
			copy(b.dst[at:at+1<<20], b.src[at:at+1<<20])
		}
		copied = min(copied, time.Since(start))
	}
	r.GBps = float64(len(b.src)) / best.Seconds() / 1e9
	r.Copy = float64(len(b.src)) / copied.Seconds() / 1e9
	b.report(r)
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
