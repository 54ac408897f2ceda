package convert

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ckpt/checkpoint"
	"ckpt/dtype"
	ckptfs "ckpt/internal/fs"
	"ckpt/internal/newfile"
	"ckpt/internal/synth"
	"ckpt/model"
	"ckpt/safetensors"
)

// source synthesises a checkpoint.
func source(t *testing.T, family string, opts synth.Options) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "source")
	if _, err := synth.Synth(t.Context(), family, dir, opts); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shared holds the one mini K3 of all tests.
var shared string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "convert")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	shared = filepath.Join(dir, "mini")
	if _, err := synth.Synth(context.Background(), "kimi-k3", shared, synth.Options{Preset: "mini"}); err != nil {
		panic(err)
	}
	return m.Run()
}

// mini is a directory of the test's own with the files of the shared mini K3,
// as hard links: none of them is ever written to.
func mini(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "source")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(list(t, shared)) {
		if err := os.Link(filepath.Join(shared, f), filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func sliced(t *testing.T, src string, layers int) (string, *SliceResult) {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "slice")
	r, err := Slice(t.Context(), src, dst, layers, SliceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return dst, r
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// open reads a checkpoint strictly, with the bytes of all tensors.
func open(t *testing.T, dir string) (*checkpoint.Checkpoint, map[string][]byte) {
	t.Helper()
	c, err := checkpoint.Open(t.Context(), dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{}
	for x := range c.Tensors() {
		f, err := os.Open(x.File.Path)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, x.Size)
		if _, err := f.ReadAt(b, x.Offset); err != nil {
			t.Fatal(err)
		}
		f.Close()
		data[x.Name] = append([]byte(x.DType.String()), b...)
	}
	return c, data
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestSliceKeepsBytes(t *testing.T) {
	src := mini(t)
	dst, r := sliced(t, src, 4)
	_, was := open(t, src)
	c, is := open(t, dst)
	for name, b := range was {
		_, after, layered := strings.Cut(name, "model.layers.")
		keep := !layered || after[0] < '4'
		if got, ok := is[name]; ok != keep || keep && !bytes.Equal(got, b) {
			t.Errorf("%s: there: %v, equal: %v", name, ok, bytes.Equal(got, b))
		}
	}
	if len(is) != r.Tensors || r.Files != 7 || r.Layers != 4 || r.Of != 8 || r.HoleBytes != 0 {
		t.Errorf("%+v", r)
	}
	for i := range 4 { // whole layers are whole files: the same but for their names
		a, b := "model-0000"+string(rune('1'+i))+"-of-000011.safetensors", "model-0000"+string(rune('1'+i))+"-of-000007.safetensors"
		if read(t, filepath.Join(src, a)) != read(t, filepath.Join(dst, b)) {
			t.Errorf("%s differs", b)
		}
	}
	parsed, err := model.ParseConfig(c.Config.Data)
	if err != nil {
		t.Fatal(err)
	}
	fit := model.Match(model.View{Config: parsed, Patterns: patternCounts(c)})
	if fit.Instance == nil || fit.Profile.Name != "kimi-k3" || fit.Instance.Totals().Tensors != int64(r.Tensors) {
		t.Errorf("the slice is no kimi-k3: %+v", fit)
	}
}

// Only three values of the config change, and the index keeps its order.
func TestSliceMendsConfigAndIndex(t *testing.T) {
	src := mini(t)
	dst, _ := sliced(t, src, 4)
	want := strings.NewReplacer(
		`"num_hidden_layers": 8,`, `"num_hidden_layers": 4,`,
		"        4,\n        8\n", "        4\n",
		"        3,\n        5,\n        6,\n        7\n", "        3\n",
	).Replace(read(t, filepath.Join(src, "config.json")))
	if got := read(t, filepath.Join(dst, "config.json")); got != want {
		t.Errorf("config: %s", got)
	}
	var lines []string
	for line := range strings.Lines(read(t, filepath.Join(src, synth.IndexFile))) {
		if i := strings.Index(line, "model.layers."); i < 0 || line[i+len("model.layers.")] < '4' {
			lines = append(lines, name(line))
		}
	}
	var got []string
	for line := range strings.Lines(read(t, filepath.Join(dst, synth.IndexFile))) {
		got = append(got, name(line))
	}
	if !slices.Equal(got, lines) {
		t.Errorf("index: %d lines, not %d", len(got), len(lines))
	}
}

// name is the first quoted word of a line, unless it is the total.
func name(line string) string {
	if f := strings.Split(line, `"`); len(f) > 2 && f[1] != "total_size" {
		return f[1]
	}
	return ""
}

// Model-Optimizer 2060: an allow-list dropped preprocessor and template files.
func TestIssue2060AllCompanionsAreCopied(t *testing.T) {
	src := mini(t)
	write(t, filepath.Join(src, "tokenizer.json"), "{}")
	write(t, filepath.Join(src, "chat_template.jinja"), "{{x}}")
	write(t, filepath.Join(src, "left.safetensors.part"), "half")
	write(t, filepath.Join(src, "pytorch_model.bin"), "weights")
	write(t, filepath.Join(src, "blob"), "through a link")
	if err := errors.Join(os.Symlink("blob", filepath.Join(src, "modeling.py")), os.Symlink("nowhere", filepath.Join(src, "dangling")),
		os.Mkdir(filepath.Join(src, "original"), 0o700)); err != nil {
		t.Fatal(err)
	}
	dst, r := sliced(t, src, 1)
	want := "blob chat_template.jinja ckpt-synth.json config.json" +
		" model-00001-of-000004.safetensors model-00002-of-000004.safetensors model-00003-of-000004.safetensors model-00004-of-000004.safetensors" +
		" model.safetensors.index.json modeling.py tokenizer.json"
	if got := list(t, dst); got != want {
		t.Errorf("directory: %s", got)
	}
	if got := strings.Join(r.Skipped, " "); got != "dangling left.safetensors.part original" {
		t.Errorf("skipped: %s", got)
	}
	if info, err := os.Lstat(filepath.Join(dst, "modeling.py")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("modeling.py: %v %v", info, err)
	}
	if got := read(t, filepath.Join(dst, synth.MarkerFile)); !strings.Contains(got, `"layers": 1,`) {
		t.Errorf("marker: %s", got)
	}
}

// A file that only bears the name of a manifest or marker is copied as it is.
func TestSliceCopiesWhatItCannotMend(t *testing.T) {
	src := mini(t)
	if err := os.Remove(filepath.Join(src, synth.MarkerFile)); err != nil { // a link: the shared one stays
		t.Fatal(err)
	}
	write(t, filepath.Join(src, synth.MarkerFile), "no JSON")
	write(t, filepath.Join(src, layerManifest), `{"files": 3}`)
	dst, r := sliced(t, src, 1)
	if read(t, filepath.Join(dst, synth.MarkerFile)) != "no JSON" || read(t, filepath.Join(dst, layerManifest)) != `{"files": 3}` || len(r.Mended) > 0 {
		t.Errorf("%+v", r)
	}
}

// A sparse K3 stays sparse, and its layers keep their official headers.
func TestSliceOfTheFullSize(t *testing.T) {
	src := source(t, "kimi-k3", synth.Options{Full: true, Layers: 6})
	begin := time.Now()
	dst, r := sliced(t, src, 4)
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if r.HoleBytes < r.TotalSize-100*4096 || r.TotalSize < 50e9 {
		t.Errorf("%+v", r)
	}
	disk := int64(0)
	for _, f := range strings.Fields(list(t, dst)) {
		info, err := os.Stat(filepath.Join(dst, f))
		if err != nil {
			t.Fatal(err)
		}
		n, _ := ckptfs.Allocated(info)
		disk += n
	}
	if disk > 10<<20 {
		t.Errorf("%d bytes of disk", disk)
	}
	a, _ := os.Open(filepath.Join(src, "model-00003-of-000009.safetensors"))
	b, _ := os.Open(filepath.Join(dst, "model-00003-of-000007.safetensors"))
	defer a.Close()
	defer b.Close()
	const headerLen = 818704 // of every MoE layer below 10
	x, y := make([]byte, headerLen), make([]byte, headerLen)
	if _, err := a.ReadAt(x, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ReadAt(y, 0); err != nil || !bytes.Equal(x, y) {
		t.Errorf("header differs: %v", err)
	}
}

func TestSliceOfOtherFamilies(t *testing.T) {
	for _, family := range []string{"kimi-linear", "kimi-linear-mxfp4", "llama"} {
		src := source(t, family, synth.Options{Preset: "mini"})
		dst, r := sliced(t, src, 2)
		_, was := open(t, src)
		_, is := open(t, dst)
		for name, b := range is {
			if !bytes.Equal(was[name], b) {
				t.Errorf("%s: %s differs", family, name)
			}
			if strings.Contains(name, ".2.") && !strings.Contains(name, "experts.2.") {
				t.Errorf("%s: %s is kept", family, name)
			}
		}
		if len(is) != r.Tensors || len(is) < 10 {
			t.Errorf("%s: %+v", family, r)
		}
	}
}

func TestSliceMendsTheManifest(t *testing.T) {
	src := source(t, "kimi-linear-mxfp4", synth.Options{Preset: "mini"})
	dst, _ := sliced(t, src, 2)
	small := source(t, "kimi-linear-mxfp4", synth.Options{Preset: "mini", Layers: 2})
	if got, want := list(t, dst), list(t, small); got != want {
		t.Errorf("directory: %s", got)
	}
	const manifest = "tinygrad-kimi.json"
	if got, want := read(t, filepath.Join(dst, manifest)), read(t, filepath.Join(small, manifest)); got != want {
		t.Errorf("manifest: %s", got)
	}
}

// A slice of a synthesised checkpoint is the synthesised slice, but for the
// config's white space.
func TestSliceIsWhatSynthMakes(t *testing.T) {
	dst, _ := sliced(t, mini(t), 5)
	want := source(t, "kimi-k3", synth.Options{Preset: "mini", Layers: 5})
	if list(t, dst) != list(t, want) {
		t.Errorf("directory: %s", list(t, dst))
	}
	for _, f := range strings.Fields(list(t, want)) {
		if read(t, filepath.Join(dst, f)) != read(t, filepath.Join(want, f)) {
			t.Errorf("%s differs", f)
		}
	}
}

// A family that no profile knows, with a vision tower of as many layers.
func TestSliceWithoutProfile(t *testing.T) {
	src := t.TempDir()
	var specs []safetensors.Spec
	for _, n := range []string{"emb", "vision_model.layers.0.w", "vision_model.layers.1.w", "vision_model.layers.2.w",
		"decoder.layers.0.w", "decoder.layers.1.w", "decoder.layers.2.w", "decoder.layers.3.mtp", "head"} {
		specs = append(specs, safetensors.Spec{Name: n, DType: dtype.U8, Shape: []uint64{3}})
	}
	l, err := safetensors.NewLayout(specs, &safetensors.LayoutOptions{Metadata: map[string]string{"format": "pt"}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := safetensors.Create(filepath.Join(src, "model.safetensors"), l)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range specs {
		if err := w.WritePiece(s.Name, 0, []byte{byte(i), 1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(src, "config.json"), `{"model_type": "new", "num_hidden_layers": 3, "num_nextn_predict_layers": 1}`)
	dst, _ := sliced(t, src, 2)
	c, is := open(t, dst)
	var kept []string
	for n := range is {
		kept = append(kept, n)
	}
	slices.Sort(kept)
	if got := strings.Join(kept, " "); got != "decoder.layers.0.w decoder.layers.1.w emb head vision_model.layers.0.w vision_model.layers.1.w vision_model.layers.2.w" {
		t.Errorf("kept: %s", got)
	}
	if got := c.Files[0].Header.Metadata["format"]; got != "pt" {
		t.Errorf("metadata: %q", got)
	}
	if got := read(t, filepath.Join(dst, "config.json")); got != `{"model_type": "new", "num_hidden_layers": 2, "num_nextn_predict_layers": 0}` {
		t.Errorf("config: %s", got)
	}
}

// The hub cache's layout: links into blobs become files.
func TestSliceOfTheHubCache(t *testing.T) {
	src := mini(t)
	repo := filepath.Join(t.TempDir(), "models--org--mini")
	snapshot := filepath.Join(repo, "snapshots", "rev")
	if err := errors.Join(os.MkdirAll(snapshot, 0o700), os.Mkdir(filepath.Join(repo, "blobs"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for i, f := range strings.Fields(list(t, src)) {
		blob := strings.Repeat(string(rune('a'+i%6)), 38) + string(rune('0'+i/6)) + "0"
		if err := errors.Join(os.Rename(filepath.Join(src, f), filepath.Join(repo, "blobs", blob)),
			os.Symlink("../../blobs/"+blob, filepath.Join(snapshot, f))); err != nil {
			t.Fatal(err)
		}
	}
	dst, r := sliced(t, repo, 2)
	for _, f := range strings.Fields(list(t, dst)) {
		if info, err := os.Lstat(filepath.Join(dst, f)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v %v", f, info, err)
		}
	}
	if r.Files != 5 {
		t.Errorf("%+v", r)
	}
}

func TestSliceRefuses(t *testing.T) {
	src := mini(t)
	before := stamps(t, src)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.Mkdir(at("full"), 0o700), os.Symlink(src, at("link")), os.Mkdir(at("bare"), 0o700)); err != nil {
		t.Fatal(err)
	}
	write(t, at("full/x"), "")
	var where *DestinationError
	for name, test := range map[string]struct {
		src, dst string
		layers   int
		want     func(error) bool
	}{
		"onto itself":    {src, src, 2, func(e error) bool { return errors.Is(e, newfile.ErrNotEmpty) }},
		"inside":         {src, filepath.Join(src, "new"), 2, func(e error) bool { return errors.As(e, &where) }},
		"inside by link": {src, at("link/new"), 2, func(e error) bool { return errors.As(e, &where) }},
		"onto a link":    {src, at("link"), 2, func(e error) bool { return e != nil }},
		"not empty":      {src, at("full"), 2, func(e error) bool { return errors.Is(e, newfile.ErrNotEmpty) }},
		"no parent":      {src, at("no/parent"), 2, func(e error) bool { return errors.Is(e, fs.ErrNotExist) }},
		"no layers":      {src, at("new"), 0, func(e error) bool { return errors.As(e, new(*LayersError)) }},
		"negative":       {src, at("new"), -1, func(e error) bool { return errors.As(e, new(*LayersError)) }},
		"too many":       {src, at("new"), 9, func(e error) bool { return errors.As(e, new(*LayersError)) }},
		"no source":      {at("none"), at("new"), 2, func(e error) bool { return errors.Is(e, checkpoint.ErrNotFound) }},
		"no checkpoint":  {at("bare"), at("new"), 2, func(e error) bool { return e != nil }},
	} {
		if _, err := Slice(t.Context(), test.src, test.dst, test.layers, SliceOptions{}); !test.want(err) {
			t.Errorf("%s: %v", name, err)
		}
		if got := list(t, dir); got != "bare full link" {
			t.Errorf("%s: left behind: %s", name, got)
		}
	}
	if after := stamps(t, src); after != before {
		t.Errorf("the source changed:\n%s\n%s", before, after)
	}
}

func TestSliceNeedsConfig(t *testing.T) {
	src := mini(t)
	if err := os.Remove(filepath.Join(src, "config.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := Slice(t.Context(), src, filepath.Join(t.TempDir(), "x"), 2, SliceOptions{}); !errors.Is(err, ErrNoConfig) {
		t.Error(err)
	}
}

// stamps are names, sizes and times of a directory.
func stamps(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(fs.FormatFileInfo(info) + info.ModTime().String() + "\n")
	}
	return b.String()
}

// unsloth 1122: a run died and its directory looked finished.
func TestIssue1122InterruptedLeavesNothing(t *testing.T) {
	src := mini(t)
	dst := filepath.Join(t.TempDir(), "x")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Slice(ctx, src, dst, 4, SliceOptions{Jobs: 1, Progress: stopper{cancel}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory stays")
	}
}

type stopper struct{ cancel context.CancelFunc }

func (s stopper) Start(string, int64, string) {}
func (s stopper) Add(int64)                   { s.cancel() }
func (s stopper) Stop()                       {}

func TestRenumber(t *testing.T) {
	got := renumber([]string{"model-00002-of-000096.safetensors", "model-00094-of-000096.safetensors", "other.safetensors", "x-1-of-7.safetensors"})
	want := []string{"model-00001-of-000002.safetensors", "model-00002-of-000002.safetensors", "other.safetensors", "x-1-of-1.safetensors"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
