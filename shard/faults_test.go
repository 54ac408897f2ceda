package shard

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each test is named by the public report that taught it.

// llamaLike is a transformer with grouped heads, as rules by role know it.
func llamaLike(heads, kv, hidden, inner uint64) ([]source, string) {
	m := plain{layers: 2, hidden: hidden, heads: heads, kv: kv, dim: 4, inner: inner, vocab: 64}
	list, _ := m.tensors()
	return list, m.config()
}

func planList(t *testing.T, list []source, config string, top Topology) (*Plan, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	write(t, dir, config, [][]source{list})
	c, m := openAt(t, dir, "auto")
	return New(c, m, top, Options{})
}

// More ranks than key-value heads copy them; the memory that costs is told, and
// how many different parts there are: it does not hide in what ranks pin.
func TestVLLM51124PaddingAndCopiesAreTold(t *testing.T) {
	list, config := llamaLike(16, 2, 64, 128)
	p, err := planList(t, list, config, Topology{TP: 8})
	if err != nil {
		t.Fatal(err)
	}
	prove(t, p)
	f := family(t, p, "self_attn.k_proj.weight")
	if f.Parts != 2 || f.Copies != 4 || f.Action != Split || f.PerRank != f.Total/2 {
		t.Errorf("%d parts, %d copies, %d bytes of %d a rank", f.Parts, f.Copies, f.PerRank, f.Total)
	}
	want := 0
	for _, n := range p.Notes {
		if strings.Contains(n, "k_proj.weight: 2 parts on 8 ranks, each held 4 times: "+fmt.Sprint(3*f.Total)+" bytes more") {
			want++
		}
	}
	if want != 1 {
		t.Errorf("notes: %q", p.Notes)
	}
	once := p.Totals.Read - p.Totals.Dropped
	if p.Totals.Repeated != p.Totals.Device-once || p.Totals.Repeated <= 0 {
		t.Errorf("%+v", p.Totals)
	}
	padding := int64(0)
	for x := range p.Tensors(0) {
		padding += align(x.Bytes) - x.Bytes
	}
	if padding == 0 || p.Totals.Padding != padding || p.Ranks[0].Padding != padding {
		t.Errorf("padding %d, told %d", padding, p.Totals.Padding)
	}
	for _, x := range []int64{p.Ranks[0].Bytes + padding - p.Stages[0].Arena, p.Totals.Device - 8*p.Ranks[0].Bytes} {
		if x != 0 {
			t.Error("padding counts as bytes")
		}
	}
}

// 1536/8 = 192 is not a multiple of 128: the table of each degree shows it
// before a kernel refuses it.
func TestVLLM48173WidthsOfEachDegree(t *testing.T) {
	list, config := llamaLike(16, 16, 64, 1536)
	p, err := planList(t, list, config, Topology{TP: 8})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Axes, func(a Axis) bool { return a.Inner && a.Size == 1536 })
	if i < 0 || !strings.HasSuffix(p.Axes[i].Pattern, "mlp.down_proj.weight") {
		t.Fatalf("%+v", p.Axes)
	}
	for _, w := range p.Axes[i].Widths {
		want := map[int][2]int64{1: {1536, 512}, 2: {768, 256}, 4: {384, 128}, 8: {192, 64}, 16: {96, 32}, 32: {48, 16}, 64: {24, 8}}[w.TP]
		if w.Size != want[0] || w.Align != want[1] {
			t.Errorf("TP%d: pieces of %d, a multiple of %d", w.TP, w.Size, w.Align)
		}
	}
}

// Scales of a W4A16 MoE are split along K as its codes are, at every degree.
func TestVLLM41511ScalesAreSplitWithTheirCodes(t *testing.T) {
	m := plain{layers: 2, hidden: 64, heads: 8, kv: 8, dim: 4, inner: 256, vocab: 64, experts: 4, fp4: true}
	list, rules := m.tensors()
	dir := filepath.Join(t.TempDir(), "moe")
	all := write(t, dir, m.config(), [][]source{list})
	c, model := openAt(t, dir, "auto")
	for _, tp := range []int{1, 2, 4, 8} {
		top := Topology{tp, 1, 1}
		p := planOf(t, c, model, top, Options{})
		for rank, arena := range execute(t, p, dir) {
			for name, got := range on(p, rank, arena) {
				if want := rules[name].local(all[name], top, rank, m.experts); !bytes.Equal(got, want) {
					t.Errorf("TP%d rank %d: %s", tp, rank, name)
				}
			}
		}
		codes, scales := family(t, p, "down_proj.weight_packed"), family(t, p, "down_proj.weight_scale")
		if codes.Parts != tp || scales.Parts != tp || *codes.Axis != 1 || *scales.Axis != 1 {
			t.Errorf("TP%d: codes in %d parts, scales in %d", tp, codes.Parts, scales.Parts)
		}
	}
	// 256 inputs are 8 groups of 32: 16 ranks would cut them.
	_, err := New(c, model, Topology{TP: 16}, Options{})
	refused(t, err, "TP", []int{1, 2, 4, 8}, "8 groups do not divide by 16")
}

