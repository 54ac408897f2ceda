package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"ckpt/checkpoint"
)

// Ten times the tensors may cost at most eleven times as much.
const (
	factor  = 10
	allowed = 11
	few     = 250 // experts a layer: 10,730 tensors
)

// manyExperts makes a small Kimi K3 of that many experts a layer, of which only
// config and index are there.
func manyExperts(t testing.TB, experts int) *kit {
	t.Helper()
	skipRaced(t)
	k := mini(t)
	for n := 1; n <= shards; n++ {
		k.remove(shard(n))
	}
	k.config("num_experts", fmt.Sprint(experts))
	k.reindex(func(x *indexDoc) {
		for layer := 1; layer < 8; layer++ {
			for e := 16; e < experts; e++ {
				for w := 1; w <= 3; w++ {
					for _, kind := range []string{"packed", "scale"} {
						name := fmt.Sprintf("language_model.model.layers.%d.block_sparse_moe.experts.%d.w%d.weight_%s", layer, e, w, kind)
						x.pairs = append(x.pairs, pair{name, shard(layer + 1)})
					}
				}
			}
		}
	})
	return k
}

// manyTensors makes one file of so many tensors of a byte.
func manyTensors(t testing.TB, n int) *kit {
	t.Helper()
	skipRaced(t)
	k := &kit{t, t.TempDir()}
	h := &header{pad: 8}
	for i := range n {
		h.entries = append(h.entries, entry{name: fmt.Sprintf("model.layers.%d.experts.%d.weight", i/1000, i%1000),
			dtype: "U8", shape: []int64{1}, begin: int64(i), end: int64(i + 1)})
	}
	k.write("model.safetensors", file(h, make([]byte, n)))
	return k
}

func skipRaced(t testing.TB) {
	t.Helper()
	if raced {
		t.Skip("the race detector allocates too")
	}
}

// cost is what work takes in memory.
type cost struct{ bytes, allocations uint64 }

func costOf(work func()) cost {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return cost{after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs}
}

func (c cost) within(t *testing.T, small cost) {
	t.Helper()
	t.Logf("%d bytes in %d pieces, %d in %d: %.2f and %.2f times", small.bytes, small.allocations, c.bytes, c.allocations,
		float64(c.bytes)/float64(small.bytes), float64(c.allocations)/float64(small.allocations))
	if c.bytes > allowed*small.bytes || c.allocations > allowed*small.allocations {
		t.Errorf("more than %d times as much", allowed)
	}
}

func TestGrowthOfTheIndex(t *testing.T) {
	var costs []cost
	for _, experts := range []int{few, factor * few} {
		k := manyExperts(t, experts)
		costs = append(costs, costOf(func() { k.wants(Options{Level: LevelMetadata}) }))
	}
	costs[1].within(t, costs[0])
}

// Findings do not change that: of a thousand times as many the first are kept.
func TestGrowthOfFindings(t *testing.T) {
	var costs []cost
	for _, experts := range []int{few, factor * few} {
		k := manyExperts(t, experts)
		k.config("num_experts", "16")
		costs = append(costs, costOf(func() {
			k.wants(Options{Level: LevelMetadata}, fmt.Sprintf("MD002 error x%d #2 L1.E16.w1.weight_packed", 42*(experts-16)))
		}))
	}
	costs[1].within(t, costs[0])
}

func TestGrowthOfAHeader(t *testing.T) {
	var costs []cost
	for _, n := range []int{10_000, factor * 10_000} {
		k := manyTensors(t, n)
		costs = append(costs, costOf(func() {
			wantFound(t, k.audit("", Options{}), Fail, "CF001 error config.json", "CF005 warning x2 generation_config.json", "ST013 info model.safetensors")
		}))
	}
	costs[1].within(t, costs[0])
}

// What stays in memory of a checkpoint grows no faster, and a K3's half million
// tensors leave room on any machine.
func TestGrowthOfWhatStays(t *testing.T) {
	var stays []uint64
	for _, experts := range []int{few, factor * few} {
		k := manyExperts(t, experts)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c, err := checkpoint.Survey(t.Context(), k.dir, checkpoint.Options{})
		k.check(err)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if n := len(c.Index.Entries); n != 42*experts+230 {
			t.Errorf("%d entries", n)
		}
		stays = append(stays, after.HeapAlloc-before.HeapAlloc)
	}
	t.Logf("%d and %d bytes", stays[0], stays[1])
	const perTensor = 100
	if stays[1] > allowed*stays[0] || stays[1] > perTensor*42*factor*few {
		t.Errorf("%d bytes stay of %d tensors", stays[1], 42*factor*few)
	}
}

// BenchmarkIndexGrowth prints how many times longer ten times the tensors take.
func BenchmarkIndexGrowth(b *testing.B) {
	small, large := manyExperts(b, few), manyExperts(b, factor*few)
	var each [2]float64
	for b.Loop() {
		for i, k := range []*kit{small, large} {
			start := b.Elapsed()
			if r := k.audit("", Options{Level: LevelMetadata}); r.Verdict != Pass {
				b.Fatal(messages(r))
			}
			each[i] += (b.Elapsed() - start).Seconds()
		}
	}
	b.ReportMetric(each[1]/each[0], "x")
	size := func(k *kit) float64 {
		info, err := os.Stat(filepath.Join(k.dir, indexName))
		k.check(err)
		return float64(info.Size())
	}
	b.ReportMetric(size(large)*float64(b.N)/each[1]/1e6, "MB/s")
}
