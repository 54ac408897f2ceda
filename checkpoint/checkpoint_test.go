package checkpoint

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ckpt/safetensors"
)

// parsed reads a file with encoding/json alone.
func parsed(t *testing.T, data []byte) map[string][2]int64 {
	t.Helper()
	n := int64(binary.LittleEndian.Uint64(data))
	var doc map[string]struct {
		Offsets [2]int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:8+n], &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string][2]int64{}
	for name, e := range doc {
		out[name] = [2]int64{8 + n + e.Offsets[0], e.Offsets[1] - e.Offsets[0]}
	}
	return out
}

func TestTensorsAgreeWithAnotherParser(t *testing.T) {
	set := map[string][]byte{}
	var pairs []entryPair
	for s := range 5 {
		var toys []toy
		file := fmt.Sprintf("model-%05d-of-00005.safetensors", s+1)
		for i := range 50 {
			name := fmt.Sprintf("layers.%d.experts.%d.w", s, i*i)
			if i%7 == 0 {
				name = fmt.Sprintf("odd.%07d.\"é\u00a0%d", i, s)
			}
			toys = append(toys, toy{name, 8 * (i % 5)})
			pairs = append(pairs, entryPair{name, file})
		}
		set[file] = weights(toys...)
	}
	set["model.safetensors.index.json"] = indexOf(pairs...)
	c := surveyed(t, put(t, t.TempDir(), set))
	seen := 0
	for got := range c.Tensors() {
		seen++
		want, ok := parsed(t, set[got.File.Name])[got.Name]
		if !ok || got.Offset != want[0] || got.Size != want[1] || len(got.Shape) != 1 || int64(got.Shape[0]) != want[1] {
			t.Errorf("%q at %d, %d bytes, shape %v; want %v", got.Name, got.Offset, got.Size, got.Shape, want)
		}
		found, ok := c.Lookup(got.Name)
		if !ok || found.File != got.File || found.Offset != got.Offset {
			t.Errorf("%q is not found where it is", got.Name)
		}
	}
	if seen != len(pairs) {
		t.Errorf("%d tensors of %d", seen, len(pairs))
	}
	for _, name := range []string{"", "layers.0.experts.2.w", "layers.00.experts.1.w", "layers.0.experts.1", "layers.5.experts.1.w"} {
		if got, ok := c.Lookup(name); ok {
			t.Errorf("%q is found: %+v", name, got)
		}
	}
}

// The index is an allow-list: of a tensor in two shards it chooses one, and a
// file or tensor that it does not name is not the checkpoint's.
func TestFaultVLLM54230TheIndexChooses(t *testing.T) {
	set := twoShards()
	set["model-00001-of-00002.safetensors"] = weights(toy{"layers.1.w", 24}, toy{"a", 8}, toy{"layers.0.w", 16})
	set["extra.safetensors"] = weights(toy{"b", 8}, toy{"a", 8})
	c := surveyed(t, put(t, t.TempDir(), set))
	if got, ok := c.Lookup("layers.1.w"); !ok || got.File.Name != "model-00002-of-00002.safetensors" {
		t.Errorf("%+v", got)
	}
	if got, ok := c.Lookup("b"); ok {
		t.Errorf("%+v", got)
	}
	for got := range c.Tensors() {
		if got.File.Name == "extra.safetensors" {
			t.Errorf("%s comes from a file that no index names", got.Name)
		}
	}
}

// One bad file hides nothing of the others.
func TestSurveyDegradesByFile(t *testing.T) {
	set := twoShards()
	set["model-00001-of-00002.safetensors"] = []byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 5\n")
	dir := put(t, t.TempDir(), set)
	c := surveyed(t, dir)
	if got := tensorNames(c); !slices.Equal(got, []string{"layers.1.w"}) {
		t.Error(got)
	}
	f, ok := c.File("model-00001-of-00002.safetensors")
	if !ok || f.Fault == nil || f.Fault.Reason != LFSPointer || f.Usable() || f.Listed() {
		t.Errorf("%+v", f.Fault)
	}
	_, err := Open(t.Context(), dir, Options{})
	var path *fs.PathError
	if !errors.As(err, &path) || !strings.HasSuffix(path.Path, "model-00001-of-00002.safetensors") {
		t.Error(err)
	}
}

// Open wants all of it.
func TestOpenRefuses(t *testing.T) {
	if c, err := Open(t.Context(), put(t, t.TempDir(), twoShards()), Options{}); err != nil || len(tensorNames(c)) != 3 {
		t.Error(err)
	}
	for what, spoil := range map[string]func(set map[string][]byte){
		"missing": func(set map[string][]byte) { delete(set, "model-00002-of-00002.safetensors") },
		"cut":     func(set map[string][]byte) { cut(set, "model-00002-of-00002.safetensors") },
		"index":   func(set map[string][]byte) { cut(set, "model.safetensors.index.json") },
		"differs": func(set map[string][]byte) { set["model-00002-of-00002.safetensors"] = weights(toy{"z", 8}) },
		"escape": func(set map[string][]byte) {
			set["model.safetensors.index.json"] = indexOf(entryPair{"a", "../x.safetensors"})
		},
	} {
		set := twoShards()
		spoil(set)
		if c, err := Open(t.Context(), put(t, t.TempDir(), set), Options{}); err == nil || c != nil {
			t.Errorf("%s: opened", what)
		}
	}
	set := twoShards()
	cut(set, "model-00002-of-00002.safetensors")
	if _, err := Open(t.Context(), put(t, t.TempDir(), set), Options{}); !errors.Is(err, safetensors.ErrFormat) {
		t.Error(err)
	}
}

func cut(set map[string][]byte, name string) { set[name] = set[name][:len(set[name])-1] }

func TestSurveyStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Survey(ctx, put(t, t.TempDir(), twoShards()), Options{Headers: true}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestProgress(t *testing.T) {
	var steps []int
	files := twoShards()
	files["README.md"] = nil // which has no header
	_, err := Survey(t.Context(), put(t, t.TempDir(), files), Options{Headers: true, Progress: func(done, total int) {
		steps = append(steps, done)
		if total != 2 {
			t.Errorf("%d of %d", done, total)
		}
	}})
	if err != nil || !slices.Equal(steps, []int{1, 2}) {
		t.Error(err, steps)
	}
}

// Names that leave the directory are not opened, nor are they found by another
// spelling.
func TestWeightMapStaysInside(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string][]byte{"secret.safetensors": weights(toy{"a", 8}), "set/sub/x.safetensors": weights(toy{"a", 8})})
	for _, name := range []string{"../secret.safetensors", filepath.Join(root, "secret.safetensors"), `..\secret.safetensors`, "sub/x.safetensors", "..", ".", "", "sub", "x\x00.safetensors"} {
		dir := put(t, filepath.Join(root, "set"), map[string][]byte{"model.safetensors.index.json": indexOf(entryPair{"a", name})})
		c := surveyed(t, dir)
		f, ok := c.File(name)
		want := Outside
		if name == "sub" {
			want = NotRegular
		}
		if !ok || f.Fault == nil || f.Fault.Reason != want || len(tensorNames(c)) != 0 {
			t.Errorf("%q: %+v", name, f)
		}
		if err := os.Remove(filepath.Join(dir, "model.safetensors.index.json")); err != nil {
			t.Fatal(err)
		}
	}
}
