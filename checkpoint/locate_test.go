package checkpoint

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func tensorNames(c *Checkpoint) (out []string) {
	for t := range c.Tensors() {
		out = append(out, t.Name)
	}
	return out
}

func TestLocate(t *testing.T) {
	dir := put(t, t.TempDir(), twoShards())
	all := []string{"a", "layers.0.w", "layers.1.w"}
	linked := filepath.Join(t.TempDir(), "latest")
	link(t, dir, linked)
	for _, path := range []string{dir, dir + "/", linked,
		filepath.Join(dir, "model.safetensors.index.json"), filepath.Join(dir, "config.json"),
		filepath.Join(dir, "model-00002-of-00002.safetensors"), filepath.Join(linked, "model-00001-of-00002.safetensors")} {
		c := surveyed(t, path)
		if got := tensorNames(c); !slices.Equal(got, all) || c.Single || c.Path != path {
			t.Errorf("%s: %v, single %v", path, got, c.Single)
		}
	}
}

func TestLocateWithoutIndex(t *testing.T) {
	set := twoShards()
	delete(set, "config.json")
	delete(set, "model.safetensors.index.json")
	set["other-00001-of-00001.safetensors"] = weights(toy{"b", 8})
	set["single.safetensors"] = weights(toy{"c", 8})
	dir := put(t, t.TempDir(), set)
	for name, want := range map[string][]string{
		"":                                 {"a", "layers.0.w", "layers.1.w", "b", "c"},
		"model-00002-of-00002.safetensors": {"a", "layers.0.w", "layers.1.w"},
		"other-00001-of-00001.safetensors": {"b"},
		"single.safetensors":               {"c"},
	} {
		c := surveyed(t, filepath.Join(dir, name))
		if got := tensorNames(c); !slices.Equal(got, want) || c.Single != (name == "single.safetensors" || strings.HasPrefix(name, "other")) {
			t.Errorf("%q: %v, single %v", name, got, c.Single)
		}
	}
}

// The folder of a repository in the cache of the hub's client stands for the
// revision of its main branch.
func TestLocateHubRepository(t *testing.T) {
	repo := filepath.Join(t.TempDir(), "models--org--name")
	put(t, repo, map[string][]byte{
		"refs/main":                                     []byte("new\n"),
		"blobs/x":                                       nil,
		"snapshots/new/model.safetensors":               weights(toy{"new", 8}),
		"snapshots/old/model.safetensors":               weights(toy{"old", 8}),
		"../models--a--b/blobs/x":                       nil,
		"../models--a--b/snapshots/1/model.safetensors": weights(toy{"only", 8}),
	})
	if c := surveyed(t, repo); !slices.Equal(tensorNames(c), []string{"new"}) || c.Dir != filepath.Join(repo, "snapshots", "new") {
		t.Errorf("%v in %s", tensorNames(c), c.Dir)
	}
	one := filepath.Join(repo, "..", "models--a--b")
	if c := surveyed(t, one); c.Dir != filepath.Join(one, "snapshots", "1") {
		t.Errorf("the only snapshot is not taken: %s", c.Dir)
	}
	// A branch file that points out of the folder is not followed.
	put(t, repo, map[string][]byte{"refs/main": []byte("../../..")})
	if _, err := Survey(t.Context(), repo, Options{}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestLocateNothing(t *testing.T) {
	dir := put(t, t.TempDir(), map[string][]byte{"empty/notes.txt": nil, "two/a.safetensors.index.json": indexOf(), "two/b.safetensors.index.json": indexOf()})
	link(t, "gone", filepath.Join(dir, "dangling"))
	for _, name := range []string{"missing", "empty", "two", "dangling", "missing/model.safetensors"} {
		c, err := Survey(t.Context(), filepath.Join(dir, name), Options{Headers: true})
		var not *NotFoundError
		if !errors.As(err, &not) || c != nil || not.Msg == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	put(t, dir, map[string][]byte{"gguf/model.gguf": []byte("GGUF")})
	for _, name := range []string{"gguf", "gguf/model.gguf"} {
		if _, err := Survey(t.Context(), filepath.Join(dir, name), Options{}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPartOf(t *testing.T) {
	for name, want := range map[string]Part{
		"model-00001-of-000096.safetensors":    {Stem: "model", No: 1, Of: 96},
		"model-000004-of-000163.safetensors":   {Stem: "model", No: 4, Of: 163},
		"model-1-of-2.safetensors":             {Stem: "model", No: 1, Of: 2},
		"a-b-00010-of-00010.safetensors":       {Stem: "a-b", No: 10, Of: 10},
		"model-00000-of-00002.safetensors":     {Stem: "model", No: 0, Of: 2},
		"model-%d-00003-of-00004.safetensors":  {Stem: "model-%d", No: 3, Of: 4},
		"x-999999999-of-999999999.safetensors": {Stem: "x", No: 999999999, Of: 999999999},
	} {
		p, ok := PartOf(name)
		if !ok || p.Stem != want.Stem || p.No != want.No || p.Of != want.Of || p.Name(p.No) != name {
			t.Errorf("%s: %+v %v, again %s", name, p, ok, p.Name(p.No))
		}
	}
	// Numbers that no set has are numbers all the same.
	if p, ok := PartOf("model-1-of-99999999999999999999.safetensors"); !ok || p.No != 1 || p.Of != 1_000_000_000 {
		t.Errorf("%+v %v", p, ok)
	}
	for _, name := range []string{"model.safetensors", "model-00001.safetensors", "-1-of-2.safetensors", "model-1-of-2.bin",
		"model-1-of-2.safetensors.incomplete", "model-a-of-b.safetensors"} {
		if p, ok := PartOf(name); ok {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Natural order is an order, and numbers in it are numbers.
func TestNaturalOrder(t *testing.T) {
	if got := slices.SortedFunc(slices.Values([]string{"m-10", "m-9", "m-1", "m-01", "m", "m-9b", "k-100"}), natural); !slices.Equal(got,
		[]string{"k-100", "m", "m-01", "m-1", "m-9", "m-9b", "m-10"}) {
		t.Error(got)
	}
	text := rapid.StringMatching(`[a-c0-3-]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := text.Draw(t, "a"), text.Draw(t, "b"), text.Draw(t, "c")
		if sign(natural(a, b)) != -sign(natural(b, a)) || (natural(a, b) == 0) != (a == b) {
			t.Errorf("%q and %q: %d and %d", a, b, natural(a, b), natural(b, a))
		}
		if natural(a, b) < 0 && natural(b, c) < 0 && natural(a, c) >= 0 {
			t.Errorf("%q < %q < %q", a, b, c)
		}
	})
}

func sign(n int) int { return max(-1, min(1, n)) }
