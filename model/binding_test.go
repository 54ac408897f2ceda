package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"ckpt/internal/names"
)

// TestNamesAndOrdinals draws members of the K3 family of all sizes: a name and
// its ordinal determine each other, and a number outside the family's ranges
// belongs to nobody or to another family.
func TestNamesAndOrdinals(t *testing.T) {
	p := profile(t, "kimi-k3")
	rapid.Check(t, func(t *rapid.T) {
		in := drawMember(t, p)
		f := rapid.SampledFrom(in.Families).Draw(t, "family")
		if f.Count == 0 {
			return
		}
		ordinal := rapid.Int64Range(0, f.Count-1).Draw(t, "ordinal")
		name := f.NameAt(ordinal)
		g, back, ok := find(in, name)
		if !ok || g != f || back != ordinal {
			t.Fatalf("%s of ordinal %d is found as %d", name, ordinal, back)
		}
		n := f.Numbers(ordinal)
		if f.Slots == 0 {
			return
		}
		at := rapid.IntRange(0, f.Slots-1).Draw(t, "slot")
		n[at] = rapid.SampledFrom([]uint32{n[at] + 1, 4096, 1 << 20, math.MaxUint32}).Draw(t, "number")
		g, back, ok = in.Bind(f.Text, f.Slots).Family(n)
		if ok && (g.Numbers(back) != n || back < 0 || back >= g.Count) {
			t.Fatalf("%v is taken for ordinal %d of %s", n, back, g.Pattern)
		}
	})
}

// drawMember draws a config with layers of both kinds.
func drawMember(t *rapid.T, p *Profile) *Instance {
	layers := rapid.IntRange(1, 40).Draw(t, "layers")
	kinds := rapid.SliceOfN(rapid.Bool(), layers, layers).Draw(t, "kinds")
	lists := map[bool][]uint32{}
	for i, kind := range kinds {
		lists[kind] = append(lists[kind], uint32(i))
	}
	b := builder{p: p, in: &Instance{Profile: p, Vars: map[string]int64{"layers": int64(layers)}, Sets: map[string][]uint32{},
		bindings: map[nameKey]*Binding{}, Prefixes: p.usualPrefixes()}}
	for _, f := range p.fields {
		if _, set := b.in.Vars[f.name]; !set {
			b.in.Vars[f.name] = rapid.Int64Range(1, 12).Draw(t, f.name)
		}
	}
	for name, n := range map[string]int64{"vision": 1, "latent": 64, "expert_hidden": 32, "dense_layers": 1} {
		b.in.Vars[name] = n
	}
	b.scope = scope{ints: b.in.Vars, lists: map[string][]int64{"vis_merge": {2, 2},
		"mla_layers": oneBased(lists[false]), "kda_layers": oneBased(lists[true])}}
	b.at, _ = p.locate(&Config{root: &object{}})
	b.stuck = false
	b.sets()
	b.families(nil)
	if b.stuck {
		t.Fatalf("%+v", b.problems)
	}
	return b.in
}

func oneBased(layers []uint32) []int64 {
	list := []int64{}
	for _, n := range layers {
		list = append(list, int64(n)+1)
	}
	return list
}

func TestLiteralNumbersAreConstants(t *testing.T) {
	in := k3(t)
	for name, ok := range map[string]bool{
		"mm_projector.proj.0.weight": true, "mm_projector.proj.2.weight": true,
		"mm_projector.proj.1.weight": false, "mm_projector.proj.3.weight": false, "mm_projector.proj.x.weight": false,
		"vision_tower.encoder.blocks.26.wo.weight": true, "vision_tower.encoder.blocks.27.wo.weight": false,
		"language_model.model.layers.0.block_sparse_moe.experts.0.w1.weight_packed":   false,
		"language_model.model.layers.1.block_sparse_moe.experts.895.w1.weight_packed": true,
		"language_model.model.layers.1.block_sparse_moe.experts.896.w1.weight_packed": false,
		"language_model.model.layers.92.block_sparse_moe.experts.0.w1.weight_packed":  true,
		"language_model.model.layers.93.block_sparse_moe.experts.0.w1.weight_packed":  false,
		"language_model.model.layers.01.block_sparse_moe.experts.0.w1.weight_packed":  false,
		"language_model.model.layers.4294967295.self_attn.q_proj.weight":              false,
		"language_model.model.layers.3.self_attn.q_proj.weight":                       false,
		"language_model.model.layers.3.self_attn.q_a_proj.weight":                     true,
		"language_model.model.layers.4.self_attn.q_a_proj.weight":                     false,
	} {
		if f, _, got := find(in, name); got != ok {
			t.Errorf("%s is known: %v, as %+v", name, got, f)
		}
	}
	f, ordinal, _ := find(in, "mm_projector.proj.2.weight")
	if f.Count != 1 || ordinal != 0 || f.Sizes()[0] != 7168 || f.NameAt(0) != "mm_projector.proj.2.weight" {
		t.Errorf("%+v", f)
	}
	if in.Bind("mm_projector.proj.{}.weight", 1) != nil {
		t.Error("braces are taken for a number")
	}
}

func TestOrdinalInvertsAt(t *testing.T) {
	for _, f := range k3(t).Families {
		for _, ordinal := range []int64{0, f.Count / 3, f.Count - 1} {
			layer, expert, block := f.At(ordinal)
			if back, ok := f.Ordinal(layer, expert, block); !ok || back != ordinal {
				t.Errorf("%s: %d comes back as %d", f.Pattern, ordinal, back)
			}
		}
		if ordinal, ok := f.Ordinal(93, 896, 27); ok && f.Count > 1 {
			t.Errorf("%s has an ordinal %d beyond its end", f.Pattern, ordinal)
		}
	}
	in := linear(t, "kimi-linear")
	text, _, slots := names.Split(nil, []byte("model.layers.0.self_attn.q_proj.weight"))
	if list := in.Bind(string(text), slots).Families(); len(list) != 2 || list[0].LayerSet != "kda" || list[1].LayerSet != "mla" {
		t.Errorf("families of q_proj: %v", list)
	}
}

func TestBindingDoesNotAllocate(t *testing.T) {
	b, n := bindExpert(t)
	if allocs := testing.AllocsPerRun(100, func() { b.Family(n) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func bindExpert(t testing.TB) (*Binding, [names.Slots]uint32) {
	text, n, slots := names.Split(nil, []byte("language_model.model.layers.50.block_sparse_moe.experts.345.w1.weight_packed"))
	b := k3(t).Bind(string(text), slots)
	if b == nil {
		t.Fatal("no binding")
	}
	return b, n
}

func BenchmarkBinding(b *testing.B) {
	binding, n := bindExpert(b)
	for b.Loop() {
		binding.Family(n)
	}
}

func BenchmarkParseProfile(b *testing.B) {
	data, err := profileFiles.ReadFile("profiles/kimi-k3.json")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ParseProfile(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	c := readConfig(b, "k3-config.json")
	v := View{Config: c, Patterns: patterns(k3(b), nil)}
	for b.Loop() {
		if Match(v).Instance == nil {
			b.Fatal("no match")
		}
	}
}

func BenchmarkInstantiate(b *testing.B) {
	p, v := profile(b, "kimi-k3"), View{Config: readConfig(b, "k3-config.json")}
	for b.Loop() {
		p.Instantiate(v)
	}
}
