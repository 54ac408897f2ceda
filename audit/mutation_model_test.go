package audit

import (
	"fmt"
	"slices"
	"strings"
)

// configMutations spoil config.json.
func configMutations() []mutation {
	config := []string{"config.json"}
	set := func(field, value string) func(k *kit) { return func(k *kit) { k.config(field, value) } }
	replace := func(old, with string) func(k *kit) { return func(k *kit) { k.replace("config.json", old, with) } }
	// A config that cannot be read names no code; the family is known by names.
	unread := func(m mutation) mutation {
		m.gone, m.add = []string{"SE001", "CF005"}, []string{"CF005 warning x6 chat_template.jinja"}
		return m
	}
	return []mutation{
		unread(mutation{name: "config missing", do: func(k *kit) { k.remove("config.json") },
			want: []string{"CF001 error config.json"}, refetch: config}),
		unread(mutation{name: "config missing at level metadata", do: func(k *kit) { k.remove("config.json") }, opts: Options{Level: LevelMetadata},
			want: []string{"CF001 error config.json"}, refetch: config}),
		unread(mutation{name: "config cut", do: func(k *kit) { k.edit("config.json", func(b []byte) []byte { return b[:len(b)/2] }) },
			want: []string{"CF002 error config.json"}, refetch: config}),
		unread(mutation{name: "config with a duplicate name", do: replace(`"num_experts": 16`, `"num_experts": 16, "num_experts": 16`),
			want: []string{"CF002 error config.json"}, refetch: config}),
		unread(mutation{name: "config empty", do: func(k *kit) { k.text("config.json", "") },
			want: []string{"FS012 error config.json"}, refetch: config}),
		unread(mutation{name: "config a git lfs pointer", do: func(k *kit) { k.text("config.json", lfsText) },
			want: []string{"FS005 error config.json"}, refetch: config}),
		unread(mutation{name: "config a list", do: func(k *kit) { k.text("config.json", "[1]") },
			want: []string{"CF002 error config.json"}, refetch: config}),
		{name: "2^62 layers", do: set("num_hidden_layers", "4611686018427387904"), want: []string{"CF002 error config.json"}, refetch: config},
		{name: "no layers", do: set("num_hidden_layers", "0"), want: []string{"CF002 error config.json"}, refetch: config},
		{name: "minus one expert", do: set("num_experts", "-1"), want: []string{"CF002 error config.json"}, refetch: config},
		{name: "three and a half experts", do: set("num_experts", "3.5"), want: []string{"CF002 error config.json"}, refetch: config},
		{name: "layers as a string", do: set("num_hidden_layers", `"8"`), want: []string{"CF002 error config.json"}, refetch: config},
		{name: "layers null", do: set("num_hidden_layers", "null"), want: []string{"CF002 error config.json"}, refetch: config},
		{name: "hidden size beyond 64 bits", do: set("hidden_size", "1"+strings.Repeat("0", 40)), want: []string{"CF002 error config.json"}, refetch: config},
		{name: "another activation", do: set("hidden_act", `"silu"`), want: []string{"CF003 error config.json"}, refetch: config,
			says: []string{"text_config.hidden_act", "situ", "silu"}},
		{name: "another gate bound", do: set("gate_lower_bound", "-4.0"), want: []string{"CF003 error config.json"}, refetch: config},
		{name: "another expert group", do: set("num_expert_group", "2"), want: []string{"CF003 error config.json"}, refetch: config},
		{name: "ignore list names packed modules", do: replace(`"re:.*shared_experts.*"`, `"re:.*shared_experts.*", "re:.*experts\\.[0-9]+.*"`),
			want: []string{"CF004 warning x21 #2 L1.E0.w1.weight_packed"}},
		{name: "ignore list leaves out plain modules", do: replace(`"re:.*shared_experts.*"`, `"re:nothing"`),
			want: []string{"CF004 warning x21 #2 L1.block_sparse_moe.shared_experts.down_proj.weight"}},
		{name: "no quantization config", do: func(k *kit) { k.replace("config.json", `"quantization_config"`, `"other_config"`) },
			want: []string{"CF003 error config.json", "CF004 warning config.json L{}.E{}.w1.weight_packed"}, refetch: config},
		{name: "tied and both present", do: set("tie_word_embeddings", "true"),
			want: []string{"CF007 warning config.json language_model.lm_head.weight"}},
		{name: "a family that no profile knows", do: func(k *kit) {
			k.text("config.json", `{"model_type": "unheard_of", "architectures": ["UnheardOfForCausalLM"]}`)
		}, gone: []string{"CF005", "SE001"}, add: []string{"CF005 warning x2 generation_config.json"},
			want: []string{"CF004 warning config.json L{}.E{}.w1.weight_packed", "CF007 warning config.json language_model.lm_head.weight"},
			says: []string{"is not stated, and true is its default"}},
		{name: "config of nothing", do: func(k *kit) { k.text("config.json", `{}`) },
			gone: []string{"SE001", "CF005"}, add: []string{"CF005 warning x6 chat_template.jinja"},
			want: []string{"CF003 error config.json"}, refetch: []string{"config.json"}},
		{name: "profile none", opts: Options{Profile: ProfileNone}, do: func(k *kit) { k.config("hidden_act", `"silu"`) },
			gone: []string{"CF005"}, add: noProfile},
	}
}