// f_a, kv_a, q_a and the norms are replicated; f_b, kv_b and q_b are split.
func TestAutomodel3246WhatIsReplicated(t *testing.T) {
	c, m := openAt(t, mini(t), "auto")
	p := planOf(t, c, m, Topology{TP: 4}, Options{})
	for tail, want := range map[string]Action{
		"f_a_proj.weight": Replicate, "kv_a_proj_with_mqa.weight": Replicate, "q_a_proj.weight": Replicate,
		"o_norm.weight": Replicate, "kv_a_layernorm.weight": Replicate, "q_a_layernorm.weight": Replicate,
		"input_layernorm.weight": Replicate, "A_log": Replicate, "block_sparse_moe.gate.weight": Replicate,
		"f_b_proj.weight": Split, "kv_b_proj.weight": Split, "q_b_proj.weight": Split, "b_proj.weight": Split,
		"dt_bias": Split, "q_conv1d.weight": Split, "g_proj.weight": Split, "o_proj.weight": Split,
	} {
		if f := family(t, p, "."+tail); f.Action != want || (want == Split) != (f.PerRank == f.Total/4) {
			t.Errorf("%s: %s, %d of %d bytes", f.Pattern, f.Action, f.PerRank, f.Total)
		}
	}
}

// A_log's padding is cut off before the split: 24 heads of 32 values are 24
// values over the ranks, never 32.
func TestTorchtitan4791ALogIsNarrowedFirst(t *testing.T) {
	dir := mini(t)
	c, m := openAt(t, dir, "auto")
	all := contents(t, c)
	for _, tp := range []int{1, 2, 4, 8} {
		p := planOf(t, c, m, Topology{TP: tp}, Options{ALog: ALogHeads})
		for rank, arena := range execute(t, p, dir) {
			n := 4 * miniHeads / tp
			for name, got := range on(p, rank, arena) {
				var layer int
				if k, _ := fmt.Sscanf(name, "blk.%d.ssm_a", &layer); k != 1 || !strings.HasSuffix(name, "ssm_a") {
					continue
				}
				source := all[fmt.Sprintf("language_model.model.layers.%d.self_attn.A_log", layer)].data
				if !bytes.Equal(got, source[rank*n:(rank+1)*n]) {
					t.Errorf("TP%d rank %d: %s", tp, rank, name)
				}
			}
		}
	}
	// As stored it stays whole, at every degree that does not divide it too.
	p := planOf(t, c, m, Topology{TP: 8}, Options{})
	if f := family(t, p, "A_log"); f.Action != Replicate || f.PerRank != f.Total {
		t.Errorf("%+v", f)
	}
}

// 494,592 names are not searched in a list each: planning takes work in
// proportion to tensors, and its memory does not hold one thing a tensor.
func TestSGLang38805PlanningIsLinear(t *testing.T) {
	allocations := func(experts uint64) (float64, int) {
		m := plain{layers: 4, hidden: 32, heads: 2, kv: 2, dim: 2, inner: 32, vocab: 8, experts: experts, fp4: true}
		list, _ := m.tensors()
		dir := filepath.Join(t.TempDir(), fmt.Sprint(experts))
		write(t, dir, m.config(), [][]source{list})
		c, model := openAt(t, dir, "none")
		var p *Plan
		n := testing.AllocsPerRun(3, func() {
			var err error
			if p, err = New(c, model, Topology{TP: 1}, Options{}); err != nil {
				t.Fatal(err)
			}
		})
		runs := 0
		for i := range p.Program.Extents {
			runs += len(p.Program.Extents[i].Runs)
		}
		return n, runs
	}
	small, runs := allocations(64)
	large, more := allocations(1024)
	if more != runs {
		t.Errorf("%d runs for 16 times the experts, not %d", more, runs)
	}
	if large > small*1.5+100 {
		t.Errorf("%.0f allocations for 16 times the experts, %.0f before", large, small)
	}
}

