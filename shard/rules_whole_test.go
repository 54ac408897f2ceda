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

// An exporter skipped shards and rebuilt the index: what the config counts and
// what other layers have is missed, however many lack it.
func TestAReaL1403LayersAndRolesAgainstTheConfig(t *testing.T) {
	dense := plain{layers: 8, hidden: 32, heads: 2, kv: 2, dim: 2, inner: 32, vocab: 8}
	moe := dense
	moe.layers, moe.experts = 4, 4
	for name, c := range map[string]struct {
		model  plain
		gone   []string
		config string
		why    string
	}{
		"whole":                      {dense, nil, `"num_hidden_layers": 8`, ""},
		"two layers lack queries":    {dense, []string{"layers.3.self_attn.q_proj", "layers.4.self_attn.q_proj"}, ``, "each of layers 3, 4 has no model.layers.{i}.self_attn.q_proj, which 6 others have"},
		"most layers lack them":      {dense, []string{"self_attn.q_proj", "!layers.7."}, ``, "each of 7 layers (0, 1, 2, 3, …) has no model.layers.{i}.self_attn.q_proj, which 1 others have"},
		"two layers lack all":        {dense, []string{"layers.3.self_attn", "layers.4.self_attn"}, ``, "layer 3 has no model.layers.{i}.self_attn.k_proj of self-attention"},
		"two have no network":        {dense, []string{"layers.5.mlp", "layers.6.mlp"}, ``, "layer 5 has no model.layers.{i}.mlp.down_proj of feed-forward network"},
		"two lack norms":             {dense, []string{"layers.0.input_layernorm", "layers.1.input_layernorm"}, ``, "each of layers 0, 1 has no model.layers.{i}.input_layernorm"},
		"blocks are cut by design":   {dense, []string{"layers.3.self_attn", "layers.4.self_attn"}, `"block_configs": [{}]`, ""},
		"values are shared":          {dense, []string{"layers.3.self_attn.k_proj", "layers.4.self_attn.k_proj"}, `"num_kv_shared_layers": 2`, ""},
		"values are not shared":      {dense, []string{"layers.3.self_attn.k_proj", "layers.4.self_attn.k_proj"}, `"num_kv_shared_layers": 0`, "k_proj"},
		"kinds differ":               {dense, []string{"layers.3.self_attn.v_proj", "layers.7.self_attn.v_proj"}, `"layer_types": ["s", "s", "s", "f", "s", "s", "s", "f"]`, ""},
		"kinds do not differ enough": {dense, []string{"layers.3.self_attn.v_proj", "layers.6.self_attn.v_proj"}, `"layer_types": ["s", "s", "s", "f", "s", "s", "s", "f"]`, "v_proj"},
		"all experts":                {moe, nil, `"num_experts": 4`, ""},
		"an expert":                  {moe, []string{"layers.2.mlp.experts.1."}, ``, "layer 2 has 3 of 4 experts, as the router has: model.layers.{i}.mlp.experts.{e}.down_proj, of which expert 1 is not there"},
		"a module of an expert":      {moe, []string{"layers.2.mlp.experts.3.down_proj"}, ``, "layer 2 has 3 of 4 experts"},
		"half of all experts":        {moe, []string{"experts.2.", "experts.3."}, `"n_routed_experts": 4`, "layer 0 has 2 of 4 experts, as the config counts"},
		"half without a number":      {moe, []string{"experts.2.", "experts.3."}, ``, "layer 0 has 2 of 4 experts, as the router has"},
		"one without a router":       {moe, []string{"layers.1.mlp.experts.3.", "mlp.gate."}, ``, "layer 1 has 3 of 4 experts, as others have"},
		"more than the config":       {moe, nil, `"num_local_experts": 3`, "layer 0 has 4 experts, not 3, as the config counts"},
		"routers alone":              {moe, []string{"experts."}, ``, "layer 0 has a router of 4 experts, and none of them"},
		"a router":                   {moe, []string{"layers.1.mlp.gate.", "layers.2.mlp.gate."}, ``, "mlp.gate"},
		"layers of two counts":       {dense, nil, `"num_hidden_layers": 8, "text_config": {"num_hidden_layers": 9}`, "text_config.num_hidden_layers of the config is 9 and num_hidden_layers is 8"},
	} {
		all, _ := c.model.tensors()
		list := slices.DeleteFunc(all, func(s source) bool {
			gone := false
			for _, g := range c.gone {
				kept, not := strings.CutPrefix(g, "!")
				if strings.Contains(s.name, kept) {
					gone = !not
				}
			}
			return gone
		})
		config := strings.TrimSuffix(strings.TrimSuffix(c.model.config(), "}")+", "+c.config, ", ") + "}"
		for _, tp := range []int{1, 2} {
			_, err := planList(t, list, config, Topology{TP: tp})
			if c.why == "" && err != nil || c.why != "" && (!errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