// modelMutations make sound files of tensors that are not the model's. Where
// not said otherwise index and total_size follow.
func modelMutations() []mutation {
	const norm = layer1 + "input_layernorm.weight"
	expert := func(layer, n int) (names []string) {
		for _, w := range []string{"w1", "w2", "w3"} {
			for _, kind := range []string{"packed", "scale"} {
				names = append(names, fmt.Sprintf("language_model.model.layers.%d.block_sparse_moe.experts.%d.%s.weight_%s", layer, n, w, kind))
			}
		}
		return names
	}
	return []mutation{
		{name: "tensor missing everywhere", do: func(k *kit) { k.drop(shard(moeShard), norm) },
			want: []string{"MD001 error L1.input_layernorm.weight"}},
		{name: "head missing everywhere", do: func(k *kit) { k.drop(shard(headShard), "language_model.lm_head.weight") },
			want: []string{"MD001 error language_model.lm_head.weight"}},
		{name: "unknown tensor", do: func(k *kit) {
			k.change(shard(moeShard), func(b *body) {
				b.tensors = append(b.tensors, piece{entry{name: "language_model.model.layers.1.extra.weight", dtype: "BF16", shape: []int64{4}}, make([]byte, 8)})
			})
			k.reindex(func(x *indexDoc) {
				x.pairs = append(x.pairs, pair{"language_model.model.layers.1.extra.weight", shard(moeShard)})
			})
		}, want: []string{"MD002 error #2 L1.extra.weight"}},
		{name: "tensor of a layer beyond the last", do: func(k *kit) {
			k.change(shard(moeShard), func(b *body) {
				b.tensors = append(b.tensors, piece{entry{name: "language_model.model.layers.8.input_layernorm.weight", dtype: "BF16", shape: []int64{256}}, make([]byte, 512)})
			})
			k.reindex(func(x *indexDoc) {
				x.pairs = append(x.pairs, pair{"language_model.model.layers.8.input_layernorm.weight", shard(moeShard)})
			})
		}, want: []string{"MD002 error #2 L8.input_layernorm.weight"}},
		{name: "wrong shape", do: func(k *kit) { k.change(shard(moeShard), func(b *body) { b.reshape(norm, "BF16", 2, 252) }) },
			want: []string{"MD003 error #2 L1.input_layernorm.weight"}, says: []string{"[252]", "[256]"}},
		{name: "wrong dtype", do: func(k *kit) { k.change(shard(moeShard), func(b *body) { b.reshape(norm, "F16", 2, 256) }) },
			want: []string{"MD004 error #2 L1.input_layernorm.weight"}, says: []string{"F16", "BF16"}},
		{name: "wrong dtype and shape", do: func(k *kit) { k.change(shard(moeShard), func(b *body) { b.reshape(norm, "F32", 4, 128) }) },
			want: []string{"MD003 error #2 L1.input_layernorm.weight", "MD004 error #2 L1.input_layernorm.weight"}},
		{name: "A_log shorter than its heads", do: func(k *kit) {
			k.change(shard(moeShard), func(b *body) { b.reshape(layer1+"self_attn.A_log", "F32", 4, 20) })
		}, want: []string{"MD003 error #2 L1.self_attn.A_log"}},
		{name: "A_log of another length above its heads", do: func(k *kit) {
			k.change(shard(moeShard), func(b *body) { b.reshape(layer1+"self_attn.A_log", "F32", 4, 24) })
		}},
		{name: "expert missing", do: func(k *kit) { k.drop(shard(moeShard), expert(1, 5)...) },
			want: []string{"MD005 error L1.E5.w1.weight_packed"}, says: []string{"1 of 16 experts"}},
		{name: "experts of two layers missing", do: func(k *kit) {
			k.drop(shard(2), append(expert(1, 14), expert(1, 15)...)...)
			k.drop(shard(3), expert(2, 0)...)
		}, want: []string{"MD005 error x2 L1.E14.w1.weight_packed"}},
		{name: "all experts of a layer missing", do: func(k *kit) {
			var names []string
			for n := range 16 {
				names = append(names, expert(1, n)...)
			}
			k.drop(shard(moeShard), names...)
		}, want: []string{"MD005 error L1.E0.w1.weight_packed"}, says: []string{"16 of 16 experts"}},
		{name: "expert incomplete", do: func(k *kit) { k.drop(shard(moeShard), expert(1, 5)[2:4]...) },
			want: []string{"MD005 error L1.E5.w2.weight_packed"}},
		{name: "experts not in one piece", do: func(k *kit) {
			k.rewrite(shard(moeShard), func(b *body) {
				norm := b.take(norm)
				at := b.index(experts1 + "3.w1.weight_packed")
				b.tensors = slices.Insert(b.tensors, at, norm)
			})
		}, want: []string{"MD006 warning #2"}, says: []string{"layer 1"}},
		{name: "experts in another order in one piece", do: func(k *kit) {
			k.rewrite(shard(moeShard), func(b *body) {
				at := b.index(experts1 + "0.w1.weight_packed")
				slices.Reverse(b.tensors[at:])
			})
		}},
		{name: "an expert in another shard", do: func(k *kit) {
			var moved []piece
			k.rewrite(shard(2), func(b *body) {
				for _, name := range expert(1, 7) {
					moved = append(moved, b.take(name))
				}
			})
			k.rewrite(shard(3), func(b *body) { b.tensors = append(b.tensors, moved...) })
			k.reindex(func(x *indexDoc) {
				for _, name := range expert(1, 7) {
					x.find(k, name).file = shard(3)
				}
			})
		}, want: []string{"MD006 warning #2"}, says: []string{"several files"}},
		{name: "a layer too few in the config", do: func(k *kit) {
			k.config("num_hidden_layers", "7")
		}, want: []string{"CF002 error config.json"}, refetch: []string{"config.json"}},
		{name: "experts too few in the config", do: func(k *kit) { k.config("num_experts", "15") },
			want: []string{"MD002 error x42 #2 L1.E15.w1.weight_packed", "MD003 error x7 #2 L1.block_sparse_moe.gate.e_score_correction_bias",
				"MD003 error x7 #2 L1.block_sparse_moe.gate.weight"}},
	}
}

