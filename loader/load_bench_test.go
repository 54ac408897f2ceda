package loader

import (
	"testing"

	"ckpt/shard"
)

// Several runs give one result with all of them, and what they are measured
// against.
func TestBenchKeepsAllRuns(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	host := NewHost()
	l, r, err := Bench(t.Context(), p, dir, Options{Devices: []Device{host}, Cold: true, Pinned: 64 << 20}, BenchOptions{Runs: 3, Ceilings: true, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != 3 || r.Ceiling == nil || r.Ceiling.Null <= 0 || r.Ceiling.Device <= 0 || r.Verify.Status != StatusRecorded {
		t.Errorf("%+v", r)
	}
	sameArenas(t, l, slowly(t, p, dir))
	closeAll(t, l, host)
}
