package model

import "testing"

func TestContradictions(t *testing.T) {
	for name, c := range map[string]struct {
		profile, config string
		edits           []string
		found           int
		module          string
		count           int
	}{
		"official":            {"kimi-k3", "k3-config.json", nil, 0, "", 0},
		"experts ignored":     {"kimi-k3", "k3-config.json", []string{`text_config.quantization_config.ignore=["re:.*"]`}, 3, "language_model.model.layers.1.block_sparse_moe.experts.0.w1", 92},
		"one layer ignored":   {"kimi-k3", "k3-config.json", []string{`text_config.quantization_config.ignore=["re:.*self_attn.*","re:.*shared_experts.*","re:.*mlp\\.(gate|up)_proj.*","re:.*lm_head.*","re:.*(vision_tower|mm_projector).*","language_model.model.layers.0.mlp.down_proj","re:.*layers\\.7\\.block_sparse_moe\\.experts.*"]`}, 3, "language_model.model.layers.7.block_sparse_moe.experts.0.w1", 1},
		"head left out":       {"kimi-k3", "k3-config.json", []string{`text_config.quantization_config.ignore=["re:.*self_attn.*","re:.*shared_experts.*","re:.*mlp\\..*","re:.*(vision_tower|mm_projector).*"]`}, 1, "language_model.lm_head", 1},
		"beyond RE2":          {"kimi-k3", "k3-config.json", []string{`text_config.quantization_config.ignore=["re:(?=x)","re:.*"]`}, 3, "language_model.model.layers.1.block_sparse_moe.experts.0.w1", 92},
		"promised to a llama": {"llama", "llama-config.json", []string{`quantization_config={"format":"mxfp4-pack-quantized"}`}, 1, "", 0},
		"plain llama":         {"llama", "llama-config.json", nil, 0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			config := edited(t, c.config, c.edits...)
			in := instantiate(t, profile(t, c.profile), View{Config: config})
			got := in.Contradictions(View{Config: config, Patterns: patterns(in, nil)})
			if len(got) != c.found {
				t.Fatalf("%d contradictions: %+v", len(got), got)
			}
			if len(got) > 0 && (got[0].Module != c.module || got[0].Count != c.count) {
				t.Errorf("%+v", got[0])
			}
		})
	}
}
