package shard

import (
	"errors"
	"fmt"
	"strings"
	"testing"
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
			_, err := planList(t, l, "{"+c.config+"}", Topology{TP: 2})
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
