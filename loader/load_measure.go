package loader

import (
	"slices"
	"time"

	ckptfs "ckpt/internal/fs"
)

// measure fills in what the pipeline counted.
func (l *load) measure(before cpuTime) {
	p, r := l.pipe, l.result
	now := time.Now()
	last := p.stats.began
	l.ranks(&last)
	if last.IsZero() {
		last = now
	}
	first := p.stats.firstByte
	if first.IsZero() {
		first = last
	}
	r.Seconds.FirstByte = first.Sub(l.start).Seconds()
	r.Seconds.LastByte = last.Sub(l.start).Seconds()
	l.bytes()
	r.Rate = rate(r.Bytes.Payload, last.Sub(p.stats.began).Seconds())
	l.reads(last)
	used := usage()
	r.CPU.User, r.CPU.System = used.user-before.user, used.system-before.system
	if r.Bytes.Payload > 0 {
		r.CPU.PerGB = (r.CPU.User + r.CPU.System) / (float64(r.Bytes.Payload) / 1e9)
	}
	r.Memory.PeakRSS = used.peak
	for _, f := range l.files {
		if f.bytes > 0 {
			s := f.ended.Sub(f.began).Seconds()
			r.Files = append(r.Files, FileResult{Name: f.Name, Bytes: f.bytes, Seconds: s, Rate: rate(f.bytes, s), Direct: f.direct})
		}
	}
}

func rate(bytes int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(bytes) / 1e9 / seconds
}

// ranks sums what the workers did for each rank; last becomes the end of the
// last copy.
func (l *load) ranks(last *time.Time) {
	p, r := l.pipe, l.result
	for i, x := range l.program.locals {
		var n counts
		end := p.stats.began
		for _, w := range p.workers {
			c := w.scatterer.counts[i]
			n.bytes += c.bytes
			n.copies += c.copies
			n.rects += c.rects
			n.assembled += c.assembled
			if w.last[i].After(end) {
				end = w.last[i]
			}
		}
		if end.After(*last) {
			*last = end
		}
		s := end.Sub(p.stats.began).Seconds()
		r.Ranks = append(r.Ranks, RankResult{
			Rank: x.rank, Device: l.o.Devices[x.device].Name(), Bytes: n.bytes, Arena: l.plan.Stages[x.stage].Arena,
			Copies: n.copies, Seconds: s, Rate: rate(n.bytes, s),
		})
		r.Copies.Count += n.copies
		r.Copies.Rows += n.rects
		r.Copies.Assembled += n.assembled
		r.Bytes.Device += n.bytes
	}
	var names []string
	for _, d := range l.o.Devices {
		if !slices.Contains(names, d.Name()) {
			names = append(names, d.Name())
		}
	}
	r.Device = names[0]
	for _, n := range names[1:] {
		r.Device += ", " + n
	}
	r.Copies.Way = string(l.ways[0])
}

func (l *load) bytes() {
	b := &l.result.Bytes
	b.Requested, b.Disk = l.pipe.stats.bytes, -1
	b.Read = b.Requested - min(l.throughCache(), max(0, l.result.Cold.Before))
	b.Payload = l.plan.Totals.Read
	if len(l.program.locals) < len(l.plan.Ranks) {
		if n, err := l.plan.Node(l.o.Ranks); err == nil {
			b.Payload = n.Read
		}
	}
	if b.Payload > 0 {
		b.Amplification = float64(b.Requested) / float64(b.Payload)
	}
}

// throughCache is how much was read through the page cache.
func (l *load) throughCache() (bytes int64) {
	for _, f := range l.files {
		if !f.direct {
			bytes += f.bytes
		}
	}
	return bytes
}

// reads fills in how the files were read.
func (l *load) reads(last time.Time) {
	p, r := l.pipe, l.result
	e := &r.Engine
	e.Block, e.Depth, e.Workers = l.o.Block, p.stats.depth, l.o.Workers
	e.Inflight = int64(e.Depth) * e.Block
	e.Pages, e.Huge = l.staging.Kind(), l.staging.Huge()
	e.PagesWhy = l.staging.Reason()
	e.Tuned = p.tuner != nil && p.tuner.settled
	e.System = ckptfs.TypeOf(l.dir)
	e.Direct = true
	for _, f := range l.files {
		if f.bytes > 0 && !f.direct {
			e.Direct, e.Buffered = false, f.reason
		}
	}
	r.Memory.Pinned = int64(len(l.staging.Area()))
	if l.packs != nil {
		r.Memory.Pinned += int64(len(l.packs.Area()))
	}
	us := func(q float64) float64 { return float64(p.stats.latency.quantile(q)) / 1e3 }
	r.Latency = LatencyResult{P50: us(0.5), P99: us(0.99), Max: float64(p.stats.latency.max) / 1e3}
	r.Reads = ReadsResult{Count: p.stats.requests, Retries: p.stats.retries}
	s := p.stats.stalls
	r.Stalls = StallsResult{Storage: s.storage.Seconds(), Copy: s.copy.Seconds(), Hash: s.hash.Seconds(), Planner: s.planner.Seconds()}
	if !p.stats.lastRead.IsZero() {
		r.Stalls.Drain = max(0, last.Sub(p.stats.lastRead).Seconds())
	}
}
