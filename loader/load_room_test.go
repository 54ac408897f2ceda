package loader

import (
	"errors"
	"strings"
	"testing"

	"ckpt/shard"
)

// Where the host has little, the staging memory is what is left, and says so; where
// not even that is there, nothing is begun and the error says what is needed.
func TestStagingCountsAgainstMemory(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	arenas := 2 * p.Stages[0].Arena
	for _, c := range []struct {
		name   string
		device Device
		hold   bool
		verify Verify
		free   int64 // beside what assembling, comparing and the heap take
		staged int64 // 0 where it must be refused
	}{
		{"null, enough", NewNull(), false, VerifyNone, 1 << 30, 64 << 20},
		{"null, little", NewNull(), false, VerifyNone, 9*LeastBlock + 7, 9 * LeastBlock},
		{"null, nothing", NewNull(), false, VerifyNone, 3 * LeastBlock, 0},
		{"host, little", NewHost(), false, VerifySource, arenas + 5*LeastBlock, 5 * LeastBlock},
		{"host, arenas alone", NewHost(), false, VerifySource, arenas, 0},
		{"host, no room for canaries", NewHost(), true, VerifySource, arenas + 4*LeastBlock, 0},
		{"host, read back", NewHost(), false, VerifyDevice, arenas + 6*LeastBlock, 6 * LeastBlock},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Devices: []Device{c.device}, Hold: c.hold, Verify: c.verify, Block: LeastBlock, Pinned: 64 << 20}
			l := &load{plan: p, dir: dir, result: &Result{}}
			if err := l.prepare(o); err != nil {
				t.Fatal(err)
			}
			wanted := min(c.staged, l.wantedStaging())
			free := c.free + l.beside(0)
			err := l.shrink(l.hostArenas(), 0, free, 1<<40)
			if c.staged == 0 {
				if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "of staging at least") {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if shrunk := c.staged < l.wantedStaging() || len(l.result.Notes) > 0; shrunk && (l.o.Pinned != wanted || len(l.result.Notes) != 1) {
				t.Errorf("%d bytes of staging, not %d: %q", l.o.Pinned, wanted, l.result.Notes)
			}
		})
	}
}

// A load that does not fit takes no memory and reads nothing; one for which
// smaller blocks will do takes those.
func TestLoadFitsTheHost(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	null := NewNull()
	free := int64(1 << 20)
	o := Options{Devices: []Device{null}, memory: func() (int64, int64, error) { return free, 8 << 30, nil }}
	if l, r, err := Load(t.Context(), p, dir, o); !errors.Is(err, ErrMemory) || l != nil || r != nil {
		t.Fatalf("%v", err)
	}
	probe := &load{plan: p, dir: dir, result: &Result{}}
	if err := probe.prepare(o); err != nil {
		t.Fatal(err)
	}
	free = probe.beside(heapRoom()) + 2<<20 // less than a block of the usual size
	l, r, err := Load(t.Context(), p, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if p.Totals.Read > 4<<20 && (r.Memory.Pinned > 64<<20 || r.Engine.Block > 32<<20) {
		t.Errorf("%+v", r.Memory)
	}
	closeAll(t, l, null)
}
