package shard

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ckpt/dtype"
	"ckpt/model"
)

func TestSolveForK3(t *testing.T) {
	m := k3Model(t)
	p, memory := sketch(t, m, Topology{TP: 8}), memoryOf(t, m)
	e, err := SolveFor(SolveContext, p, memory, Demand{Memory: mi350x, Seqs: 4})
	if err != nil || !*e.Fits || e.Solved != SolveContext || e.Context >= k3Context || e.Context != *e.MaxContext {
		t.Fatalf("%+v, %v", e, err)
	}
	if next, err := NewEstimate(p, memory, Demand{Memory: mi350x, Seqs: 4, Context: e.Context + 1}); err != nil || *next.Fits {
		t.Errorf("one token more: %+v, %v", next, err)
	}
	e, err = SolveFor(SolveSeqs, p, memory, Demand{Memory: mi350x})
	if err != nil || e.Seqs != 2 || !*e.Fits {
		t.Errorf("%+v, %v", e, err)
	}
	e, err = SolveFor(SolveSeqs, p, memory, Demand{Memory: mi300x})
	if err != nil || *e.Fits || e.Seqs != 1 || *e.MaxSeqs != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := SolveFor(SolveSeqs, p, memory, Demand{}); err == nil {
		t.Error("something is found without a device")
	}
}

func TestSolveForTPOfK3(t *testing.T) {
	m := k3Model(t)
	plans := 0
	plan := func(tp int) (*Plan, error) { plans++; return Sketch(m, Topology{TP: tp}, Options{}) }
	for memory, want := range map[int64]int{mi350x: 8, mi300x: 16, 80e9: 32, 1 << 41: 1, 141e9: 16} {
		plans = 0
		e, err := SolveForTP(plan, memoryOf(t, m), Demand{Memory: memory, Context: 65536})
		if err != nil || e.TP != want || e.Solved != SolveTP {
			t.Errorf("%d bytes: %+v, %v", memory, e, err)
			continue
		}
		if *e.Fits != (memory != 24e9) || plans > 5 {
			t.Errorf("%d bytes: fits %v, %d plans", memory, *e.Fits, plans)
		}
	}
	e, err := SolveForTP(plan, memoryOf(t, m), Demand{Memory: 24e9, Context: 4096})
	if err != nil || *e.Fits || e.TP != 32 {
		t.Errorf("%+v, %v", e, err)
	}
	broken := errors.New("broken")
	if _, err := SolveForTP(func(int) (*Plan, error) { return nil, broken }, memoryOf(t, m), Demand{Memory: 1}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// Where nothing grows that is said, and so is a memory beyond all searching.
func TestUnbounded(t *testing.T) {
	p := &Plan{TP: 1, EP: 1, PP: 1, Stages: []Stage{{Ranks: 1, EndLayer: 1}}}
	m := &model.Memory{MaxContext: 8, Layers: 1}
	d := Demand{Context: 1, Memory: 1 << 62}
	if _, err := SolveFor(SolveSeqs, p, m, d); err == nil || !strings.Contains(err.Error(), "no cache grows") {
		t.Errorf("%v", err)
	}
	m.Caches = []model.Cache{{Counts: model.KVCache, Elements: 32, PerToken: true, Layers: []uint32{0}}}
	if _, err := SolveFor(SolveSeqs, p, m, d); err == nil || !strings.Contains(err.Error(), "too large to say") {
		t.Errorf("%v", err)
	}
}

// anyDemand draws a model, a plan of it and what is asked of them.
func anyDemand(t *rapid.T) (*Plan, *model.Memory, Demand) {
	layers := rapid.IntRange(1, 40).Draw(t, "layers")
	m := &model.Memory{Name: "any", MaxContext: rapid.Int64Range(1, 1<<21).Draw(t, "max"), Layers: int64(layers)}
	terms := []model.Term{model.KVCache, model.MLACache, model.RecurrentState, model.ConvState}
	for i := range rapid.IntRange(1, 4).Draw(t, "caches") {
		c := model.Cache{Name: fmt.Sprint("cache ", i), Counts: rapid.SampledFrom(terms).Draw(t, "term"),
			Elements: rapid.Int64Range(1, 4096).Draw(t, "elements") * 32, PerToken: rapid.Bool().Draw(t, "per token")}
		if c.PerToken && rapid.Bool().Draw(t, "windowed") {
			c.Window = rapid.Int64Range(1, 8192).Draw(t, "window")
		}
		if !c.PerToken {
			c.DType = dtype.F32
		}
		if rapid.Bool().Draw(t, "has heads") {
			c.Heads, c.Shared = 1<<rapid.IntRange(0, 6).Draw(t, "heads"), true
		}
		for n := range layers {
			if rapid.Bool().Draw(t, "in") {
				c.Layers = append(c.Layers, uint32(n))
			}
		}
		m.Caches = append(m.Caches, c)
	}
	m.Activations = []model.Activation{{Name: "hidden", PerStep: true, Elements: rapid.Int64Range(1, 1<<20).Draw(t, "hidden"), DType: dtype.BF16},
		{Name: "logits", Elements: rapid.Int64Range(1, 1<<18).Draw(t, "vocab"), DType: dtype.F32}}
	tp := 1 << rapid.IntRange(0, 6).Draw(t, "tp")
	p := &Plan{TP: tp, EP: 1, PP: 1}
	for s := range rapid.IntRange(1, min(3, layers)).Draw(t, "pp") {
		from := s
		p.Stages = append(p.Stages, Stage{Stage: s, Ranks: tp, FirstLayer: from, EndLayer: from + 1, Bytes: rapid.Int64Range(0, 1<<36).Draw(t, "weights")})
		p.Stages[s].Arena = p.Stages[s].Bytes + rapid.Int64Range(0, 1<<16).Draw(t, "padding")
		p.PP = s + 1
	}
	p.Stages[p.PP-1].EndLayer = layers
	kv, _ := ParseCacheType(rapid.SampledFrom(CacheTypes()).Draw(t, "kv"))
	return p, m, Demand{Context: rapid.Int64Range(1, 1<<21).Draw(t, "context"), Seqs: rapid.Int64Range(1, 1<<12).Draw(t, "seqs"), CacheType: kv,
		Memory: rapid.Int64Range(1, 1<<39).Draw(t, "memory"), MemUtil: Share(rapid.Int64Range(1, int64(Whole)).Draw(t, "util"))}
}

func must(t *rapid.T, p *Plan, m *model.Memory, d Demand) *Estimate {
	e, err := NewEstimate(p, m, d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestMoreNeverTakesLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, m, d := anyDemand(t)
		small := must(t, p, m, d)
		more := d
		more.Context += rapid.Int64Range(0, 1<<20).Draw(t, "more context")
		more.Seqs += rapid.Int64Range(0, 1<<10).Draw(t, "more seqs")
		large := must(t, p, m, more)
		if large.PerRank.Total < small.PerRank.Total || *large.PerRank.Headroom > *small.PerRank.Headroom || *large.Fits && !*small.Fits {
			t.Fatalf("%+v, and with more %+v", small.PerRank, large.PerRank)
		}
		r := small.PerRank
		if r.Total != r.Weights+r.Padding+r.KVCache+r.MLACache+r.Recurrent+r.Conv+r.Activations+r.Workspace {
			t.Fatalf("%+v", r)
		}
	})
}

func TestSolvingIsTheInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, m, d := anyDemand(t)
		e := must(t, p, m, d)
		try := func(context, seqs int64) bool {
			one := d
			one.Context, one.Seqs = context, seqs
			return *must(t, p, m, one).Fits
		}
		most := *e.MaxContext
		if most > 0 && !try(most, d.Seqs) || most < m.MaxContext && try(most+1, d.Seqs) || most > m.MaxContext {
			t.Fatalf("the most tokens are not %d", most)
		}
		if n := *e.MaxSeqs; n > 0 && !try(d.Context, n) || try(d.Context, n+1) || *e.Fits != (d.Seqs <= n) {
			t.Fatalf("the most sequences are not %d", n)
		}
		for what, most := range map[string]int64{SolveContext: most, SolveSeqs: *e.MaxSeqs} {
			s, err := SolveFor(what, p, m, d)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{SolveContext: s.Context, SolveSeqs: s.Seqs}[what]
			if got != max(1, most) || *s.Fits != (most > 0) {
				t.Fatalf("%s is %d, fits %v; want %d", what, got, *s.Fits, most)
			}
		}
	})
}

