package shard

import (
	"path/filepath"
	"testing"

	"ckpt/internal/synth"
	"ckpt/model"
)

// BenchmarkPlan plans and proves a model of 100,000 tensors whose headers are
// read already.
func BenchmarkPlan(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "k3")
	if _, err := synth.Synth(b.Context(), "kimi-k3", dir, synth.Options{Full: true, Layers: 20}); err != nil {
		b.Fatal(err)
	}
	c, m := openAt(b, dir, "auto")
	b.ReportAllocs()
	b.ResetTimer()
	var tensors int64
	for b.Loop() {
		p, err := New(c, m, Topology{TP: 8}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if proof := p.Prove(); !proof.OK() {
			b.Fatal(proof.Faults)
		}
		tensors = p.Totals.Tensors
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(int64(b.N)*tensors), "ns/tensor")
}

// A model that a profile describes is planned by it, grouped heads included.
func TestLlamaByItsProfile(t *testing.T) {
	const text = `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 16,
 "num_key_value_heads": 2, "num_hidden_layers": 3, "vocab_size": 128, "hidden_act": "silu", "tie_word_embeddings": false}`
	config, err := model.ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	profile, _ := model.Named("llama")
	in, problems := profile.Instantiate(model.View{Config: config})
	if in == nil {
		t.Fatal(problems)
	}
	var list []source
	for _, f := range in.Families {
		for i := int64(0); i < f.Count && !f.Tolerated; i++ {
			list = append(list, source{name: f.NameAt(i), dtype: "BF16", shape: f.Sizes()})
		}
	}
	dir := filepath.Join(t.TempDir(), "llama")
	write(t, dir, text, [][]source{list})
	c, m := openAt(t, dir, "auto")
	if m.Name() != "llama" {
		t.Fatal(m.Name())
	}
	for _, tp := range []int{1, 2, 4, 8, 16} {
		p := planOf(t, c, m, Topology{TP: tp}, Options{})
		f := family(t, p, "self_attn.v_proj.weight")
		if f.Parts != min(tp, 2) || f.Parts*f.Copies != tp || p.Layout != LayoutCheckpoint {
			t.Errorf("TP%d: %d parts, %d copies, %s", tp, f.Parts, f.Copies, p.Layout)
		}
	}
	_, err = New(c, m, Topology{TP: 32}, Options{})
	refused(t, err, "TP", []int{1, 2, 4, 8, 16}, "16 heads do not divide by 32")
	sketch, err := Sketch(m, Topology{TP: 8, PP: 2}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := planOf(t, c, m, Topology{TP: 8, PP: 2}, Options{})
	for i := range p.Ranks {
		if p.Ranks[i] != sketch.Ranks[i] {
			t.Errorf("%+v, sketched %+v", p.Ranks[i], sketch.Ranks[i])
		}
	}
	// A checkpoint that lacks a layer's tensor is refused by the profile's count.
	write(t, dir+"-short", text, [][]source{list[:len(list)-1]})
	c, m = openAt(t, dir+"-short", "auto")
	if _, err := New(c, m, Topology{TP: 2}, Options{}); err == nil {
		t.Error("a checkpoint without its last tensor is planned")
	}
}
