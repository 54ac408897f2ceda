package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ckpt/internal/synth"
)

// Facts of the release at TP8, in bytes.
const (
	k3Rank       = 196_784_397_312 // as stored
	k3RankHeads  = 196_784_365_296 // with A_log narrowed to heads and split
	k3Replicated = 2_044_224_512
	k3Text       = 1_559_965_606_912
	k3Skipped    = 894_717_952
	k3Layer      = 1_965_293_568 // the experts of one layer
	k3Tensors    = 497_220
)

// k3Groups are bytes of all and of one rank, by group.
var k3Groups = map[string][2]int64{
	"routed-experts":   {1_446_456_066_048, 180_807_008_256},
	"kda":              {36_948_071_424, 4_729_359_360},
	"attention-common": {32_765_902_848, 4_095_737_856},
	"shared-experts":   {24_310_185_984, 3_038_773_248},
	"latent-moe":       {9_454_620_672, 1_182_404_608},
	"global":           {4_697_663_488, 587_245_568},
	"mla":              {2_689_695_744, 972_128_256},
	"dense-mlp":        {1_453_326_336, 181_665_792},
	"router":           {1_182_074_880, 1_182_074_880},
	"norms+attnres":    {7_999_488, 7_999_488},
	"vision":           {802_428_928, 0},
	"projector":        {92_289_024, 0},
}

type k3Family struct {
	Pattern string   `json:"pattern"`
	Group   string   `json:"group"`
	Tower   string   `json:"tower"`
	Count   int64    `json:"count"`
	Total   int64    `json:"bytes_total"`
	PerRank int64    `json:"bytes_per_rank_tp8"`
	Axis    *int     `json:"axis"`
	Names   []string `json:"names"`
}

func k3Families(t *testing.T) []k3Family {
	t.Helper()
	var doc struct {
		Families []k3Family `json:"families"`
	}
	text, err := os.ReadFile("testdata/kimi-k3-families.json")
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil || len(doc.Families) != 60 {
		t.Fatal(len(doc.Families), err)
	}
	return doc.Families
}