// Every tensor lies in one arena, so that what is exported as one allocation
// holds it whole.
func TestModelexpress634TensorsLieInTheirArena(t *testing.T) {
	c, m := openAt(t, mini(t), "auto")
	p := planOf(t, c, m, Topology{TP: 2, EP: 2, PP: 2}, Options{})
	for _, r := range p.Ranks {
		sum, end := int64(0), int64(0)
		for x := range p.Tensors(r.Rank) {
			if x.Offset%Alignment != 0 || x.Offset < end || x.Offset+x.Bytes > p.Stages[r.Stage].Arena {
				t.Errorf("rank %d: %s lies at %d, %d bytes", r.Rank, x.Name, x.Offset, x.Bytes)
			}
			end = x.Offset + x.Bytes
			sum += x.Bytes
		}
		if sum != r.Bytes {
			t.Errorf("rank %d: %d bytes of tensors, told %d", r.Rank, sum, r.Bytes)
		}
	}
}

// Fused tensors are split apart where the parts are known, and refused where
// they are not; they are never cut through the middle of a part.
func TestFusedProjectionsAreNeverGuessed(t *testing.T) {
	list := []source{
		{name: "model.layers.0.self_attn.qkv_proj.weight", dtype: "BF16", shape: []uint64{48, 8}},
		{name: "model.layers.0.mlp.gate_up_proj.weight", dtype: "BF16", shape: []uint64{32, 8}},
	}
	config := `{"model_type": "phi3", "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 4}`
	p, err := planList(t, list, config, Topology{TP: 4})
	if err != nil {
		t.Fatal(err)
	}
	prove(t, p)
	if f := family(t, p, "qkv_proj.weight"); f.PerRank != (2*4+4+4)*8*2 {
		t.Errorf("%d bytes a rank", f.PerRank)
	}
	for name, bad := range map[string]struct {
		list   []source
		config string
		why    string
	}{
		"heads of no whole size": {[]source{{name: "model.layers.0.self_attn.qkv_proj.weight", dtype: "BF16", shape: []uint64{50, 8}}}, config, "not heads of one size"},
		"heads of another size":  {[]source{{name: "model.layers.0.self_attn.qkv_proj.weight", dtype: "BF16", shape: []uint64{24, 8}}}, config, "not heads of 4"},
		"heads unknown":          {list[:1], `{"model_type": "phi3"}`, "heads"},
		"no config":              {list[:1], ``, "nobody says in which order"},
		"an order nobody knows":  {list[:1], strings.Replace(config, "phi3", "hunyuan", 1), `in which order a model_type "hunyuan" stores`},
		"a layout nobody knows":  {[]source{{name: "transformer.h.0.attn.c_attn.weight", dtype: "F32", shape: []uint64{8, 24}}}, config, "c_attn"},
		"packed by columns":      {[]source{{name: "model.layers.0.self_attn.q_proj.qweight", dtype: "I32", shape: []uint64{8, 4}}}, config, "qweight"},
	} {
		_, err := planList(t, bad.list, bad.config, Topology{TP: 2})
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), bad.why) {
			t.Errorf("%s: %v", name, err)
		}
		p, err := planList(t, bad.list, bad.config, Topology{TP: 1})
		if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "no rule knows 1 family") {
			t.Errorf("%s: on one rank: %v", name, err)
			continue
		}
		prove(t, p)
	}
}

// A checkpoint that lacks tensors is not planned as if it had them.
func TestIncompleteModelsAreNotPlanned(t *testing.T) {
	m := plain{layers: 2, hidden: 32, heads: 2, kv: 2, dim: 2, inner: 32, vocab: 8, experts: 4}
	list, _ := m.tensors()
	missing := slices.DeleteFunc(slices.Clone(list), func(s source) bool {
		return s.name == "model.layers.1.mlp.experts.2.gate_proj.weight"
	})
	_, err := planList(t, missing, m.config(), Topology{TP: 2, EP: 2})
	if !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "layer 1 has 3 of 4 experts") {
		t.Errorf("%v", err)
	}
}

