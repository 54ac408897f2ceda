package loader

import (
	"testing"
	"time"

	"ckpt/shard"
)

// Times count from the start that the caller gives, in every run, and what it
// measured counts in.
func TestTimesCountFromTheStart(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	host := NewHost()
	o := small(host)
	o.Start, o.Opened, o.Planned = time.Now().Add(-time.Hour), 20*time.Minute, 30*time.Minute
	l, r, err := Bench(t.Context(), p, dir, o, BenchOptions{Runs: 3})
	if err != nil || l != nil || len(r.Runs) != 3 {
		t.Fatal(l, err)
	}
	for _, x := range r.Runs {
		s := x.Seconds
		if s.Open < 1200 || s.Plan < 1800 || s.FirstByte < 3600 || s.LastByte < s.FirstByte || s.Total < s.LastByte || s.Total > 7200 {
			t.Errorf("%+v", s)
		}
		if x.Rate < float64(p.Totals.Read)/1e9/3600 {
			t.Errorf("%g GB/s", x.Rate)
		}
	}
	closeAll(t, nil, host)
}

// What the page cache had is not what storage gave; amplification is that of the
// requests, whatever else the drive reads.
func TestBytesOfStorage(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	null := NewNull()
	o := small(null)
	o.Buffered, o.Inflight = true, LeastBlock
	for range 2 {
		l, r, err := Load(t.Context(), p, dir, o)
		if err != nil {
			t.Fatal(err)
		}
		b := r.Bytes
		want := b.Requested - min(b.Requested, max(0, r.Cold.Before))
		if b.Requested < b.Payload || b.Read != want || b.Amplification != float64(b.Requested)/float64(b.Payload) {
			t.Errorf("%+v, %+v", b, r.Cold)
		}
		if b.Disk < 0 && b.Drive != 0 || b.Disk >= 0 && b.Drive != float64(b.Disk)/float64(b.Payload) {
			t.Errorf("%+v", b)
		}
		if r.Engine.Tuned {
			t.Error("a depth that was given was found")
		}
		closeAll(t, l)
	}
	o.Inflight, o.Pinned = 0, 256*LeastBlock
	l, r, err := Load(t.Context(), p, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Engine.Tuned && l.Result.Seconds.LastByte-l.Result.Seconds.FirstByte < tuneTime.Seconds() {
		t.Errorf("found in %+v", r.Seconds)
	}
	if r.Engine.Pages == "plain" && r.Engine.PagesWhy == "" {
		t.Error("plain pages without a reason")
	}
	closeAll(t, l, null)
}