// FuzzConfigEstimate: a config of any bytes gives an estimate that adds up, or
// an error.
func FuzzConfigEstimate(f *testing.F) {
	for _, name := range []string{"k3", "kimi-linear", "llama"} {
		data, err := os.ReadFile("../model/testdata/" + name + "-config.json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, int64(4096), int64(1), int64(8))
	}
	f.Add([]byte(`{"model_type":"deepseek_v3","num_hidden_layers":61,"hidden_size":7168,"vocab_size":129280,"kv_lora_rank":512,"qk_rope_head_dim":64,"max_position_embeddings":163840}`), int64(0), int64(3), int64(16))
	f.Fuzz(func(t *testing.T, data []byte, context, seqs, tp int64) {
		c, err := model.ParseConfig(data)
		if err != nil {
			return
		}
		m, err := model.ReadMemory(c)
		if err != nil {
			return
		}
		p := &Plan{TP: int(min(max(tp, 1), 128)), EP: 1, PP: 1, Stages: []Stage{{EndLayer: int(m.Layers)}}}
		e, err := NewEstimate(p, m, Demand{Context: context, Seqs: seqs, Memory: mi350x})
		if err != nil {
			return
		}
		r := e.PerRank
		for _, n := range []int64{r.KVCache, r.MLACache, r.Recurrent, r.Conv, r.Activations, r.Workspace} {
			if n < 0 || n > r.Total {
				t.Fatalf("%+v", r)
			}
		}
		if r.KVCache+r.MLACache+r.Recurrent+r.Conv == 0 {
			t.Fatalf("nothing is kept: %+v", m)
		}
		if e.Context > 0 && *e.Fits && e.MaxContext != nil && e.Context <= m.MaxContext && *e.MaxContext < e.Context {
			t.Fatalf("%d tokens fit and %d are the most", e.Context, *e.MaxContext)
		}
	})
}
