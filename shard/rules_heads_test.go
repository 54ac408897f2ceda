package shard

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ckpt/model"
)

// Counts of heads that the config gets wrong, or that a default would stand in
// for, are named and never guessed.
func TestHeadsAreNeverGuessed(t *testing.T) {
	list := func(names ...string) (out []source) {
		rows := map[string]uint64{"q_proj": 32, "k_proj": 8, "v_proj": 8, "qkv_proj": 48}
		for _, n := range names {
			out = append(out, source{name: "model.layers.0.self_attn." + n + ".weight", dtype: "BF16", shape: []uint64{rows[n], 32}})
		}
		return out
	}
	apart, fused := list("q_proj", "k_proj", "v_proj"), list("qkv_proj")
	for _, c := range []struct{ config, why string }{
		{`"num_attention_heads": 8, "num_key_value_heads": 2, "hidden_size": 32`, ""},
		{`"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 4, "hidden_size": null`, ""},
		{`"num_attention_heads": 8, "num_key_value_heads": "2", "hidden_size": 32`, `num_key_value_heads of the config must be a positive integer, is "2"`},
		{`"num_attention_heads": 8, "num_key_value_heads": 2.0, "hidden_size": 32`, "num_key_value_heads"},
		{`"num_attention_heads": 8, "num_key_value_heads": -2, "hidden_size": 32`, "num_key_value_heads"},
		{`"num_attention_heads": 8, "num_key_value_heads": 0, "hidden_size": 32`, "num_key_value_heads"},
		{`"num_attention_heads": 8, "num_key_value_heads": 9223372036854775807, "hidden_size": 32`, "num_key_value_heads"},
		{`"num_attention_heads": true, "num_key_value_heads": 2, "hidden_size": 32`, "num_attention_heads"},
		{`"num_attention_heads": [8], "hidden_size": 32`, "num_attention_heads"},
		{`"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 0, "hidden_size": 32`, "head_dim"},
		{`"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 8, "hidden_size": 32`, "of 8"},
		{`"num_attention_heads": 8, "hidden_size": 32`, "heads of"},
		{`"num_attention_heads": 8, "num_key_value_heads": 4, "hidden_size": 32`, "heads of"},
	} {
		for i, l := range [][]source{apart, fused} {
			_, err := planList(t, l, `{"model_type": "phi3", `+c.config+"}", Topology{TP: 2})
			name := fmt.Sprint(c.config, " ", []string{"apart", "fused"}[i])
			switch {
			case c.why == "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case c.why != "" && (!errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.why) && c.why != "heads of"):
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Latent attention shows no key heads: the parts of a head in the config tell
// whether the count of heads is right.
func TestLatentHeadsAreNotCut(t *testing.T) {
	list := func(kind string, pack uint64) (out []source) {
		shapes := map[string][]uint64{"q_b_proj": {16 * 24, 32}, "kv_b_proj": {16 * 32, 32}, "o_proj": {64, 16 * 16 / pack}}
		for _, name := range []string{"o_proj", "q_b_proj", "kv_b_proj"} {
			leaf, shape := "weight", shapes[name]
			if pack > 1 {
				leaf = "weight_packed"
				out = append(out, source{name: "model.layers.0.self_attn." + name + ".weight_scale", dtype: "BF16", shape: []uint64{shape[0], 16}})
			}
			out = append(out, source{name: "model.layers.0.self_attn." + name + "." + leaf, dtype: kind, shape: shape})
		}
		return out
	}
	for _, c := range []struct{ config, why string }{
		{`"num_attention_heads": 16`, ""},
		{`"num_attention_heads": 32`, "rows are not 32 heads of 16 + 8"},
		{`"num_attention_heads": 32`, "columns are not 32 heads of 16"},
		{`"num_attention_heads": 8`, "rows are not 8 heads of 16 + 16"},
		{`"num_attention_heads": 16, "text_config": {"num_attention_heads": 8}`, "text_config.num_attention_heads of the config is 8 and num_attention_heads is 16"},
		{`"num_attention_heads": 16, "text_config": {"num_attention_heads": 16}`, ""},
	} {
		config := "{" + c.config + `, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16}`
		_, err := planList(t, list("BF16", 1), config, Topology{TP: 16})
		if c.why == "" && err != nil || c.why != "" && (!errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %v", c.config, err)
		}
	}
	if _, err := planList(t, list("I32", 8)[:2], `{"num_attention_heads": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16}`, Topology{TP: 2}); err != nil {
		t.Errorf("packed: %v", err)
	}
}

// Refusals of fused projections, and of a profile's, speak of the heads that do
// not divide.
func TestRefusalsNameTheirHeads(t *testing.T) {
	fused := []source{{name: "model.layers.0.self_attn.qkv_proj.weight", dtype: "BF16", shape: []uint64{60 * 4, 32}}}
	_, err := planList(t, fused, `{"model_type": "phi3", "num_attention_heads": 40, "num_key_value_heads": 10, "head_dim": 4}`, Topology{TP: 4})
	if !errors.Is(err, ErrSplit) || !strings.Contains(err.Error(), "4 ranks") && !strings.Contains(err.Error(), "10 key-value heads do not divide by 4") {
		t.Errorf("%v", err)
	}
	c := ofFamily(&model.Family{Pattern: "layers.{i}.k_proj.weight", Parts: 8, Repeat: true}, "", 0, Options{})
	if c.what != "key-value heads" {
		t.Errorf("%+v", c)
	}
}
