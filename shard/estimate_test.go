package shard

import (
	"errors"
	"os"
	"strings"
	"testing"

	"ckpt/checkpoint"
	"ckpt/model"
)

const (
	k3Context = 1_048_576
	mi300x    = 192_000_000_000
	mi350x    = 288_000_000_000
)

// fromConfig is the model of a config, recognised without tensors.
func fromConfig(t testing.TB, data []byte) *Model {
	t.Helper()
	c, err := model.ParseConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	fit := model.Match(model.View{Config: c})
	return &Model{Config: c, Instance: fit.Instance}
}

func k3Model(t testing.TB) *Model {
	t.Helper()
	data, err := os.ReadFile("../model/testdata/k3-config.json")
	if err != nil {
		t.Fatal(err)
	}
	return fromConfig(t, data)
}

func sketch(t testing.TB, m *Model, topology Topology) *Plan {
	t.Helper()
	p, err := Sketch(m, topology, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func memoryOf(t testing.TB, m *Model) *model.Memory {
	t.Helper()
	memory, err := MemoryOf(m)
	if err != nil {
		t.Fatal(err)
	}
	return memory
}

func estimate(t testing.TB, m *Model, topology Topology, d Demand) *Estimate {
	t.Helper()
	e, err := NewEstimate(sketch(t, m, topology), memoryOf(t, m), d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEstimateOfK3(t *testing.T) {
	m := k3Model(t)
	e := estimate(t, m, Topology{TP: 8}, Demand{Memory: mi350x, Storage: 6_900_000_000})
	r := e.PerRank
	if e.Context != k3Context || e.Seqs != 1 || e.KVDType != "bf16" || e.Ranks != 8 || e.Profile != "kimi-k3" {
		t.Errorf("%+v", e)
	}
	if r.Weights != 196_784_397_312 {
		t.Errorf("weights %d", r.Weights)
	}
	// 24 layers × (512 + 64) × 2 bytes × 1,048,576 tokens, on every rank
	if r.MLACache != 28_991_029_248 {
		t.Errorf("MLA cache %d", r.MLACache)
	}
	if got := mi350x - r.Weights - r.MLACache; got != 62_224_573_440 {
		t.Errorf("%d bytes beside weights and latents", got)
	}
	// 69 layers × 96 heads × 128 × 128 × 4 bytes, and 69 × 3 × 12,288 × 3 × 2
	if r.Recurrent*8 != 434_110_464 || r.Conv*8 != 15_261_696 {
		t.Errorf("states %d and %d", r.Recurrent, r.Conv)
	}
	if r.Workspace != 23_040_000_000 || r.KVCache != 0 {
		t.Errorf("%+v", r)
	}
	if r.Total != r.Weights+r.Padding+r.MLACache+r.Recurrent+r.Conv+r.Activations+r.Workspace || *r.Headroom != mi350x-r.Total {
		t.Errorf("%+v", r)
	}
	if !*e.Fits || *e.MaxContext != k3Context || *e.MaxSeqs != 2 {
		t.Errorf("fits %v, %d tokens, %d sequences", *e.Fits, *e.MaxContext, *e.MaxSeqs)
	}
	// 1,559,965,606,912 bytes at 6.9 GB/s
	if *e.LoadTime != 226.082 || e.Host.RAM != (512+8*256)<<20 {
		t.Errorf("%f s, %+v", *e.LoadTime, e.Host)
	}
	// What users see beside the weights, caches included: 24 to 44 GB.
	small := estimate(t, m, Topology{TP: 8}, Demand{Memory: mi350x, Context: 131_072, Seqs: 4}).PerRank
	if beside := small.Total - small.Weights; beside < 24e9 || beside > 44e9 {
		t.Errorf("%d bytes beside the weights", beside)
	}
}

func TestCachesOfK3(t *testing.T) {
	m := k3Model(t)
	for _, c := range []struct {
		tp            int
		context, seqs int64
		kv            string
		mla           int64
	}{
		{8, 4096, 1, "bf16", 113_246_208},
		{1, 4096, 1, "bf16", 113_246_208},
		{8, k3Context, 1, "bf16", 28_991_029_248},
		{32, k3Context, 1, "bf16", 28_991_029_248},
		{8, 4096, 3, "f16", 3 * 113_246_208},
		{8, 4096, 1, "fp8", 113_246_208 / 2},
		{8, 4096, 1, "q8_0", 24 * 576 / 32 * 34 * 4096},
	} {
		kv, ok := ParseCacheType(c.kv)
		if !ok {
			t.Fatal(c.kv)
		}
		r := estimate(t, m, Topology{TP: c.tp}, Demand{Context: c.context, Seqs: c.seqs, CacheType: kv}).PerRank
		if r.MLACache != c.mla || r.Recurrent*int64(c.tp) != c.seqs*434_110_464 || r.Conv*int64(c.tp) != c.seqs*15_261_696 {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// Without a device nothing fits or does not.
func TestEstimateWithoutDevice(t *testing.T) {
	e := estimate(t, k3Model(t), Topology{TP: 8}, Demand{Context: 4096})
	if e.Fits != nil || e.MaxContext != nil || e.MaxSeqs != nil || e.LoadTime != nil || e.Device != nil ||
		e.PerRank.Memory != nil || e.PerRank.Headroom != nil || e.PerRank.Workspace != LeastWorkspace {
		t.Errorf("%+v", e)
	}
}

// vllm recipes 934 advise 8 × 192 GB, which the weights alone exceed, and
// rules of "× 1.2".
func TestReport934OfVLLMRecipes(t *testing.T) {
	m := k3Model(t)
	e := estimate(t, m, Topology{TP: 8}, Demand{Memory: mi300x, Context: 1})
	if *e.Fits || *e.MaxContext != 0 || *e.MaxSeqs != 0 || *e.PerRank.Headroom >= 0 || e.PerRank.Weights < mi300x {
		t.Errorf("%+v", e)
	}
	full := estimate(t, m, Topology{TP: 8}, Demand{Memory: mi350x}).PerRank
	if byRule := full.Weights * 12 / 10; byRule >= full.Total {
		t.Errorf("%d by rule, %d in truth", byRule, full.Total)
	}
}

// waste sized the experts of a K3 at 7168 in place of their latent 3584: 5.45
// trillion parameters. The bytes of a plan are those of the headers.
func TestWasteSizedExpertsByHidden(t *testing.T) {
	p := sketch(t, k3Model(t), Topology{TP: 1})
	var packed, rest int64 // bytes of experts, elements of everything else
	for _, f := range p.Families {
		switch {
		case f.Action == Skip:
		case f.Group == "routed-experts" && strings.HasSuffix(f.Pattern, "weight_packed"):
			packed += f.Total
		case f.Group == "routed-experts":
		case f.DType == "F32":
			rest += f.Total / 4
		default:
			rest += f.Total / 2
		}
	}
	// 92 layers × 896 experts × 3 projections × 3072 × 3584, two in a byte
	if packed*2 != 92*896*3*3072*3584 {
		t.Errorf("%d parameters in experts", packed*2)
	}
	if rest >= 57_191_006_976 { // with both towers
		t.Errorf("%d other parameters", rest)
	}
}

// kaito 2139: a latent was divided by the number of devices, and every rank
// keeps the whole; keys and values are divided.
func TestReport2139OfKaito(t *testing.T) {
	deepseek := &model.Memory{Name: "x", MaxContext: 4096, Layers: 1, Caches: []model.Cache{
		{Name: "latent", Counts: model.MLACache, Layers: []uint32{0}, PerToken: true, Elements: 576},
		{Name: "keys and values", Counts: model.KVCache, Layers: []uint32{0}, PerToken: true, Elements: 256, Heads: 8, Shared: true}}}
	for tp, kv := range map[int]int64{1: 8, 2: 4, 8: 1, 16: 1, 64: 1} {
		p := &Plan{TP: tp, EP: 1, PP: 1, Stages: []Stage{{Ranks: tp, EndLayer: 1}}}
		e, err := NewEstimate(p, deepseek, Demand{})
		if err != nil {
			t.Fatal(err)
		}
		if e.PerRank.MLACache != 576*2*4096 || e.PerRank.KVCache != kv*256*2*4096 {
			t.Errorf("TP%d: %+v", tp, e.PerRank)
		}
	}
	p := &Plan{TP: 12, EP: 1, PP: 1, Stages: []Stage{{Ranks: 12, EndLayer: 1}}}
	_, err := NewEstimate(p, deepseek, Demand{})
	var split *SplitError
	if !errors.As(err, &split) || split.Works[3] != 8 || split.Works[4] != 16 {
		t.Error(err)
	}
}

func TestWindowsBoundCaches(t *testing.T) {
	m := &model.Memory{MaxContext: 1 << 20, Layers: 4, Caches: []model.Cache{
		{Name: "full", Counts: model.KVCache, Layers: []uint32{1, 3}, PerToken: true, Elements: 128, Heads: 2, Shared: true},
		{Name: "window", Counts: model.KVCache, Layers: []uint32{0, 2}, PerToken: true, Window: 128, Elements: 128, Heads: 2, Shared: true}}}
	p := &Plan{TP: 1, EP: 1, PP: 1, Stages: []Stage{{Ranks: 1, EndLayer: 4}}}
	for context, want := range map[int64]int64{1: 4, 128: 4 * 128, 129: 2*129 + 2*128, 4096: 2*4096 + 2*128} {
		e, err := NewEstimate(p, m, Demand{Context: context})
		if err != nil || e.PerRank.KVCache != want*256*2 {
			t.Errorf("%d tokens: %+v, %v", context, e, err)
		}
	}
}

func TestReserveAndMemUtil(t *testing.T) {
	m := k3Model(t)
	base := Demand{Memory: mi350x, Context: 4096}
	for name, c := range map[string]struct {
		change    func(*Demand)
		workspace int64
		usable    int64
	}{
		"default": {func(*Demand) {}, 23_040_000_000, mi350x},
		"size":    {func(d *Demand) { d.Reserve = Reserve{Set: true, Bytes: 5e9} }, 5e9, mi350x},
		"nothing": {func(d *Demand) { d.Reserve = Reserve{Set: true} }, 0, mi350x},
		"percent": {func(d *Demand) { d.Reserve = Reserve{Set: true, Share: Whole / 8} }, mi350x / 8, mi350x},
		"util":    {func(d *Demand) { d.MemUtil = Whole / 10 * 9 }, 23_040_000_000, 259_200_000_000},
		"small":   {func(d *Demand) { d.Memory = 8e9 }, 1 << 30, 8e9},
	} {
		t.Run(name, func(t *testing.T) {
			d := base
			c.change(&d)
			r := estimate(t, m, Topology{TP: 8}, d).PerRank
			if r.Workspace != c.workspace || *r.Headroom != c.usable-r.Total {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestPipelineStages(t *testing.T) {
	m := k3Model(t)
	one := estimate(t, m, Topology{TP: 8}, Demand{Context: 4096}).PerRank
	p := sketch(t, m, Topology{TP: 4, PP: 2})
	e, err := newEstimator(p, memoryOf(t, m), Demand{Context: 4096})
	if err != nil {
		t.Fatal(err)
	}
	var mla, recurrent, most int64
	for s := range p.Stages {
		r, err := e.rank(s, 4096, 1)
		if err != nil {
			t.Fatal(err)
		}
		mla, recurrent, most = mla+r.MLACache, recurrent+r.Recurrent, max(most, r.Total)
	}
	if mla != one.MLACache || recurrent != 2*one.Recurrent {
		t.Errorf("the stages keep %d and %d", mla, recurrent)
	}
	out, err := e.estimate()
	if err != nil || out.PerRank.Total != most || len(out.Notes) != 1 || out.Ranks != 8 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestExpertParallelKeepsCaches(t *testing.T) {
	m := k3Model(t)
	tp := estimate(t, m, Topology{TP: 8}, Demand{Context: 4096}).PerRank
	ep := estimate(t, m, Topology{TP: 8, EP: 8}, Demand{Context: 4096}).PerRank
	if tp.MLACache != ep.MLACache || tp.Recurrent != ep.Recurrent || tp.Weights != ep.Weights {
		t.Errorf("%+v, %+v", tp, ep)
	}
	if e := estimate(t, m, Topology{TP: 4, EP: 8}, Demand{Context: 4096}); len(e.Notes) != 1 || e.PerRank.Recurrent != 2*tp.Recurrent {
		t.Errorf("%+v", e)
	}
}

func TestEstimateRefuses(t *testing.T) {
	m := k3Model(t)
	p, memory := sketch(t, m, Topology{TP: 8}), memoryOf(t, m)
	q4, _ := ParseCacheType("q4_0")
	odd := *memory
	odd.Caches = []model.Cache{{Name: "odd", Layers: []uint32{0}, PerToken: true, Elements: 80 + 1, DType: 0}}
	silent := *memory
	silent.MaxContext = 0
	for name, c := range map[string]struct {
		memory *model.Memory
		d      Demand
		want   string
	}{
		"overflow":      {memory, Demand{Context: 1 << 60}, "63 bits"},
		"many":          {memory, Demand{Seqs: 1 << 60}, "63 bits"},
		"negative":      {memory, Demand{Seqs: -1}, "out of bounds"},
		"share":         {memory, Demand{MemUtil: Whole + 1}, "out of bounds"},
		"reserve":       {memory, Demand{Reserve: Reserve{Set: true, Share: 5}}, "not known"},
		"blocks":        {&odd, Demand{CacheType: q4}, "blocks of 32"},
		"no max":        {&silent, Demand{}, "text_config.max_position_embeddings is missing"},
		"large reserve": {memory, Demand{Reserve: Reserve{Set: true, Bytes: 1<<63 - 1}}, "63 bits"},
	} {
		if e, err := NewEstimate(p, c.memory, c.d); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// Every term has its formula, and the formulas add up.
func TestFormulasAddUp(t *testing.T) {
	e := estimate(t, k3Model(t), Topology{TP: 8}, Demand{Memory: mi350x, Seqs: 2, Context: 4096})
	sums := map[string]int64{}
	for _, l := range e.Formulas {
		sums[l.Term] += l.Bytes
		if l.Text == "" || l.Values == "" || l.Name == "" {
			t.Errorf("%+v", l)
		}
	}
	r := e.PerRank
	for term, want := range map[string]int64{"weights": r.Weights, "padding": r.Padding, "mla_cache": r.MLACache, "recurrent_state": r.Recurrent,
		"conv_state": r.Conv, "activations": r.Activations, "workspace": r.Workspace, "ram": e.Host.RAM} {
		if sums[term] != want {
			t.Errorf("%s: %d, want %d", term, sums[term], want)
		}
	}
	for _, want := range []string{"24 × (512 + 64) × 2 × 4096 × 2", "69 × 12 × 128 × 128 × 4 × 2", "69 × 12 × 3 × 128 × (4 - 1) × 2 × 2"} {
		found := false
		for _, l := range e.Formulas {
			found = found || l.Values == want
		}
		if !found {
			t.Errorf("no formula %s in %+v", want, e.Formulas)
		}
	}
	names := map[string]Input{}
	for _, in := range e.Inputs {
		names[in.Name] = in
		if in.Source == "" {
			t.Errorf("%+v", in)
		}
	}
	if in := names["kv_rank"]; in.Value != int64(512) || in.Source != "text_config.kv_lora_rank" {
		t.Errorf("%+v", in)
	}
	if in := names["kda layers"]; in.Value != int64(69) || in.Source != "text_config.linear_attn_config.kda_layers" {
		t.Errorf("%+v", in)
	}
}

// waste's README: a limit of the control group is the memory there is.
func TestWasteIgnoredControlGroups(t *testing.T) {
	e := estimate(t, k3Model(t), Topology{TP: 8}, Demand{Context: 4096})
	for name, c := range map[string]struct {
		m    HostMemory
		want string
	}{
		"room":      {HostMemory{Total: 1 << 40, Available: 1 << 39}, ""},
		"unknown":   {HostMemory{}, ""},
		"limit":     {HostMemory{Total: 1 << 40, Available: 1 << 39, Limit: 2 << 30, LimitFrom: "/sys/fs/cgroup/memory.max"}, "control group of this process (/sys/fs/cgroup/memory.max) allows 2147483648"},
		"available": {HostMemory{Total: 1 << 40, Available: 1 << 30}, "has free 1073741824"},
		"small":     {HostMemory{Total: 1 << 31, Available: 1 << 30}, "machine has 2147483648"},
	} {
		got := strings.Join(e.Host.Warnings(c.m), "; ")
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestUnsplit(t *testing.T) {
	p := Unsplit("x", 1000)
	e, err := NewEstimate(p, memoryOf(t, k3Model(t)), Demand{Context: 1, Storage: 100})
	if err != nil || e.PerRank.Weights != 1000 || e.PerRank.MLACache != 27_648 || *e.LoadTime != 10 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestConfirm(t *testing.T) {
	m := k3Model(t)
	total := m.Instance.Totals().Bytes
	for name, c := range map[string]struct {
		index    *checkpoint.Index
		named    bool
		note, ok bool
	}{
		"equal":         {&checkpoint.Index{TotalSize: total, HasTotalSize: true}, false, false, true},
		"a little more": {&checkpoint.Index{TotalSize: total + total/200, HasTotalSize: true}, false, true, true},
		"other types":   {&checkpoint.Index{TotalSize: 2 * total, HasTotalSize: true}, true, false, false},
		"nothing":       {&checkpoint.Index{HasTotalSize: true}, false, false, false},
		"huge":          {&checkpoint.Index{TotalSize: 1<<63 - 1, HasTotalSize: true}, false, false, false},
		"no total":      {&checkpoint.Index{}, false, true, true},
		"no index":      {nil, false, false, false},
		"named":         {nil, true, true, true},
	} {
		note, err := Confirm(&checkpoint.Checkpoint{Index: c.index}, m, c.named)
		if (err == nil) != c.ok || (note != "") != c.note || err != nil && !errors.Is(err, ErrUnconfirmed) {
			t.Errorf("%s: %q, %v", name, note, err)
		}
	}
	if note, err := Confirm(&checkpoint.Checkpoint{}, &Model{}, false); note != "" || err != nil {
		t.Error(note, err)
	}
}
