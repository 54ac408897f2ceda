package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func llama(t *testing.T, edits ...string) *Instance {
	return instantiate(t, profile(t, "llama"), View{Config: edited(t, "llama-config.json", edits...)})
}

func TestLlamaShapes(t *testing.T) {
	in := llama(t)
	for name, want := range map[string][]uint64{
		"model.embed_tokens.weight":                      {1000, 64},
		"lm_head.weight":                                 {1000, 64},
		"model.norm.weight":                              {64},
		"model.layers.0.self_attn.q_proj.weight":         {64, 64},
		"model.layers.1.self_attn.k_proj.weight":         {16, 64},
		"model.layers.2.self_attn.v_proj.weight":         {16, 64},
		"model.layers.2.self_attn.o_proj.weight":         {64, 64},
		"model.layers.2.mlp.down_proj.weight":            {64, 160},
		"model.layers.2.mlp.gate_proj.weight":            {160, 64},
		"model.layers.2.input_layernorm.weight":          {64},
		"model.layers.2.post_attention_layernorm.weight": {64},
	} {
		f, _, ok := find(in, name)
		if !ok || !f.AcceptsShape(want) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// 9 a layer, embedding, norm, head.
	if got := in.Totals().Tensors; got != 3*9+3 {
		t.Errorf("%d tensors", got)
	}
	for _, name := range []string{"model.layers.3.mlp.up_proj.weight", "model.layers.0.self_attn.q_proj.bias",
		"model.layers.0.mlp.gate_proj.bias", "model.layers.0.self_attn.q_norm.weight"} {
		if _, _, ok := find(in, name); ok {
			t.Errorf("%s is known", name)
		}
	}
	for _, name := range []string{"model.layers.1.self_attn.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"} {
		if f, _, ok := find(in, name); !ok || !f.Tolerated || !f.AcceptsShape([]uint64{4}) {
			t.Errorf("%s is not tolerated", name)
		}
	}
}

func TestLlamaOptions(t *testing.T) {
	for name, c := range map[string]struct {
		edits   []string
		tensors int64
		q       []uint64
	}{
		"head_dim":       {[]string{"head_dim=32"}, 30, []uint64{256, 64}},
		"null head_dim":  {[]string{"head_dim=null"}, 30, []uint64{64, 64}},
		"no GQA":         {[]string{"-num_key_value_heads"}, 30, []uint64{64, 64}},
		"attention_bias": {[]string{"attention_bias=true"}, 30 + 3*4, []uint64{64, 64}},
		"mlp_bias":       {[]string{"mlp_bias=true"}, 30 + 3*3, []uint64{64, 64}},
		"tied":           {[]string{"tie_word_embeddings=true"}, 29, []uint64{64, 64}},
	} {
		t.Run(name, func(t *testing.T) {
			in := llama(t, c.edits...)
			if got := in.Totals().Tensors; got != c.tensors {
				t.Errorf("%d tensors, want %d", got, c.tensors)
			}
			f, _, _ := find(in, "model.layers.0.self_attn.q_proj.weight")
			if diff := cmp.Diff(c.q, f.Sizes()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLlamaTie(t *testing.T) {
	for name, c := range map[string]struct {
		edit                               string
		tied, assumed, optional, tolerated bool
	}{
		"untied":  {"tie_word_embeddings=false", false, false, true, false},
		"tied":    {"tie_word_embeddings=true", true, false, false, true},
		"assumed": {"-tie_word_embeddings", false, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			tie := llama(t, c.edit).Tie
			if tie.Tied != c.tied || tie.Assumed != c.assumed || tie.Field != "tie_word_embeddings" ||
				tie.Head.Optional != c.optional || tie.Head.Tolerated != c.tolerated ||
				tie.Embedding.Pattern != "model.embed_tokens.weight" {
				t.Errorf("%+v, head %+v", tie, tie.Head)
			}
		})
	}
	if tie := k3(t).Tie; tie.Head.Optional || tie.Head.Tolerated || tie.Tied {
		t.Errorf("a K3 demands its head: %+v", tie.Head)
	}
}
