package model

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ckpt/dtype"
	"ckpt/internal/names"
)

// schemaFamily is a family in the published description of the release.
type schemaFamily struct {
	Pattern    string
	Tower      string
	Group      string
	DType      string
	Shape      []uint64
	Layers     *string
	Experts    *int64
	Blocks     *int64
	Count      int64
	BytesEach  int64 `json:"bytes_each"`
	BytesTotal int64 `json:"bytes_total"`
	Engine     *struct {
		Names       []string
		NamesByKind map[string][]string `json:"names_by_kind"`
		Shape       json.RawMessage
		Axis        *int
	}
}

type k3Schema struct {
	Expect    ReleaseTotals
	LayerSets map[string][]uint32 `json:"layer_sets"`
	Families  []schemaFamily
}

func readJSON(t testing.TB, name string, to any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}

func readConfig(t testing.TB, name string) *Config {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func profile(t testing.TB, name string) *Profile {
	t.Helper()
	p, ok := Named(name)
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

func instantiate(t testing.TB, p *Profile, v View) *Instance {
	t.Helper()
	in, problems := p.Instantiate(v)
	if len(problems) > 0 || in == nil {
		t.Fatalf("instance %v, problems %+v", in, problems)
	}
	return in
}

func k3(t testing.TB) *Instance {
	return instantiate(t, profile(t, "kimi-k3"), View{Config: readConfig(t, "k3-config.json")})
}

// expected are the families of an instance that are not merely tolerated.
func expected(in *Instance) []*Family {
	var list []*Family
	for _, f := range in.Families {
		if !f.Tolerated {
			list = append(list, f)
		}
	}
	return list
}

func TestK3FamiliesAreThoseOfTheRelease(t *testing.T) {
	var want k3Schema
	readJSON(t, "k3-schema.json", &want)
	in := k3(t)
	got := expected(in)
	if len(got) != 60 || len(want.Families) != 60 {
		t.Fatalf("%d families, the release has %d", len(got), len(want.Families))
	}
	for i, w := range want.Families {
		f := got[i]
		wantType, _ := dtype.Parse(w.DType)
		if f.Pattern != w.Pattern || f.Tower != w.Tower || f.Group != w.Group || f.Count != w.Count ||
			f.Each != w.BytesEach || f.Bytes != w.BytesTotal || len(f.DTypes) != 1 || f.DTypes[0] != wantType {
			t.Errorf("%s: got %+v, want %+v", w.Pattern, f, w)
		}
		if diff := cmp.Diff(w.Shape, f.Sizes()); diff != "" || !f.AcceptsShape(w.Shape) {
			t.Errorf("%s: shape %s", w.Pattern, diff)
		}
		if deref(w.Layers) != f.LayerSet || deref(w.Experts) != f.Experts || deref(w.Blocks) != f.Blocks {
			t.Errorf("%s: layers %q, experts %d, blocks %d", w.Pattern, f.LayerSet, f.Experts, f.Blocks)
		}
		checkEngine(t, &w, f)
	}
	for set, layers := range want.LayerSets {
		if diff := cmp.Diff(layers, in.Sets[set]); diff != "" {
			t.Errorf("set %s: %s", set, diff)
		}
	}
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func checkEngine(t *testing.T, w *schemaFamily, f *Family) {
	t.Helper()
	if w.Engine == nil || f.Engine == nil {
		if w.Engine != nil || f.Engine != nil {
			t.Errorf("%s: engine %v, want %v", f.Pattern, f.Engine, w.Engine)
		}
		return
	}
	axis := Replicated
	if w.Engine.Axis != nil {
		axis = *w.Engine.Axis
	}
	if f.Engine.Axis != axis {
		t.Errorf("%s: axis %d, want %d", f.Pattern, f.Engine.Axis, axis)
	}
	if len(w.Engine.Names) > 0 && !cmp.Equal(w.Engine.Names, f.Engine.Names) ||
		len(w.Engine.NamesByKind) > 0 && !cmp.Equal(w.Engine.NamesByKind, f.Engine.NamesByKind) {
		t.Errorf("%s: engine names %v %v", f.Pattern, f.Engine.Names, f.Engine.NamesByKind)
	}
	var shapes [][]uint64
	if json.Unmarshal(w.Engine.Shape, &shapes) != nil {
		shapes = make([][]uint64, 1)
		if err := json.Unmarshal(w.Engine.Shape, &shapes[0]); err != nil {
			t.Fatal(err)
		}
	}
	for i, shape := range shapes {
		if diff := cmp.Diff(shape, f.Engine.Shapes[i].Sizes()); diff != "" {
			t.Errorf("%s: engine shape %s", f.Pattern, diff)
		}
	}
}

func TestK3Totals(t *testing.T) {
	in := k3(t)
	got := in.Totals()
	want := Totals{Tensors: 497_220, Bytes: 1_560_860_324_864, ExpertTensors: 494_592, Towers: map[string]TowerTotals{
		"language":  {497_052, 1_559_965_606_912},
		"vision":    {165, 802_428_928},
		"projector": {3, 92_289_024},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if in.Release == nil {
		t.Fatal("the official config is not recognised as the release")
	}
	var schema k3Schema
	readJSON(t, "k3-schema.json", &schema)
	if diff := cmp.Diff(schema.Expect, in.Release.Totals); diff != "" {
		t.Error(diff)
	}
}

func TestK3ReleaseFiles(t *testing.T) {
	var want struct {
		Shards []struct {
			File         string
			Bytes        int64
			HeaderLen    int64  `json:"header_len"`
			HeaderSHA256 string `json:"header_sha256"`
			SHA256       string
		}
	}
	readJSON(t, "k3-shards.json", &want)
	r := k3(t).Release
	if len(r.Files) != 96 || len(want.Shards) != 96 {
		t.Fatalf("%d files", len(r.Files))
	}
	for _, w := range want.Shards {
		f, ok := r.File(w.File)
		if !ok || *f != (ReleaseFile{w.File, w.Bytes, w.HeaderLen, w.HeaderSHA256, w.SHA256}) {
			t.Errorf("%s: %+v", w.File, f)
		}
	}
}

// TestK3NamesBind goes from every one of the 497,220 ordinals to its name and
// back, and counts that no name occurs twice.
func TestK3NamesBind(t *testing.T) {
	in := k3(t)
	seen := make(map[string]bool, 500_000)
	var name, text []byte
	for _, f := range expected(in) {
		for ordinal := range f.Count {
			name = f.AppendName(name[:0], ordinal)
			if seen[string(name)] {
				t.Fatalf("%s occurs twice", name)
			}
			seen[string(name)] = true
			var n [names.Slots]uint32
			var slots int
			text, n, slots = names.Split(text[:0], name)
			g, back, ok := in.Bind(string(text), slots).Family(n)
			if !ok || g != f || back != ordinal {
				t.Fatalf("%s: bound to %v, ordinal %d of %d", name, g, back, ordinal)
			}
		}
	}
	if len(seen) != 497_220 {
		t.Errorf("%d names", len(seen))
	}
}
