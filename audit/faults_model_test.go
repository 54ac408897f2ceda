package audit

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ckpt/internal/synth"
)

// renameAll spells every tensor of the set anew, in shards and index.
func (k *kit) renameAll(spell func(string) string) {
	k.Helper()
	for n := 1; n <= shards; n++ {
		k.rehead(shard(n), func(h *header) {
			for i := range h.entries {
				h.entries[i].name = spell(h.entries[i].name)
			}
		})
	}
	k.reindex(func(x *indexDoc) {
		for i := range x.pairs {
			x.pairs[i].tensor = spell(x.pairs[i].tensor)
		}
	})
}

// A doctor called sound models broken because of three literal names.
func TestFaultColibri1365LiteralNames(t *testing.T) {
	k := mini(t)
	k.renameAll(func(s string) string { return strings.TrimPrefix(s, "language_model.") })
	k.wants(Options{})
}

func TestFaultColibri1593OtherPrefixes(t *testing.T) {
	k := mini(t)
	k.renameAll(func(s string) string { return strings.Replace(s, "language_model.model.", "language_model.", 1) })
	k.wants(Options{})
}

// An exporter skipped shards and made the index anew: consistent, and the head
// and whole layers are gone.
func TestFaultAReaL1403LayersGoneConsistently(t *testing.T) {
	k := mini(t)
	var lost []string
	bytes := int64(0)
	for _, n := range []int{5, 6} {
		h, payload := parse(k, k.read(shard(n)))
		bytes += int64(len(payload))
		for _, e := range h.entries {
			lost = append(lost, e.name)
		}
		k.remove(shard(n))
	}
	k.reindex(func(x *indexDoc) { x.drop(lost...); x.add(k, -bytes) })
	k.drop(shard(headShard), "language_model.lm_head.weight")
	r := k.wants(Options{All: true}, "MD001 error x57 language_model.lm_head.weight", "MD005 error x2 L4.E0.w1.weight_packed")
	k.says(r, "layer 4: 16 of 16 experts", "layer 5: 16 of 16 experts", "language_model.model.layers.5.self_attn.A_log")
}

// An absent parameter kept random values.
func TestFaultSGLang16235AbsentParameter(t *testing.T) {
	k := mini(t)
	k.drop(shard(moeShard), layer1+"block_sparse_moe.gate.e_score_correction_bias")
	k.wants(Options{}, "MD001 error L1.block_sparse_moe.gate.e_score_correction_bias")
}

// llama is a copy of the small Llama with a head of its own.
func llama(t *testing.T) *kit {
	t.Helper()
	return copyOf(t, good(t, "llama", synth.Options{Preset: "mini"}))
}

// dropHead takes the head out of whichever file has it.
func (k *kit) dropHead() {
	k.Helper()
	var at string
	k.reindex(func(x *indexDoc) { at = x.find(k, "lm_head.weight").file })
	k.drop(at, "lm_head.weight")
	if h, _ := parse(k, k.read(at)); len(h.entries) == 0 {
		k.remove(at)
	}
}

// The config said untied and no shard had a head.
func TestFaultQwen3VLEmbedding89UntiedWithoutHead(t *testing.T) {
	k := llama(t)
	k.dropHead()
	r := k.audit("", Options{})
	wantFound(t, r, Pass, "CF005 warning x3 generation_config.json", "CF007 warning config.json model.embed_tokens.weight")
	k.says(r, "tie_word_embeddings is false", "no head is here")
	wantFound(t, k.audit("", Options{FailOn: Warning}), Fail, "CF005 warning x3 generation_config.json", "CF007 warning config.json model.embed_tokens.weight")
}

// A changed default tied what was not: it is said which default was assumed.
func TestFaultTransformers48154DefaultOfTies(t *testing.T) {
	k := llama(t)
	k.dropHead()
	k.edit("config.json", func(b []byte) []byte { return bytes.Replace(b, []byte(`"tie_word_embeddings"`), []byte(`"other"`), 1) })
	r := k.audit("", Options{})
	wantFound(t, r, Pass, "CF005 warning x3 generation_config.json", "CF007 warning config.json model.embed_tokens.weight")
	k.says(r, "is not stated, and false is its default")
}

// Tied, and both are here: which of them counts is for the reader to guess.
func TestTiedWithBoth(t *testing.T) {
	k := llama(t)
	k.config("tie_word_embeddings", "true")
	wantFound(t, k.audit("", Options{}), Pass, "CF005 warning x3 generation_config.json", "CF007 warning config.json lm_head.weight")
}

// The config promised scales that were never written.
func TestFaultNeMoRL3615PromisedScales(t *testing.T) {
	k := llama(t)
	k.replace("config.json", `"tie_word_embeddings"`, `"quantization_config": {"quant_method": "fp8"}, "tie_word_embeddings"`)
	r := k.audit("", Options{})
	wantFound(t, r, Pass, "CF004 warning config.json", "CF005 warning x3 generation_config.json")
	k.says(r, "promises fp8", "no tensor is packed")
}

// gptOSS is a file of packed tensors under the names of another family, which
// no profile here knows.
func gptOSS(t *testing.T, names ...string) *Report {
	t.Helper()
	b := &body{}
	for _, name := range names {
		b.tensors = append(b.tensors, piece{entry{name: "model.layers.0.mlp.experts." + name, dtype: "U8", shape: []int64{2, 8}}, make([]byte, 16)})
	}
	return alone(t, b)
}

// Weights and scales are paired without a profile, by the names that
// converters give them.
func TestScalesOfAnUnknownFamily(t *testing.T) {
	wantFound(t, gptOSS(t, "down_proj_blocks", "down_proj_scales"), Pass)
	wantFound(t, gptOSS(t, "down_proj_blocks"), Fail, "QT001 error model.safetensors model.layers.0.mlp.experts.down_proj_blocks")
	wantFound(t, gptOSS(t, "down_proj_blocks", "down_proj_scales", "up_proj_scales"), Fail,
		"QT002 error model.safetensors model.layers.0.mlp.experts.up_proj_scales")
	// A scale alone is that of another scheme.
	wantFound(t, gptOSS(t, "down_proj_scale"), Pass)
}

// Under a profile by name what does not match is an error.
func TestProfileOfAnotherFamily(t *testing.T) {
	k := mini(t)
	r := k.audit("", Options{Profile: "llama"})
	if r.Verdict != Fail || r.Profile != "llama" {
		t.Errorf("verdict %s, profile %q", r.Verdict, r.Profile)
	}
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.ID == "CF002" || f.ID == "CF003" }) {
		t.Errorf("nothing is said of the config: %v", found(r))
	}
}

func TestUnknownProfile(t *testing.T) {
	for _, name := range []string{"kimi-k4", "no/such/file.json"} {
		if r, err := Run(t.Context(), mini(t).dir, Options{Profile: name}); err == nil {
			t.Errorf("%s: a report: %v", name, found(r))
		}
	}
}
