package model

import "testing"

// A slice of the release is the family with its own sizes.
func TestSliceIsNotTheRelease(t *testing.T) {
	in := instantiate(t, profile(t, "kimi-k3"), View{Config: edited(t, "k3-config.json",
		"text_config.num_hidden_layers=4", "text_config.linear_attn_config.kda_layers=[1,2,3]",
		"text_config.linear_attn_config.full_attn_layers=[4]", "-vision_config")})
	if in.Release != nil {
		t.Error("four layers are taken for the release")
	}
	if len(in.Differences) != 4 {
		t.Errorf("differences: %+v", in.Differences)
	}
	// Dense layer 0 with 23 tensors, then 26+3·1792... by kind; counted from the
	// release's files 1 to 4 and 94: 23 + 5,405 + 5,405 + 5,399 + 5.
	if got := in.Totals().Tensors; got != 23+(29-1+3*2*896)*2+(23-1+3*2*896)+5 {
		t.Errorf("%d tensors", got)
	}
}

// Text at the top level, as in an extraction of the language model, has the
// same sizes; it is not the release, whose files have a vision tower.
func TestTextAtTheTop(t *testing.T) {
	whole := readConfig(t, "k3-config.json")
	text, _ := whole.Lookup("text_config")
	c := &Config{root: text.object}
	in := instantiate(t, profile(t, "kimi-k3"), View{Config: c})
	if in.Release != nil || len(in.Differences) != 1 {
		t.Errorf("release %v, differences %+v", in.Release != nil, in.Differences)
	}
	totals := in.Totals()
	if totals.Tensors != 497_052 || totals.Bytes != 1_559_965_606_912 {
		t.Errorf("%+v", totals)
	}
}

func TestOfficialFilesWithAnotherConfig(t *testing.T) {
	p := profile(t, "kimi-k3")
	for edit, field := range map[string]string{
		"text_config.num_experts_per_token=8":                      "text_config.num_experts_per_token",
		"text_config.hidden_size=4096":                             "text_config.hidden_size",
		"text_config.num_hidden_layers=4611686018427387904":        "text_config.num_hidden_layers",
		"text_config.linear_attn_config.full_attn_layers=[1,2]":    "text_config.linear_attn_config.full_attn_layers",
		`text_config.hidden_act="gelu"`:                            "text_config.hidden_act",
		"-text_config.v_head_dim":                                  "text_config.v_head_dim",
		`text_config.quantization_config.format="float-quantized"`: "text_config.quantization_config.format",
	} {
		in, problems := p.InstantiateRelease(View{Config: edited(t, "k3-config.json", edit)})
		if in == nil || in.Release == nil || in.Totals().Tensors != 497_220 {
			t.Errorf("%s: no official instance: %+v", edit, problems)
		}
		if len(problems) != 1 || problems[0].Field != field || problems[0].Bounds {
			t.Errorf("%s: %+v", edit, problems)
		}
	}
	if in, problems := p.InstantiateRelease(View{Config: readConfig(t, "k3-config.json")}); in.Release == nil || problems != nil {
		t.Errorf("the official config: %+v", problems)
	}
}

// A_log alone does not follow from the config: the release has 96 heads and
// 128 values.
func TestK3ALogLength(t *testing.T) {
	f, _, _ := find(k3(t), "language_model.model.layers.0.self_attn.A_log")
	for n, want := range map[uint64]bool{95: false, 96: true, 128: true, 100_000: true} {
		if f.AcceptsShape([]uint64{n}) != want {
			t.Errorf("[%d] is accepted: %v", n, !want)
		}
	}
	if f.AcceptsShape([]uint64{96, 1}) || f.AcceptsShape(nil) {
		t.Error("another rank is accepted")
	}
	small := instantiate(t, profile(t, "kimi-k3"), View{Config: edited(t, "k3-config.json", "text_config.linear_attn_config.num_heads=8")})
	f, _, _ = find(small, "language_model.model.layers.0.self_attn.A_log")
	if got := f.Sizes()[0]; got != 11 || f.Shapes[0].String() != "[≥8]" {
		t.Errorf("8 heads are written as %d values, %s", got, f.Shapes[0])
	}
	// The gate has the width of its layer's kind of attention.
	kda, _, _ := find(small, "language_model.model.layers.0.self_attn.g_proj.weight")
	mla, _, _ := find(small, "language_model.model.layers.3.self_attn.g_proj.weight")
	if kda == mla || kda.Sizes()[0] != 8*128 || mla.Sizes()[0] != 96*128 {
		t.Errorf("gates %+v and %+v", kda, mla)
	}
}

func TestEngineNamesByKind(t *testing.T) {
	in := k3(t)
	f, _, _ := find(in, "language_model.model.layers.0.self_attn.o_proj.weight")
	for layer, want := range map[uint32]string{0: "blk.{i}.ssm_out.weight", 3: "blk.{i}.attn_output.weight", 92: "blk.{i}.attn_output.weight"} {
		if got := f.EngineNames(in, layer); len(got) != 1 || got[0] != want {
			t.Errorf("layer %d: %v", layer, got)
		}
	}
}
