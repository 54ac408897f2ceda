package shard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ckpt/model"
)

func TestRulesParse(t *testing.T) {
	r, err := loadRules()
	if err != nil || r.Schema != "ckpt.rules/v1" {
		t.Fatal(err)
	}
	for _, list := range [][]moduleRule{r.Global, r.Layer} {
		seen := map[string]bool{}
		for _, rule := range list {
			for _, m := range rule.Modules {
				if seen[m] {
					t.Errorf("%s has two rules", m)
				}
				seen[m] = true
			}
			for _, name := range slices.Concat([]string{rule.Parts}, rule.Dims, rule.Head) {
				if _, ok := r.Numbers[name]; !ok && name != "" {
					t.Errorf("%v: nothing says what %s is", rule.Modules, name)
				}
			}
			if rule.Role == "" || rule.Group == "" {
				t.Errorf("%v has no role or group", rule.Modules)
			}
		}
	}
}

// Names as their authors write them, and what tensor parallelism does to them.
func TestRulesByName(t *testing.T) {
	config, err := model.ParseConfig([]byte(`{"text_config": {"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 4}}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRuler(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		shape []uint64
		want  string // axis and parts, "whole", "skip" or "unknown"
	}{
		{"model.embed_tokens.weight", []uint64{64, 32}, "0/0"},
		{"lm_head.weight", []uint64{64, 32}, "0/0"},
		{"lm_head.bias", []uint64{64}, "0/0"},
		{"model.norm.weight", []uint64{32}, "whole"},
		{"model.layers.0.self_attn.q_proj.weight", []uint64{32, 32}, "0/8"},
		{"model.layers.0.self_attn.q_proj.bias", []uint64{32}, "0/8"},
		{"model.layers.0.self_attn.k_proj.weight", []uint64{8, 32}, "0/2 repeat"},
		{"model.layers.0.self_attn.o_proj.weight", []uint64{32, 32}, "1/8"},
		{"model.layers.0.self_attn.o_proj.bias", []uint64{32}, "whole"},
		{"model.layers.0.self_attn.q_norm.weight", []uint64{4}, "whole"},
		{"model.layers.0.self_attn.q_norm.weight", []uint64{32}, "unknown"}, // over all heads: another model's
		{"model.layers.0.mlp.gate_proj.weight", []uint64{64, 32}, "0/0"},
		{"model.layers.0.mlp.down_proj.weight", []uint64{32, 64}, "1/0"},
		{"model.layers.0.mlp.down_proj.weight_scale_inv", []uint64{1, 2}, "1/0"},
		{"model.layers.0.mlp.down_proj.weight_scale", []uint64{32, 1}, "whole"}, // one a row, and rows stay
		{"model.layers.0.mlp.gate_proj.weight_scale", []uint64{64, 1}, "0/0"},
		{"model.layers.0.mlp.gate_proj.weight_scale", nil, "whole"}, // one for all
		{"model.layers.0.mlp.gate_proj.input_scale", []uint64{1}, "whole"},
		{"model.layers.0.mlp.gate_proj.input_scale", []uint64{2}, "unknown"},
		{"model.layers.0.mlp.gate.weight", []uint64{8, 32}, "whole"},
		{"model.layers.0.mlp.gate.e_score_correction_bias", []uint64{8}, "whole"},
		{"model.layers.0.mlp.shared_expert_gate.weight", []uint64{1, 32}, "whole"},
		{"model.layers.0.mlp.shared_experts.down_proj.weight", []uint64{32, 64}, "1/0"},
		{"model.layers.0.mlp.experts.17.down_proj.weight", []uint64{32, 64}, "1/0 expert"},
		{"model.layers.0.block_sparse_moe.experts.3.w1.weight", []uint64{64, 32}, "0/0 expert"},
		{"model.layers.0.self_attn.kv_a_proj_with_mqa.weight", []uint64{10, 32}, "whole"},
		{"model.layers.0.self_attn.kv_b_proj.weight", []uint64{64, 8}, "0/8"},
		{"model.layers.0.self_attn.q_a_proj.weight", []uint64{16, 32}, "whole"},
		{"model.layers.0.self_attn.q_b_proj.weight", []uint64{48, 16}, "0/8"},
		{"model.layers.61.eh_proj.weight", []uint64{32, 64}, "whole"},
		{"model.layers.61.shared_head.head.weight", []uint64{64, 32}, "0/0"},
		{"language_model.model.layers.2.self_attn.v_proj.weight", []uint64{8, 32}, "0/2 repeat"},
		{"model.language_model.layers.2.self_attn.v_proj.weight", []uint64{8, 32}, "0/2 repeat"},
		{"layers.5.attention.wq.weight", []uint64{32, 32}, "0/8"},
		{"layers.5.feed_forward.w2.weight", []uint64{32, 64}, "1/0"},
		{"tok_embeddings.weight", []uint64{64, 32}, "0/0"},
		{"model.layers.0.self_attn.rotary_emb.inv_freq", []uint64{2}, "skip"},
		{"vision_tower.layers.0.self_attn.q_proj.weight", []uint64{32, 32}, "skip"},
		{"model.visual.blocks.3.attn.qkv.weight", []uint64{96, 32}, "skip"},
		{"encoder.layers.0.self_attn.q_proj.weight", []uint64{32, 32}, "unknown"}, // not the language model's
		{"mtp.layers.0.self_attn.q_proj.weight", []uint64{32, 32}, "unknown"},
		{"model.layers.0.self_attn.q_proj.lora_A.weight", []uint64{8, 32}, "unknown"},
		{"model.layers.0.mlp.experts.gate_up_proj", []uint64{8, 32, 128}, "unknown"},
		{"model.layers.0.self_attn.q_proj.weight", []uint64{4, 32, 8}, "unknown"},
		{"weight", []uint64{4}, "unknown"},
	} {
		if got := ruling(r, c.name, c.shape); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.name, c.shape, got, c.want)
		}
	}
}

func ruling(r *ruler, name string, shape []uint64) string {
	text, n, _ := splitName(name)
	c, reason := r.class(r.place(text, n), shape)
	switch {
	case c == nil || reason != "":
		return "unknown"
	case c.skip != "":
		return "skip"
	case c.axis == whole:
		return "whole"
	}
	out := fmt.Sprintf("%d/%d", c.axis, c.parts)
	if c.repeat {
		out += " repeat"
	}
	if c.expert != whole {
		out += " expert"
	}
	return out
}

// Families of published models, from small configs and their own names.
func TestPublishedFamiliesPlan(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		layer  []source
		global []source
		tp     []int
	}{
		"Llama, grouped heads": {`{"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 128}`, []source{
			{name: "self_attn.q_proj.weight", dtype: "BF16", shape: []uint64{128, 128}}, {name: "self_attn.k_proj.weight", dtype: "BF16", shape: []uint64{32, 128}},
			{name: "self_attn.o_proj.weight", dtype: "BF16", shape: []uint64{128, 128}}, {name: "mlp.up_proj.weight", dtype: "BF16", shape: []uint64{256, 128}},
			{name: "input_layernorm.weight", dtype: "BF16", shape: []uint64{128}}}, nil, []int{1, 2, 4, 8, 16, 32}},
		"DeepSeek, blocks of FP8": {`{"num_attention_heads": 128, "num_key_value_heads": 128}`, []source{
			{name: "self_attn.q_a_proj.weight", dtype: "F8_E4M3", shape: []uint64{256, 512}}, {name: "self_attn.q_a_proj.weight_scale_inv", dtype: "F32", shape: []uint64{2, 4}},
			{name: "self_attn.q_b_proj.weight", dtype: "F8_E4M3", shape: []uint64{128 * 24, 256}}, {name: "self_attn.q_b_proj.weight_scale_inv", dtype: "F32", shape: []uint64{24, 2}},
			{name: "self_attn.kv_a_proj_with_mqa.weight", dtype: "F8_E4M3", shape: []uint64{192, 512}}, {name: "self_attn.kv_a_proj_with_mqa.weight_scale_inv", dtype: "F32", shape: []uint64{2, 4}},
			{name: "self_attn.o_proj.weight", dtype: "F8_E4M3", shape: []uint64{512, 2048}}, {name: "self_attn.o_proj.weight_scale_inv", dtype: "F32", shape: []uint64{4, 16}},
			{name: "mlp.gate.weight", dtype: "BF16", shape: []uint64{1, 512}}, {name: "mlp.gate.e_score_correction_bias", dtype: "F32", shape: []uint64{1}},
			{name: "mlp.experts.0.down_proj.weight", dtype: "F8_E4M3", shape: []uint64{512, 1024}}, {name: "mlp.experts.0.down_proj.weight_scale_inv", dtype: "F32", shape: []uint64{4, 8}}},
			[]source{{name: "lm_head.weight", dtype: "BF16", shape: []uint64{1024, 16}}}, []int{1, 2, 4, 8}},
		"Qwen MoE": {`{"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 16}`, []source{
			{name: "self_attn.q_norm.weight", dtype: "BF16", shape: []uint64{16}}, {name: "self_attn.v_proj.weight", dtype: "BF16", shape: []uint64{64, 32}},
			{name: "mlp.experts.0.gate_proj.weight", dtype: "BF16", shape: []uint64{24, 32}}, {name: "mlp.experts.1.gate_proj.weight", dtype: "BF16", shape: []uint64{24, 32}},
			{name: "mlp.shared_expert_gate.weight", dtype: "BF16", shape: []uint64{1, 32}}}, nil, []int{1, 2, 4, 8}},
		"Phi, fused": {`{"model_type": "phi3", "num_attention_heads": 8, "num_key_value_heads": 8, "hidden_size": 32}`, []source{
			{name: "self_attn.qkv_proj.weight", dtype: "BF16", shape: []uint64{96, 32}}, {name: "mlp.gate_up_proj.weight", dtype: "BF16", shape: []uint64{96, 32}},
			{name: "mlp.down_proj.weight", dtype: "BF16", shape: []uint64{32, 48}}}, nil, []int{1, 2, 4, 8}},
	} {
		var list []source
		for layer := range 2 {
			for _, s := range c.layer {
				s.name = fmt.Sprintf("model.layers.%d.%s", layer, s.name)
				list = append(list, s)
			}
		}
		list = append(list, c.global...)
		dir := filepath.Join(t.TempDir(), strings.Fields(name)[0])
		write(t, dir, c.config, [][]source{list})
		cp, m := openAt(t, dir, "none")
		if m.Name() != RulesName {
			t.Fatalf("%s: %s", name, m.Name())
		}
		var works []int
		for _, tp := range []int{1, 2, 4, 8, 16, 32, 64} {
			p, err := New(cp, m, Topology{TP: tp}, Options{})
			if err != nil {
				continue
			}
			works = append(works, tp)
			prove(t, p)
		}
		if !slices.Equal(works, c.tp) {
			t.Errorf("%s: works with %v, want %v", name, works, c.tp)
		}
	}
}