// noProfile is what is true of the good checkpoint where no profile says what
// its companions are and that the release itself leaves modules off its list.
var noProfile = []string{"CF005 warning x5 configuration_kimi_k3.py"}

// scaleMutations part packed tensors from their scales.
func scaleMutations() []mutation {
	const (
		packed = experts1 + "5.w2.weight_packed"
		scale  = experts1 + "5.w2.weight_scale"
	)
	return []mutation{
		{name: "packed without scale", do: func(k *kit) { k.drop(shard(moeShard), scale) },
			want: []string{"QT001 error #2 L1.E5.w2.weight_packed"}, refetch: []string{"#2"}},
		{name: "scale without packed", do: func(k *kit) { k.drop(shard(moeShard), packed) },
			want: []string{"QT002 error #2 L1.E5.w2.weight_scale"}, refetch: []string{"#2"}},
		{name: "scale of another shape", do: func(k *kit) {
			k.change(shard(moeShard), func(b *body) { b.reshape(scale, "U8", 1, 128, 16) })
		}, want: []string{"QT003 error #2 L1.E5.w2.weight_scale"}, says: []string{"[128, 16]", "[128, 8]"}},
		{name: "scale of another dtype", do: func(k *kit) {
			k.change(shard(moeShard), func(b *body) { b.reshape(scale, "F8_E4M3", 1, 128, 8) })
		}, want: []string{"QT004 error #2 L1.E5.w2.weight_scale"}, says: []string{"F8_E4M3"}},
		{name: "scale in a shard that is lost and that no index speaks for", do: func(k *kit) {
			k.change(shard(moeShard), func(b *body) { b.take(scale) })
			k.remove(indexName, shard(3))
		}, want: []string{"IX007 error #3", "IX008 info"}, refetch: []string{"#3"}},
		{name: "packed without scale and without a profile", opts: Options{Profile: ProfileNone},
			do:   func(k *kit) { k.drop(shard(moeShard), scale) },
			gone: []string{"CF005"}, add: noProfile,
			want: []string{"QT001 error #2 L1.E5.w2.weight_packed"}, refetch: []string{"#2"}},
		{name: "scale without packed and without a profile", opts: Options{Profile: ProfileNone},
			do:   func(k *kit) { k.drop(shard(moeShard), packed) },
			gone: []string{"CF005"}, add: noProfile,
			want: []string{"QT002 error #2 L1.E5.w2.weight_scale"}, refetch: []string{"#2"}},
	}
}
