package shard

import (
	"errors"
	"fmt"
	"strings"
	"testing"

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
		"other heads":     {config(2, 1, dim), "num_key_value_heads, head_dim", "16 and 16 rows in the weights, 16 by the config"},
		"heads of others": {config(2, kv, 2*dim), "num_key_value_heads, head_dim", "16 and 16 rows in the weights, 64 by the config"},
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
