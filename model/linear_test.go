package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ckpt/dtype"
)

type linearSchema struct {
	LayerSets map[string][]uint32 `json:"layer_sets"`
	Source    []schemaFamily      `json:"source_families"`
	Converted []struct {
		schemaFamily
		AxisTP4   *int `json:"axis_tp4"`
		Source    string
		Transform *string
	} `json:"converted_families"`
}

func linear(t *testing.T, name string) *Instance {
	return instantiate(t, profile(t, name), View{Config: readConfig(t, "kimi-linear-config.json")})
}

func checkFamily(t *testing.T, w *schemaFamily, f *Family) {
	t.Helper()
	want, _ := dtype.Parse(w.DType)
	if f.Pattern != w.Pattern || f.DTypes[0] != want || f.LayerSet != deref(w.Layers) || f.Experts != deref(w.Experts) {
		t.Errorf("%s: got %+v", w.Pattern, f)
	}
	if diff := cmp.Diff(w.Shape, f.Sizes()); diff != "" {
		t.Errorf("%s: %s", w.Pattern, diff)
	}
}

func TestKimiLinearFamilies(t *testing.T) {
	var want linearSchema
	readJSON(t, "kimi-linear-schema.json", &want)
	in := linear(t, "kimi-linear")
	got := expected(in)
	if len(got) != len(want.Source) {
		t.Fatalf("%d families, want %d", len(got), len(want.Source))
	}
	for i := range want.Source {
		checkFamily(t, &want.Source[i], got[i])
	}
	for set, layers := range want.LayerSets {
		if diff := cmp.Diff(layers, in.Sets[set]); diff != "" {
			t.Errorf("set %s: %s", set, diff)
		}
	}
}

// The release stores some small tensors as F32 and has spelled a bias and a
// shape in two ways.
func TestKimiLinearAccepts(t *testing.T) {
	in := linear(t, "kimi-linear")
	for _, name := range []string{"A_log", "dt_bias", "o_norm.weight", "q_conv1d.weight"} {
		f, _, ok := find(in, "model.layers.0.self_attn."+name)
		if !ok || !f.AcceptsDType(dtype.F32) || !f.AcceptsDType(dtype.BF16) || f.AcceptsDType(dtype.F16) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	f, _, _ := find(in, "model.layers.0.self_attn.A_log")
	if !f.AcceptsShape([]uint64{32}) || !f.AcceptsShape([]uint64{1, 1, 32, 1}) || f.AcceptsShape([]uint64{32, 1}) {
		t.Errorf("A_log accepts %v", f.Shapes)
	}
	long, ordinal, ok := find(in, "model.layers.5.block_sparse_moe.gate.e_score_correction_bias")
	short, same, early := find(in, "model.layers.5.block_sparse_moe.gate.e_score_correction")
	if !ok || !early || long != short || ordinal != same || !long.AcceptsDType(dtype.F32) {
		t.Errorf("correction bias: %+v %d, %+v %d", long, ordinal, short, same)
	}
	kda, _, _ := find(in, "model.layers.0.self_attn.q_proj.weight")
	mla, _, _ := find(in, "model.layers.3.self_attn.q_proj.weight")
	if kda == mla || !kda.AcceptsShape([]uint64{4096, 2304}) || !mla.AcceptsShape([]uint64{6144, 2304}) {
		t.Errorf("q_proj of both kinds: %+v, %+v", kda, mla)
	}
}

func TestKimiLinearEarlySpelling(t *testing.T) {
	early := pattern("model.layers.{}.block_sparse_moe.gate.e_score_correction", 26)
	in := instantiate(t, profile(t, "kimi-linear"),
		View{Config: readConfig(t, "kimi-linear-config.json"), Patterns: []PatternCount{early}})
	f, ordinal, ok := find(in, "model.layers.1.block_sparse_moe.gate.e_score_correction")
	if !ok || f.NameAt(ordinal) != "model.layers.1.block_sparse_moe.gate.e_score_correction" {
		t.Errorf("the spelling in use is not the family's own: %+v", f)
	}
}

func TestKimiLinearConverted(t *testing.T) {
	var want linearSchema
	readJSON(t, "kimi-linear-schema.json", &want)
	in := linear(t, "kimi-linear-mxfp4")
	got := expected(in)
	if len(got) != len(want.Converted) {
		t.Fatalf("%d families, want %d", len(got), len(want.Converted))
	}
	for i := range want.Converted {
		w, f := &want.Converted[i], got[i]
		checkFamily(t, &w.schemaFamily, f)
		axis := Replicated
		if w.AxisTP4 != nil {
			axis = *w.AxisTP4
		}
		if f.Axis != axis || f.Source.Pattern != w.Source || f.Source.Transform != deref(w.Transform) {
			t.Errorf("%s: axis %d, source %+v", f.Pattern, f.Axis, f.Source)
		}
	}
	totals := in.Totals()
	if totals.Tensors != 688 || totals.Bytes != 29_051_930_368 {
		t.Errorf("%d tensors, %d bytes", totals.Tensors, totals.Bytes)
	}
	if in.Release == nil || in.Release.Totals.Tensors != 688 || in.Release.Totals.Files != 106 {
		t.Errorf("release %+v", in.Release)
	}
	packed, ordinal, ok := find(in, "blk.7.ffn_down_exps.weight")
	scale, same, there := find(in, "blk.7.ffn_down_exps.weight_scale")
	if !ok || !there || packed.Scale != scale || scale.ScaleOf != packed || ordinal != same || packed.ScaleGroup != 32 {
		t.Errorf("packed %+v and scale %+v", packed, scale)
	}
}