// Ranges of layers are contiguous, none is empty, and no other division has a
// lighter heaviest range.
func TestBalance(t *testing.T) {
	if got := balance(nil, 0, 0, 1); !slices.Equal(got, []layerRange{{}}) {
		t.Errorf("no layers: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 9).Draw(t, "weights")
		n := rapid.IntRange(1, len(weights)).Draw(t, "n")
		first, last := rapid.Int64Range(0, 30).Draw(t, "first"), rapid.Int64Range(0, 30).Draw(t, "last")
		got := balance(weights, first, last, n)
		at := 0
		for _, r := range got {
			if r.from != at || r.end <= r.from {
				t.Fatalf("%v", got)
			}
			at = r.end
		}
		if at != len(weights) || len(got) != n {
			t.Fatalf("%v of %d layers", got, len(weights))
		}
		best := int64(1 << 60)
		var try func(at, left int, ranges []layerRange)
		try = func(at, left int, ranges []layerRange) {
			if left == 1 {
				best = min(best, heaviest(weights, append(slices.Clone(ranges), layerRange{at, len(weights)}), first, last))
				return
			}
			for end := at + 1; end <= len(weights)-left+1; end++ {
				try(end, left-1, append(slices.Clone(ranges), layerRange{at, end}))
			}
		}
		try(0, n, nil)
		if h := heaviest(weights, got, first, last); h != best {
			t.Fatalf("%v over %d with %d and %d: %v is as heavy as %d, %d is possible", weights, n, first, last, got, h, best)
		}
	})
}

