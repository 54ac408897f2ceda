package model

import (
	"strings"
	"testing"
)

func without(prefix string) func(string) string {
	return func(text string) string { return strings.TrimPrefix(text, prefix) }
}

func TestMatchKnownFamilies(t *testing.T) {
	for name, config := range map[string]string{
		"kimi-k3":           "k3-config.json",
		"kimi-linear":       "kimi-linear-config.json",
		"kimi-linear-mxfp4": "kimi-linear-config.json",
		"llama":             "llama-config.json",
	} {
		t.Run(name, func(t *testing.T) {
			c := readConfig(t, config)
			in := instantiate(t, profile(t, name), View{Config: c})
			list := patterns(in, nil)
			m := Match(View{Config: c, Patterns: list})
			if m.Profile != profile(t, name) || m.Instance == nil || len(m.Problems) > 0 || m.Confidence != 1 {
				t.Errorf("with config: %+v", m)
			}
			// Without its config a family is known by its names; sizes are not.
			m = Match(View{Patterns: list})
			if m.Profile != profile(t, name) || m.Instance != nil || len(m.Problems) != 1 || m.Confidence >= 1 {
				t.Errorf("by names: %+v", m)
			}
		})
	}
}

func TestMatchBySecondEvidence(t *testing.T) {
	c := readConfig(t, "k3-config.json")
	in := k3(t)
	full := patterns(in, nil)
	for name, v := range map[string]View{
		"config alone":          {Config: c},
		"vision shard alone":    {Config: c, Patterns: []PatternCount{pattern("vision_tower.encoder.blocks.{}.wo.weight", 27)}},
		"other model_type":      {Config: edited(t, "k3-config.json", `model_type="kimi_k4"`), Patterns: full},
		"one layer":             {Config: c, Patterns: []PatternCount{pattern("language_model.model.layers.{}.mlp_res_norm.weight", 1)}},
		"all experts misspelt":  {Config: c, Patterns: patterns(in, func(s string) string { return strings.ReplaceAll(s, "_packed", "_pack") })},
		"unpacked into the top": {Config: edited(t, "k3-config.json", "-vision_config"), Patterns: patterns(in, without("language_model."))},
	} {
		t.Run(name, func(t *testing.T) {
			if m := Match(v); m.Profile != in.Profile || m.Instance == nil {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestMatchDiscoversPrefixes(t *testing.T) {
	text := edited(t, "k3-config.json", "-vision_config")
	full := instantiate(t, profile(t, "kimi-k3"), View{Config: text})
	for name, c := range map[string]struct {
		change   func(string) string
		embedded string
		telling  string
	}{
		"as released":     {nil, "language_model.model.embed_tokens.weight", ""},
		"text only":       {without("language_model."), "model.embed_tokens.weight", `"language_model."`},
		"bare":            {func(s string) string { return strings.TrimPrefix(without("language_model.")(s), "model.") }, "embed_tokens.weight", `"model."`},
		"something else":  {func(s string) string { return "thinker." + s }, "thinker.language_model.model.embed_tokens.weight", `"thinker.language_model."`},
		"something other": {func(s string) string { return "a.b." + without("language_model.")(s) }, "a.b.model.embed_tokens.weight", `"a.b."`},
	} {
		t.Run(name, func(t *testing.T) {
			m := Match(View{Config: text, Patterns: patterns(full, c.change)})
			if m.Instance == nil || m.Profile.Name != "kimi-k3" || m.Instance.Release != nil {
				t.Fatalf("%+v", m)
			}
			if f, _, ok := find(m.Instance, c.embedded); !ok || f.Role != RoleEmbedding {
				t.Errorf("%s is not found", c.embedded)
			}
			if got := m.Instance.Totals().Tensors; got != 497_052 {
				t.Errorf("%d tensors", got)
			}
			if !strings.Contains(strings.Join(m.Reasons, "; "), c.telling) {
				t.Errorf("reasons %q do not tell the prefix", m.Reasons)
			}
		})
	}
}

// A newer layout of the same names: everything but the head under "model.".
func TestMatchDiscoversTowersApart(t *testing.T) {
	c := readConfig(t, "k3-config.json")
	list := patterns(k3(t), func(s string) string {
		if rest, ok := strings.CutPrefix(s, "language_model.model."); ok {
			return "model.language_model." + rest
		}
		if rest, ok := strings.CutPrefix(s, "language_model."); ok {
			return rest
		}
		return "model." + s
	})
	m := Match(View{Config: c, Patterns: list})
	if m.Instance == nil || m.Instance.Release == nil {
		t.Fatalf("%+v", m)
	}
	for _, name := range []string{"lm_head.weight", "model.language_model.embed_tokens.weight",
		"model.language_model.layers.92.self_attn.q_a_proj.weight", "model.vision_tower.encoder.blocks.3.wo.weight", "model.mm_projector.proj.2.weight"} {
		if f, ordinal, ok := find(m.Instance, name); !ok || f.NameAt(ordinal) != name {
			t.Errorf("%s is not found: %+v", name, f)
		}
	}
}

// Families that share names with a known one stay unknown.
func TestMatchLeavesOthersAlone(t *testing.T) {
	dense := patterns(llama(t), nil)
	deepseek := []PatternCount{
		pattern("model.embed_tokens.weight", 1), pattern("lm_head.weight", 1), pattern("model.norm.weight", 1),
		pattern("model.layers.{}.input_layernorm.weight", 61), pattern("model.layers.{}.post_attention_layernorm.weight", 61),
		pattern("model.layers.{}.self_attn.q_a_proj.weight", 61), pattern("model.layers.{}.self_attn.kv_b_proj.weight", 61),
		pattern("model.layers.{}.mlp.experts.{}.gate_proj.weight", 58*256), pattern("model.layers.{}.mlp.gate_proj.weight", 3),
	}
	quantized := append([]PatternCount{}, dense...)
	for _, p := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
		quantized = append(quantized, pattern("model.layers.{}.self_attn."+p+".weight_scale", 3),
			pattern("model.layers.{}.self_attn."+p+".input_scale", 3))
	}
	for name, v := range map[string]View{
		"nothing":       {},
		"deepseek":      {Config: edited(t, "llama-config.json", `model_type="deepseek_v3"`, `architectures=["DeepseekV3ForCausalLM"]`), Patterns: deepseek},
		"names only":    {Patterns: deepseek},
		"qwen2":         {Config: edited(t, "llama-config.json", `model_type="qwen2"`, `architectures=["Qwen2ForCausalLM"]`), Patterns: dense},
		"other names":   {Config: readConfig(t, "llama-config.json"), Patterns: []PatternCount{pattern("transformer.h.{}.attn.c_attn.weight", 12)}},
		"deepseek's":    {Config: readConfig(t, "llama-config.json"), Patterns: deepseek},
		"FP8 llama":     {Config: readConfig(t, "llama-config.json"), Patterns: quantized},
		"empty config":  {Config: mustConfig(t, "{}"), Patterns: dense},
		"converted K3":  {Config: readConfig(t, "k3-config.json"), Patterns: []PatternCount{pattern("blk.{}.attn_q.weight", 93)}},
		"hostile names": {Patterns: []PatternCount{{Text: "", Slots: 0, Count: 1}, {Text: "\xff.\xff", Slots: 0, Count: 1}, {Text: "{lm}", Slots: 0, Count: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if m := Match(v); m.Profile != nil || m.Instance != nil {
				t.Errorf("%s: %+v", m.Profile.Name, m)
			}
		})
	}
}

func mustConfig(t testing.TB, text string) *Config {
	t.Helper()
	c, err := ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
