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
		for _, top := range []shard.Topology{{TP: 1}, {TP: 2}, {TP: 4}, {TP: 8}, {TP: 4, EP: 2}, {TP: 1, EP: 4}, {TP: 2, PP: 2}} {
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
