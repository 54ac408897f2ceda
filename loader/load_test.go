package loader

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"ckpt/shard"
)

// Every rank of a small model holds what its plan says, whatever the degrees,
// the layout and the size of blocks.
func TestLoadHoldsThePlan(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, layout := range []shard.Layout{shard.LayoutCheckpoint, shard.LayoutEngine} {
		tops := []shard.Topology{{TP: 4, EP: 2}, {TP: 2, PP: 2}, {TP: 1}, {TP: 2}, {TP: 4}, {TP: 8}, {TP: 1, EP: 4}}
		if testing.Short() { // under the race detector each takes ten seconds
			tops = tops[:2]
		}
		for _, top := range tops {
			t.Run(fmt.Sprintf("%s %v", layout, top), func(t *testing.T) {
				dir, p := mini(t, top, shard.Options{Layout: layout})
				want := slowly(t, p, dir)
				for _, block := range []int64{LeastBlock, 1 << 20} {
					host := NewHost()
					l, r, err := Load(t.Context(), p, dir, Options{Devices: []Device{host}, Block: block, Pinned: 16 * block, Workers: 3})
					if err != nil {
						t.Fatal(err)
					}
					if r.Bytes.Device != p.Totals.Device || r.Bytes.Payload != p.Totals.Read {
						t.Errorf("%+v, the plan says %d and %d", r.Bytes, p.Totals.Device, p.Totals.Read)
					}
					sameArenas(t, l, want)
					closeAll(t, l, host)
				}
			})
		}
	}
}

// counted is how far a load says that it is.
type counted struct{ total, done, stopped int64 }

func (c *counted) Start(_ string, total int64, _ string) { c.total = total }
func (c *counted) Add(n int64)                           { c.done += n }
func (c *counted) Stop()                                 { c.stopped++ }

// Progress ends at its total, and the times of a result are in their order.
func TestProgressReachesItsTotal(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	c, host := &counted{}, NewHost()
	o := small(host)
	o.Progress = c
	l, r, err := Load(t.Context(), p, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if c.total < p.Totals.Read || c.done != c.total || c.stopped != 1 {
		t.Errorf("%+v of %d bytes", c, p.Totals.Read)
	}
	s := r.Seconds
	if s.FirstByte <= 0 || s.LastByte < s.FirstByte || s.Total < s.LastByte || r.Rate <= 0 || r.Latency.P50 > r.Latency.P99 || r.Latency.P99 > r.Latency.Max {
		t.Errorf("%+v %+v", s, r.Latency)
	}
	closeAll(t, l, host)
}
