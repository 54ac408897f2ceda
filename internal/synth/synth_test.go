package synth

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ckpt/internal/newfile"
	"ckpt/model"
)

// makes synthesises into a new directory.
func makes(t *testing.T, family string, opts Options) (string, *Result) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkpoint")
	r, err := Synth(t.Context(), family, dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func TestPresetsAreComplete(t *testing.T) {
	for _, family := range Families() {
		for _, name := range Presets(family) {
			t.Run(family+" "+name, func(t *testing.T) {
				dir, r := makes(t, family, Options{Preset: name})
				if got := len(parseDir(t, dir)); got != r.Tensors {
					t.Errorf("%d tensors, not %d", got, r.Tensors)
				}
				if r.FileBytes > 40e6 || r.Files < 3 {
					t.Errorf("%d bytes in %d files", r.FileBytes, r.Files)
				}
				for _, f := range []string{"config.json", MarkerFile} {
					if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// Every preset splits over eight ranks, scale groups whole.
func TestPresetsSplitOverEightRanks(t *testing.T) {
	for _, family := range Families() {
		for _, name := range Presets(family) {
			l, err := layoutOf(family)
			if err != nil {
				t.Fatal(err)
			}
			c, err := configOf(l.Config, Options{Preset: name})
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := model.ParseConfig(c.text)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := model.Named(l.Profile)
			in, problems := p.Instantiate(model.View{Config: parsed})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			for _, f := range in.Families {
				if f.Axis != model.Replicated && f.Sizes()[f.Axis]%8 != 0 {
					t.Errorf("%s %s: %s %v splits on axis %d", family, name, f.Pattern, f.Sizes(), f.Axis)
				}
			}
		}
	}
}

// contentsOf reads a directory as one map.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}

func TestSameSeedSameBytes(t *testing.T) {
	one, _ := makes(t, "kimi-k3", Options{Preset: "mini", Seed: 7})
	two, _ := makes(t, "kimi-k3", Options{Preset: "mini", Seed: 7})
	three, _ := makes(t, "kimi-k3", Options{Preset: "mini", Seed: 8})
	a, b, c := contentsOf(t, one), contentsOf(t, two), contentsOf(t, three)
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s differs between equal seeds", name)
		}
		differs := name == MarkerFile || strings.HasSuffix(name, ".safetensors")
		if (a[name] != c[name]) != differs {
			t.Errorf("%s: differs between seeds: %v", name, !differs)
		}
	}
	if want := `{
  "schema": "ckpt.synth/v1",
  "family": "kimi-k3",
  "preset": "mini",
  "seed": 7,
  "layers": 8,
  "experts": 16
}
`; a[MarkerFile] != want {
		t.Errorf("marker: %s", a[MarkerFile])
	}
}

func TestLayersAndExperts(t *testing.T) {
	for _, test := range []struct {
		opts    Options
		experts int // tensors of routed experts
	}{
		{Options{Preset: "mini", Layers: 1}, 0},
		{Options{Preset: "mini", Layers: 4}, 3 * 16 * 6},
		{Options{Preset: "mini", Layers: 12}, 11 * 16 * 6},
		{Options{Preset: "mini", Experts: 2}, 7 * 2 * 6},
		{Options{Preset: "mini", Layers: 3, Experts: 40}, 2 * 40 * 6},
	} {
		dir, r := makes(t, "kimi-k3", test.opts)
		experts := 0
		for name := range parseDir(t, dir) {
			if strings.Contains(name, ".experts.") {
				experts++
			}
		}
		if experts != test.experts {
			t.Errorf("%+v: %d tensors of experts, not %d", test.opts, experts, test.experts)
		}
		if files := len(weightFiles(t, dir)); files != r.Layers+3 || r.Files != files {
			t.Errorf("%+v: %d files", test.opts, files)
		}
	}
}

// Four layers at full size: the release's own headers, though in files of
// another name, and the release's order of files in the index.
func TestFourLayersKeepTheOrder(t *testing.T) {
	dir, _ := makes(t, "kimi-k3", Options{Full: true, Layers: 4})
	for i, s := range k3Shards(t)[:4] {
		path := weightFiles(t, dir)[i]
		if size, hash := headerHash(t, path); size != s.Bytes || hash != s.Header {
			t.Errorf("%s: %d bytes, header %s", path, size, hash)
		}
	}
	index := contentsOfFile(t, filepath.Join(dir, IndexFile))
	var order []string
	for line := range strings.Lines(index) {
		if _, file, ok := strings.Cut(line, `": "model-0000`); ok && !slices.Contains(order, file[:1]) {
			order = append(order, file[:1])
		}
	}
	// The release has 1, 3, 2, 95, 96, 4, 94.
	if got := strings.Join(order, " "); got != "1 3 2 6 7 4 5" {
		t.Errorf("files of the index: %s", got)
	}
	config := contentsOfFile(t, filepath.Join(dir, "config.json"))
	if !strings.Contains(config, "\"num_hidden_layers\": 4,") || !strings.Contains(config, "\"full_attn_layers\": [\n        4\n      ],") {
		t.Errorf("config: %s", config)
	}
}

func contentsOfFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOtherFamiliesAtFullSize(t *testing.T) {
	for family, want := range map[string]Result{
		// The released and the converted Kimi-Linear-48B-A3B, and Llama 3.1 8B.
		"kimi-linear":       {Files: 20, Tensors: 20493, TotalSize: 98_245_363_456},
		"kimi-linear-mxfp4": {Files: 106, Tensors: 688, TotalSize: 29_051_930_368},
		"llama":             {Files: 4, Tensors: 291, TotalSize: 16_060_522_496},
	} {
		dir, r := makes(t, family, Options{Full: true})
		if r.Files != want.Files || r.Tensors != want.Tensors || r.TotalSize != want.TotalSize {
			t.Errorf("%s: %+v", family, r)
		}
		if disk := diskUsage(t, dir); disk > 20<<20 {
			t.Errorf("%s: %d bytes of disk", family, disk)
		}
	}
}

func TestConvertedLayoutHasItsManifest(t *testing.T) {
	dir, _ := makes(t, "kimi-linear-mxfp4", Options{Preset: "mini", Layers: 2})
	want := `{
  "format": "tinygrad-kimi-mxfp4-v2",
  "tensor_count": 51,
  "logical_bytes": 4271792,
  "files": [
    "model-common.safetensors",
    "model-layer-00.safetensors",
    "model-layer-01.safetensors",
    "model-layer-01-w1-mxfp4.safetensors",
    "model-layer-01-w3-mxfp4.safetensors",
    "model-layer-01-w2-mxfp4.safetensors"
  ]
}
`
	if got := contentsOfFile(t, filepath.Join(dir, "tinygrad-kimi.json")); got != want {
		t.Errorf("manifest: %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, IndexFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("index: %v", err)
	}
}

func TestTiedHasNoHead(t *testing.T) {
	dir, _ := makes(t, "llama", Options{Preset: "mini-tied"})
	if _, ok := parseDir(t, dir)["lm_head.weight"]; ok {
		t.Error("a tied model has a head")
	}
}

func TestRefusesOptions(t *testing.T) {
	for name, test := range map[string]struct {
		family string
		opts   Options
		words  string
	}{
		"unknown family":   {"kimi-k4", Options{Full: true}, "kimi-linear-mxfp4"},
		"path as a family": {"../layouts/kimi-k3", Options{Full: true}, "unknown family"},
		"unknown preset":   {"kimi-k3", Options{Preset: "micro"}, "mini"},
		"neither":          {"kimi-k3", Options{}, "mini"},
		"both":             {"kimi-k3", Options{Full: true, Preset: "mini"}, "exclude"},
		"negative layers":  {"kimi-k3", Options{Full: true, Layers: -1}, "1…512"},
		"too many layers":  {"kimi-k3", Options{Full: true, Layers: 1 << 30}, "1…512"},
		"negative experts": {"kimi-k3", Options{Full: true, Experts: -1}, "1…8192"},
		"too many experts": {"kimi-k3", Options{Full: true, Experts: 1 << 30}, "1…8192"},
		"llama's experts":  {"llama", Options{Full: true, Experts: 8}, "no experts"},
	} {
		dir := filepath.Join(t.TempDir(), "x")
		_, err := Synth(t.Context(), test.family, dir, test.opts)
		var oe *OptionError
		if !errors.As(err, &oe) || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the directory was made", name)
		}
	}
}

func TestRefusesDestinations(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.Mkdir(at("full"), 0o700), os.WriteFile(at("full/x"), nil, 0o600),
		os.Mkdir(at("empty"), 0o700), os.WriteFile(at("file"), nil, 0o600), os.Symlink("empty", at("link")))
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"full": false, "file": false, "link": false, "no/parent": false, "empty": true} {
		if _, err := Synth(t.Context(), "llama", at(name), Options{Preset: "mini"}); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Synth(t.Context(), "llama", at("full"), Options{Preset: "mini"}); !errors.Is(err, newfile.ErrNotEmpty) {
		t.Errorf("full: %v", err)
	}
}

// unsloth 1122: a run died and its directory looked finished.
func TestIssue1122InterruptedLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Synth(ctx, "kimi-k3", dir, Options{Preset: "mini", Progress: stopAfter{cancel}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory stays")
	}
}

// stopAfter cancels when the first file is done.
type stopAfter struct{ cancel context.CancelFunc }

func (s stopAfter) Start(string, int64, string) {}
func (s stopAfter) Add(int64)                   { s.cancel() }
func (s stopAfter) Stop()                       {}