// A tied embedding serves the first stage and the last.
func TestTiedEmbeddingsAreInBothStages(t *testing.T) {
	m := plain{layers: 3, hidden: 32, heads: 2, kv: 2, dim: 2, inner: 32, vocab: 8}
	list, _ := m.tensors()
	list = slices.DeleteFunc(list, func(s source) bool { return s.name == "lm_head.weight" })
	p, err := planList(t, list, m.config(), Topology{TP: 2, PP: 3})
	if err != nil {
		t.Fatal(err)
	}
	prove(t, p)
	f := family(t, p, "embed_tokens.weight")
	if f.Stages[0] != f.Total/2 || f.Stages[1] != 0 || f.Stages[2] != f.Total/2 {
		t.Errorf("%v of %d bytes", f.Stages, f.Total)
	}
}

// Ends of extents that share a page are read together, so that no byte of the
// disk is read twice.
func TestExtentsThatShareAPageAreJoined(t *testing.T) {
	list := []source{
		{name: "model.layers.0.mlp.up_proj.weight", dtype: "BF16", shape: []uint64{64, 64}},
		{name: "vision_tower.small.weight", dtype: "BF16", shape: []uint64{16}},
		{name: "model.layers.0.mlp.down_proj.weight", dtype: "BF16", shape: []uint64{64, 64}},
		{name: "vision_tower.large.weight", dtype: "BF16", shape: []uint64{64, 128}},
		{name: "model.norm.weight", dtype: "BF16", shape: []uint64{64}},
	}
	p, err := planList(t, list, `{}`, Topology{TP: 1})
	if err != nil {
		t.Fatal(err)
	}
	prove(t, p)
	if len(p.Program.Extents) != 2 || p.Totals.Gaps != 32 || p.Totals.Skipped != 32+64*128*2 {
		t.Errorf("%d extents, %+v", len(p.Program.Extents), p.Totals)
	}
	end := int64(0)
	for _, e := range p.Program.Extents {
		if e.Offset/page < end && end > 0 {
			t.Errorf("a page is read twice at %d", e.Offset)
		}
		end = (e.Offset + e.Bytes + page - 1) / page
	}
}