func TestFullKimiK3(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 136 MB")
	}
	dir := filepath.Join(t.TempDir(), "k3")
	if _, err := synth.Synth(t.Context(), "kimi-k3", dir, synth.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	c, m := openAt(t, dir, "auto")
	p := planOf(t, c, m, Topology{TP: 8}, Options{})
	t.Run("bytes", func(t *testing.T) { k3Bytes(t, p) })
	t.Run("families", func(t *testing.T) { k3ByFamily(t, p) })
	t.Run("experts of a layer", func(t *testing.T) { k3Experts(t, p) })
	t.Run("a-log heads", func(t *testing.T) {
		p := planOf(t, c, m, Topology{TP: 8}, Options{ALog: ALogHeads})
		k3Equal(t, "bytes of every rank", rankBytes(t, p), k3RankHeads)
		k3Equal(t, "read", p.Totals.Read, k3Text)
		k3Equal(t, "dropped", p.Totals.Dropped, 69*32*4)
	})
	t.Run("checkpoint layout", func(t *testing.T) {
		p := planOf(t, c, m, Topology{TP: 8}, Options{Layout: LayoutCheckpoint})
		k3Equal(t, "bytes of every rank", rankBytes(t, p), k3Rank)
		k3Equal(t, "tensors of a rank", p.Ranks[7].Tensors, 497_052)
	})
	t.Run("degrees", func(t *testing.T) {
		for _, tp := range []int{1, 2, 4, 8, 16, 32} {
			p, err := New(c, m, Topology{TP: tp}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			prove(t, p)
			k3Equal(t, fmt.Sprint("bytes at TP", tp), rankBytes(t, p), (k3Text-k3Replicated)/int64(tp)+k3Replicated)
		}
		for _, top := range []Topology{{8, 8, 1}, {8, 2, 4}, {1, 8, 2}, {16, 4, 3}} {
			p, err := New(c, m, top, Options{})
			if err != nil {
				t.Fatal(err)
			}
			prove(t, p)
			k3Equal(t, "read", p.Totals.Read, k3Text)
		}
	})
	t.Run("refused degrees", func(t *testing.T) {
		for tp, want := range map[int][]string{
			12: {"163840 entries of the vocabulary do not divide by 12", "3584 columns do not divide by 12"},
			64: {"96 heads do not divide by 64", "96 groups do not divide by 64"},
			3:  {"163840 entries of the vocabulary do not divide by 3"},
		} {
			_, err := New(c, m, Topology{TP: tp}, Options{})
			refused(t, err, "TP", []int{1, 2, 4, 8, 16, 32}, want...)
		}
		_, err := New(c, m, Topology{TP: 6, EP: 6}, Options{})
		refused(t, err, "EP", nil, "896 experts do not divide by 6")
		_, err = New(c, m, Topology{PP: 94}, Options{})
		refused(t, err, "PP", nil, "93 layers are fewer than 94 stages")
	})
	t.Run("sketch", func(t *testing.T) { k3Sketch(t, m, p) })
	t.Run("files", func(t *testing.T) { k3Files(t, p) })
}

func k3Equal(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// rankBytes is what every rank holds; they must be equal.
func rankBytes(t *testing.T, p *Plan) int64 {
	t.Helper()
	for _, r := range p.Ranks {
		if r.Bytes != p.Ranks[0].Bytes {
			t.Fatalf("ranks differ: %+v", p.Ranks)
		}
	}
	return p.Ranks[0].Bytes
}

func k3Bytes(t *testing.T, p *Plan) {
	// A machine with half of the ranks reads half of what is split, and all of the rest.
	half, err := p.Node([]int{0, 1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	k3Equal(t, "bytes that four of eight ranks read", half.Read, (k3Text-k3Replicated)/2+k3Replicated)
	k3Equal(t, "bytes of every rank", rankBytes(t, p), k3Rank)
	k3Equal(t, "ranks", int64(len(p.Ranks)), 8)
	k3Equal(t, "replicated", p.Totals.Replicated, k3Replicated)
	k3Equal(t, "read", p.Totals.Read, k3Text)
	k3Equal(t, "skipped", p.Totals.Skipped, k3Skipped)
	k3Equal(t, "source", p.Totals.Source, k3Text+k3Skipped)
	k3Equal(t, "device", p.Totals.Device, 8*k3Rank)
	k3Equal(t, "padding", p.Totals.Padding, 0)
	k3Equal(t, "gaps", p.Totals.Gaps, 0)
	k3Equal(t, "tensors", p.Totals.Tensors, k3Tensors)
	k3Equal(t, "extents", p.Totals.Extents, 94) // one a file that has text
	sum := int64(0)
	for i := range p.Program.Extents {
		sum += p.Program.Extents[i].Bytes
	}
	k3Equal(t, "bytes of extents", sum, k3Text)
	for _, g := range p.Groups {
		k3Equal(t, "all bytes of "+g.Group, g.Total, k3Groups[g.Group][0])
		k3Equal(t, "a rank's bytes of "+g.Group, g.PerRank, k3Groups[g.Group][1])
	}
	k3Equal(t, "groups", int64(len(p.Groups)), int64(len(k3Groups)))
}

func k3ByFamily(t *testing.T, p *Plan) {
	list := k3Families(t)
	k3Equal(t, "families", int64(len(p.Families)), int64(len(list)))
	for _, want := range list {
		i := slices.IndexFunc(p.Families, func(f Family) bool { return f.Pattern == want.Pattern })
		if i < 0 {
			t.Errorf("there is no %s", want.Pattern)
			continue
		}
		f := &p.Families[i]
		k3Equal(t, "count of "+f.Pattern, f.Count, want.Count)
		k3Equal(t, "all bytes of "+f.Pattern, f.Total, want.Total)
		k3Equal(t, "a rank's bytes of "+f.Pattern, f.PerRank, want.PerRank)
		got := slices.Sorted(slices.Values(f.Names))
		slices.Sort(want.Names)
		if f.Group != want.Group || f.Tower != want.Tower || !slices.Equal(got, want.Names) {
			t.Errorf("%s: %s %s %v, want %+v", f.Pattern, f.Group, f.Tower, got, want)
		}
		action := Replicate
		if want.Tower != "language" {
			action = Skip
		} else if want.Axis != nil {
			action = Split
		}
		if f.Action != action {
			t.Errorf("%s: %s, want %s", f.Pattern, f.Action, action)
		}
		for k := range p.Program.Templates {
			tm := &p.Program.Templates[k]
			if tm.Family != i {
				continue
			}
			for _, o := range tm.Outputs {
				if axis := o.Axis; want.Axis == nil && axis >= 0 || want.Axis != nil && axis != *want.Axis {
					t.Errorf("%s: axis %d of the engine's shape, want %v", o.Name, axis, want.Axis)
				}
			}
		}
	}
}

func k3Experts(t *testing.T, p *Plan) {
	sums := map[string]int64{}
	for x := range p.Tensors(5) {
		if strings.Contains(x.Name, "_exps.") {
			sums[strings.Split(x.Name, ".")[1]] += x.Bytes
			if len(x.Sources) != 896 {
				t.Errorf("%s is made of %d tensors", x.Name, len(x.Sources))
			}
		}
	}
	k3Equal(t, "layers with experts", int64(len(sums)), 92)
	for layer, n := range sums {
		k3Equal(t, "experts of layer "+layer, n, k3Layer)
	}
	// The region of a layer is one run of 896 records of 17,547,264 bytes.
	runs := 0
	for i := range p.Program.Extents {
		for _, r := range p.Program.Extents[i].Runs {
			if r.Count > 1 {
				runs++
				if r.Count != 896 || r.Stride != 17_547_264 || len(r.Pieces) != 6 {
					t.Errorf("a run of %d records of %d bytes", r.Count, r.Stride)
				}
			}
		}
	}
	k3Equal(t, "runs of experts", int64(runs), 92)
	if n := len(p.Program.Orders); n != 1 {
		t.Errorf("%d orders of experts", n)
	}
}

func k3Sketch(t *testing.T, m *Model, p *Plan) {
	q, err := Sketch(m, p.Topology(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	q.Program, q.Source, q.Proof = p.Program, p.Source, p.Proof
	q.Totals.Extents, q.Totals.Gaps = p.Totals.Extents, p.Totals.Gaps
	if d := Diff(p, q); len(d) > 0 || q.Totals != p.Totals {
		t.Errorf("%+v\n%+v\n%+v", d, q.Totals, p.Totals)
	}
}

// A plan file stays small: the experts are patterns, not half a million lines.
func k3Files(t *testing.T, p *Plan) {
	dir := t.TempDir()
	for _, name := range []string{"plan.json", "plan.json.zst"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Write(f, Compressed(name)), f.Close()); err != nil {
			t.Fatal(err)
		}
		if f, err = os.Open(f.Name()); err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if most := map[bool]int64{false: 400_000, true: 60_000}[Compressed(name)]; info.Size() > most {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
		q, err := Read(f)
		if err != nil {
			t.Fatal(err)
		}
		if d := Diff(p, q); len(d) > 0 {
			t.Errorf("%s: %+v", name, d)
		}
		prove(t, q)
	}
}

// refused demands a refusal of a degree, for these reasons among others.
func refused(t *testing.T, err error, degree string, works []int, reasons ...string) {
	t.Helper()
	var e *SplitError
	if !errors.As(err, &e) || !errors.Is(err, ErrSplit) || e.Degree != degree {
		t.Fatalf("%v is no refusal of %s", err, degree)
	}
	if works != nil && !slices.Equal(e.Works, works) {
		t.Errorf("%v: works with %v, want %v", err, e.Works, works)
	}
	for _, want := range reasons {
		if !slices.ContainsFunc(e.Refusals, func(r Refusal) bool { return strings.Contains(r.Reason, want) }) {
			t.Errorf("%+v lack %q", e.Refusals, want)
		}
	}
}

func TestKimiLinearMXFP4AtTP4(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kimi-linear")
	if _, err := synth.Synth(t.Context(), "kimi-linear-mxfp4", dir, synth.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	var facts struct {
		Rank     int64 `json:"bytes_per_rank_tp4"`
		Families []struct {
			Pattern string   `json:"pattern"`
			Axis    *int     `json:"axis"`
			Shape   []uint64 `json:"shape"`
			Layers  *string  `json:"layers"`
		} `json:"families"`
	}
	text, err := os.ReadFile("testdata/kimi-linear-mxfp4-axes.json")
	if err == nil {
		err = json.Unmarshal(text, &facts)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, m := openAt(t, dir, "auto")
	p := planOf(t, c, m, Topology{TP: 4}, Options{})
	k3Equal(t, "bytes of every rank", rankBytes(t, p), facts.Rank)
	k3Equal(t, "bytes of every rank", rankBytes(t, p), 7_317_824_320)
	for _, want := range facts.Families {
		i := slices.IndexFunc(p.Families, func(f Family) bool { return f.Pattern == want.Pattern && slices.Equal(f.Shape, want.Shape) })
		if i < 0 {
			t.Errorf("there is no %s %v", want.Pattern, want.Shape)
			continue
		}
		if got := p.Families[i].Axis; (got == nil) != (want.Axis == nil) || got != nil && *got != *want.Axis {
			t.Errorf("%s is split on axis %v", want.Pattern, got)
		}
	}
	// Experts of one layer lie in one tensor; EP takes ranges of it.
	for _, top := range []Topology{{4, 2, 1}, {2, 8, 1}, {4, 4, 3}} {
		p := planOf(t, c, m, top, Options{})
		f := family(t, p, "ffn_down_exps.weight")
		k3Equal(t, "parts", int64(f.Parts), int64(max(top.TP, top.EP)))
		k3Equal(t, "a rank's bytes of experts", f.Total/int64(max(top.TP, top.EP)), sumOf(f.Stages))
	}
	_, err = New(c, m, Topology{TP: 64}, Options{})
	refused(t, err, "TP", []int{1, 2, 4, 8, 16, 32}, "32 heads do not divide by 64")
}

func sumOf(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}
