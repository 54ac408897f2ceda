package shard

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A model that no profile describes is whole, or what it lacks is named.
func TestHolesAreNamedWithoutAProfile(t *testing.T) {
	m := plain{layers: 4, hidden: 32, heads: 2, kv: 2, dim: 2, inner: 32, vocab: 8}
	all, _ := m.tensors()
	config := strings.TrimSuffix(m.config(), "}") + `, "num_hidden_layers": 4, "tie_word_embeddings": false}`
	for gone, why := range map[string]string{
		"nothing":                               "",
		"model.layers.2.":                       "1 of 4 layers are missing, the first is 2",
		"model.layers.3.":                       "1 of 4 layers are missing, the first is 3",
		"model.layers.1.self_attn.o_proj":       "layer 1 has no model.layers.{i}.self_attn.o_proj",
		"model.layers.0.self_attn.":             "layer 0 has no model.layers.{i}.self_attn.",
		"model.layers.3.input_layernorm.weight": "layer 3 has no model.layers.{i}.input_layernorm",
		"lm_head.":                              "there is no head",
	} {
		list := slices.DeleteFunc(slices.Clone(all), func(s source) bool { return strings.HasPrefix(s.name, gone) })
		_, err := planList(t, list, config, Topology{TP: 2})
		if why == "" && err != nil || why != "" && (!errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), why)) {
			t.Errorf("without %s: %v", gone, err)
		}
	}
	tied := slices.DeleteFunc(slices.Clone(all), func(s source) bool { return s.name == "lm_head.weight" })
	for _, config := range []string{m.config(), strings.Replace(config, "false", "true", 1), strings.Replace(config, `"some"`, `"some", "architectures": ["SomeModel"]`, 1)} {
		if _, err := planList(t, tied, config, Topology{TP: 2}); err != nil {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// Layers of mixtures of experts may begin with dense ones, and end with layers
// that the config does not count.
func TestLayersMayDiffer(t *testing.T) {
	var list []source
	add := func(name string, shape ...uint64) {
		list = append(list, source{name: name, dtype: "BF16", shape: shape})
	}
	for i := range 5 {
		l := "model.layers." + string(rune('0'+i)) + "."
		add(l+"input_layernorm.weight", 8)
		switch i {
		case 0:
			add(l+"mlp.gate_proj.weight", 8, 8)
			add(l+"mlp.down_proj.weight", 8, 8)
		default:
			add(l+"mlp.gate.weight", 2, 8)
			add(l+"mlp.experts.0.up_proj.weight", 8, 8)
			add(l+"mlp.experts.1.up_proj.weight", 8, 8)
		}
	}
	add("model.layers.4.eh_proj.weight", 8, 16)
	if _, err := planList(t, list, `{"num_hidden_layers": 4, "first_k_dense_replace": 1}`, Topology{TP: 2}); err != nil {
		t.Error(err)
	}
}
