package shard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ckpt/checkpoint"
	"ckpt/model"
)

// A config that says other layers or heads than the headers have gives no
// estimate: its caches would be of another model.
func TestEstimateComparesHeaders(t *testing.T) {
	const hidden, heads, kv, dim = 32, 4, 2, 8
	config := func(layers, kv, dim int) string {
		return fmt.Sprintf(`{"model_type":"qwen3","num_hidden_layers":%d,"hidden_size":%d,"vocab_size":64,"num_attention_heads":%d,"num_key_value_heads":%d,"head_dim":%d,"max_position_embeddings":128}`,
			layers, hidden, heads, kv, dim)
	}
	matrix := func(name string, shape ...uint64) source { return source{name: name, dtype: "BF16", shape: shape} }
	tensors := []source{matrix("model.embed_tokens.weight", 64, hidden)}
	for i := range 3 {
		at := fmt.Sprintf("model.layers.%d.", i)
		if i == 2 {
			tensors = append(tensors, matrix(at+"eh_proj.weight", hidden, 2*hidden)) // a draft layer
		}
		tensors = append(tensors, matrix(at+"self_attn.q_proj.weight", heads*dim, hidden), matrix(at+"self_attn.k_proj.weight", kv*dim, hidden),
			matrix(at+"self_attn.v_proj.weight", kv*dim, hidden), matrix(at+"self_attn.o_proj.weight", hidden, heads*dim))
	}
	for name, c := range map[string]struct{ config, field, actual string }{
		"as it is":        {config(2, kv, dim), "", ""},
		"a layer less":    {config(1, kv, dim), "num_hidden_layers", "num_hidden_layers is 1, and the weights have a layer 1"},
		"other heads":     {config(2, 1, dim), "num_key_value_heads, head_dim", "keys and values of layer 0 have 32 rows in the weights, 16 by the config"},
		"heads of others": {config(2, kv, 2*dim), "num_key_value_heads, head_dim", "keys and values of layer 0 have 32 rows in the weights, 64 by the config"},
	} {
		dir := dirOf(t)
		write(t, dir, c.config, [][]source{tensors})
		ckpt, m := openAt(t, dir, "none")
		p, err := New(ckpt, m, Topology{}, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		e, err := NewEstimate(p, memoryOf(t, m), Demand{})
		var differs *model.ConfigError
		switch {
		case c.field == "":
			if err != nil || !strings.Contains(strings.Join(e.Notes, "; "), "1 draft layer beyond the 2 of the config") {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
		case !errors.As(err, &differs) || differs.Problems[0].Field != c.field || !strings.Contains(err.Error(), c.actual):
			t.Errorf("%s: %v", name, err)
		}
		if c.field == "" {
			memory := memoryOf(t, m)
			memory.Layers = 4
			if _, err := NewEstimate(p, memory, Demand{}); !errors.As(err, &differs) || differs.Problems[0].Field != "num_hidden_layers" {
				t.Error(err)
			}
		}
	}
}

// Whatever form the weights have, their rows are held against the config.
func TestEstimateComparesEveryForm(t *testing.T) {
	const hidden, heads, kv, dim, rank, rope = 64, 4, 2, 16, 32, 8
	tensor := func(name, kind string, shape ...uint64) source {
		return source{name: "model.layers.0.self_attn." + name, dtype: kind, shape: shape}
	}
	gqa := `{"model_type":"qwen3","num_hidden_layers":1,"hidden_size":64,"vocab_size":64,"num_attention_heads":4,"num_key_value_heads":%d,"head_dim":16,"max_position_embeddings":128}`
	phi := `{"model_type":"phi3","num_hidden_layers":1,"hidden_size":64,"vocab_size":64,"num_attention_heads":4,"num_key_value_heads":%d,"max_position_embeddings":128,"sliding_window":null}`
	mla := `{"model_type":"deepseek_v3","num_hidden_layers":1,"hidden_size":64,"vocab_size":64,"num_attention_heads":4,"kv_lora_rank":%d,"qk_rope_head_dim":8,"max_position_embeddings":128}`
	for name, c := range map[string]struct {
		config      string
		right, lies int
		tensors     []source
	}{
		"codes of NVFP4": {gqa, kv, 1, []source{tensor("k_proj.weight", "U8", kv*dim, hidden/2), tensor("v_proj.weight", "U8", kv*dim, hidden/2)}},
		"packed codes":   {gqa, kv, 4, []source{tensor("k_proj.weight_packed", "I32", kv*dim, hidden/8), tensor("v_proj.weight_packed", "I32", kv*dim, hidden/8)}},
		"GPTQ": {gqa, kv, 1, []source{tensor("k_proj.qweight", "I32", hidden/8, kv*dim), tensor("k_proj.scales", "F16", 1, kv*dim),
			tensor("v_proj.qweight", "I32", hidden/8, kv*dim), tensor("v_proj.scales", "F16", 1, kv*dim)}},
		"AWQ": {gqa, kv, 1, []source{tensor("k_proj.qweight", "I32", hidden, kv*dim/8), tensor("k_proj.scales", "F16", 1, kv*dim),
			tensor("v_proj.qweight", "I32", hidden, kv*dim/8), tensor("v_proj.scales", "F16", 1, kv*dim)}},
		"MLX": {gqa, kv, 1, []source{tensor("k_proj.weight", "U32", kv*dim, hidden/8), tensor("k_proj.scales", "F16", kv*dim, 1),
			tensor("v_proj.weight", "U32", kv*dim, hidden/8), tensor("v_proj.scales", "F16", kv*dim, 1)}},
		"fused":    {phi, kv, 1, []source{tensor("qkv_proj.weight", "BF16", (heads+2*kv)*dim, hidden), tensor("o_proj.weight", "BF16", hidden, heads*dim)}},
		"a latent": {mla, rank, 16, []source{tensor("kv_a_proj_with_mqa.weight", "F8_E4M3", rank+rope, hidden)}},
	} {
		list := append([]source{{name: "model.layers.0.input_layernorm.weight", dtype: "BF16", shape: []uint64{hidden}}}, c.tensors...)
		for n, ok := range map[int]bool{c.right: true, c.lies: false} {
			dir := dirOf(t)
			write(t, dir, fmt.Sprintf(c.config, n), [][]source{list})
			ckpt, m := openAt(t, dir, "none")
			p, err := New(ckpt, m, Topology{}, Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			_, err = NewEstimate(p, memoryOf(t, m), Demand{})
			if differs := (*model.ConfigError)(nil); ok && err != nil || !ok && !errors.As(err, &differs) {
				t.Errorf("%s, the config says %d: %v", name, n, err)
			}
		}
	}
}

// Without headers the names of the index say how many layers there are.
func TestConfirmLayers(t *testing.T) {
	c := &checkpoint.Checkpoint{}
	if note, err := ConfirmLayers(c, &model.Memory{Layers: 3}); note != "" || err != nil {
		t.Errorf("no index: %q, %v", note, err)
	}
	dir := dirOf(t)
	list := []source{{name: "model.norm.weight", dtype: "BF16", shape: []uint64{8}}, {name: "model.layers.2.eh_proj.weight", dtype: "BF16", shape: []uint64{8, 16}}}
	for i := range 3 {
		list = append(list, source{name: fmt.Sprintf("model.layers.%d.input_layernorm.weight", i), dtype: "BF16", shape: []uint64{8}})
	}
	write(t, dir, `{}`, nil)
	var entries []string
	for _, x := range list {
		entries = append(entries, fmt.Sprintf(`"%s":"model-00001-of-00001.safetensors"`, x.name))
	}
	index := `{"metadata":{},"weight_map":{` + strings.Join(entries, ",") + `}}`
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(index), 0o666); err != nil {
		t.Fatal(err)
	}
	surveyed, err := checkpoint.Survey(t.Context(), dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for layers, want := range map[int64]string{1: "num_hidden_layers is 1, and the names of the index have 2 layers", 2: "", 3: "have 2 layers, the config 3", 40: "have 2 layers, the config 40"} {
		m := &model.Memory{Layers: layers, Inputs: []model.Input{{Name: "layers", Source: "num_hidden_layers", Value: layers}}}
		note, err := ConfirmLayers(surveyed, m)
		if got := fmt.Sprint(note, err); (layers == 1) != (err != nil) || !strings.Contains(got, want) || layers == 2 && note != "" {
			t.Errorf("%d layers: %q, %v", layers, note, err)
		}
	}
}