// What is asked for may leave no layer, no tensor, or a part of a block.
func TestPartsOfModels(t *testing.T) {
	m := plain{layers: 2, hidden: 32, heads: 2, kv: 2, dim: 2, inner: 32, vocab: 8, experts: 4}
	list, _ := m.tensors()
	list = append(list, source{name: "vision_tower.patch.weight", dtype: "BF16", shape: []uint64{2, 2}})
	dir := filepath.Join(t.TempDir(), "model")
	write(t, dir, m.config(), [][]source{list})
	c, model := openAt(t, dir, "none")
	plan := func(top Topology, part string) (*Plan, error) {
		return New(c, model, top, Options{Keep: func(name []byte) bool { return strings.Contains(string(name), part) }})
	}
	p, err := plan(Topology{TP: 2}, "embed_tokens")
	if err != nil {
		t.Fatal(err)
	}
	prove(t, p)
	for part, reasons := range map[string]int{"nobody": 0, "vision": 1} {
		_, err = plan(Topology{TP: 2, PP: 1000}, part)
		var nothing *NothingError
		if !errors.As(err, &nothing) || !errors.Is(err, ErrNothing) || len(nothing.Reasons) != reasons {
			t.Errorf("%s: %v", part, err)
		}
	}
	if _, err = plan(Topology{TP: 2, EP: 2}, "experts.3."); !errors.Is(err, ErrPart) || errors.Is(err, ErrIncomplete) {
		t.Errorf("%v", err)
	}
	if _, err = plan(Topology{PP: 2}, "layers.0."); !errors.Is(err, ErrSplit) || !strings.Contains(err.Error(), "of what is asked for") {
		t.Errorf("%v", err)
	}
}

// Tensors without elements and tensors without axes are legal.
func TestSafetensors442EmptyAndScalarTensors(t *testing.T) {
	list := []source{
		{name: "model.layers.0.mlp.gate_proj.weight", dtype: "F8_E4M3", shape: []uint64{8, 4}},
		{name: "model.layers.0.mlp.gate_proj.weight_scale", dtype: "F32"},
		{name: "model.layers.0.mlp.up_proj.weight", dtype: "BF16", shape: []uint64{0, 4}},
		{name: "model.layers.1.mlp.experts.0.up_proj.weight", dtype: "BF16", shape: []uint64{4, 0}},
		{name: "model.layers.1.mlp.experts.1.up_proj.weight", dtype: "BF16", shape: []uint64{4, 0}},
		{name: "model.norm.weight", dtype: "F32", shape: []uint64{0}},
	}
	for _, top := range []Topology{{1, 1, 1}, {4, 1, 1}, {2, 2, 2}} {
		p, err := planList(t, list, `{}`, top)
		if err != nil {
			t.Fatal(err)
		}
		prove(t, p)
		again(t, p)
		held := map[string]bool{}
		for _, r := range p.Ranks {
			for x := range p.Tensors(r.Rank) {
				held[x.Name] = true
			}
		}
		if len(held) != len(list) {
			t.Errorf("%v: ranks hold %d of %d tensors", top, len(held), len(list))
		}
	}
	// Alone, far from each other, they are read by extents of nothing.
	far := []source{
		{name: "model.layers.0.mlp.gate_proj.weight", dtype: "BF16", shape: []uint64{0, 4}},
		{name: "model.layers.0.mlp.up_proj.weight", dtype: "BF16", shape: []uint64{4096, 4}},
		{name: "model.norm.weight", dtype: "F32", shape: []uint64{0}},
	}
	dir := dirOf(t)
	write(t, dir, `{}`, [][]source{far})
	c, m := openAt(t, dir, "none")
	empty := func(name []byte) bool { return !strings.Contains(string(name), "up_proj") }
	prove(t, planOf(t, c, m, Topology{1, 1, 1}, Options{Keep: empty}))
}

// The config says untied and no shard has a head is an error; where it says
// nothing the assumption is told. Layers beyond the config's are told too.
func TestQwen3VLEmbedding89WhichHeadIsAssumed(t *testing.T) {
	m := plain{layers: 2, hidden: 32, heads: 2, kv: 2, dim: 2, inner: 32, vocab: 8}
	all, _ := m.tensors()
	list := slices.DeleteFunc(slices.Clone(all), func(s source) bool { return s.name == "lm_head.weight" })
	for _, c := range []struct {
		list         []source
		config, note string
	}{
		{list, ``, "true is assumed, the embedding serves as head"},
		{list, `, "tie_word_embeddings": true`, ""},
		{list, `, "architectures": ["SomeModel"]`, ""},
		{all, ``, ""},
		{all, `, "num_hidden_layers": 1`, "1 layer lies beyond the 1 that the config counts"},
	} {
		p, err := planList(t, c.list, strings.TrimSuffix(m.config(), "}")+c.config+"}", Topology{TP: 2})
		if err != nil || len(p.Notes) != min(1, len(c.note)) || c.note != "" && !strings.Contains(p.Notes[0], c.note) {
			t.Errorf("%s: %v, %+v", c.config, err, p)
		}
	}
}