// A profile that somebody writes splits as its own says.
func TestProfileFromAFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "own.json")
	text := `{"schema": "ckpt.profile/v1", "name": "own", "title": "Own", "sections": [],
 "match": {"config": [{"paths": ["root:model_type"], "equals": "own"}], "names": ["blocks.{i}.mix"]},
 "fields": [{"name": "layers", "paths": ["root:n"], "min": 1, "max": 9}], "sets": [{"name": "all", "from": "0", "to": "layers"}],
 "families": [{"pattern": "blocks.{i}.mix", "tower": "language", "group": "mix", "role": "mix", "dtypes": ["F32"], "shapes": [[12, 8]], "layers": "all", "axis": 1, "parts": ["4"]}]}`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	list := []source{{name: "blocks.0.mix", dtype: "F32", shape: []uint64{12, 8}}, {name: "blocks.1.mix", dtype: "F32", shape: []uint64{12, 8}}}
	write(t, filepath.Join(dir, "m"), `{"model_type": "own", "n": 2}`, [][]source{list})
	c, m := openAt(t, filepath.Join(dir, "m"), file)
	p := planOf(t, c, m, Topology{TP: 4}, Options{})
	if f := p.Families[0]; f.Parts != 4 || *f.Axis != 1 || p.Profile != "own" {
		t.Errorf("%+v", f)
	}
	_, err := New(c, m, Topology{TP: 8}, Options{})
	refused(t, err, "TP", []int{1, 2, 4}, "4 heads do not divide by 8")
	if _, err := Recognise(c, filepath.Join(dir, "nowhere.json")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v", err)
	}
}
