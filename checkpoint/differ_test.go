package checkpoint

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// described renders differences for comparison.
func described(c *Checkpoint) []string {
	out := []string{}
	for d := range c.Differences() {
		out = append(out, fmt.Sprint(d.Kind, d.Name, d.File.Name))
	}
	slices.Sort(out)
	return out
}

// naive compares every name with every other, straight from the words of
// Difference: where an index chooses, a shard that it names either has the
// tensors that it gives to it or lacks them, has others that it gives to
// another shard, or that it does not know.
func naive(files map[string][]string, pairs []entryPair) []string {
	out := []string{}
	holds := func(file, tensor string) bool { return slices.Contains(files[file], tensor) }
	indexed := map[string]bool{}
	for _, p := range pairs {
		indexed[p.file] = true
	}
	for _, p := range pairs {
		astray := false
		for _, file := range sorted(files) {
			if file != p.file && indexed[file] && holds(file, p.tensor) {
				if holds(p.file, p.tensor) && !astray {
					out = append(out, fmt.Sprint(Twice, p.tensor, file)) // the first is enough to name
				}
				astray = true
			}
		}
		if _, there := files[p.file]; there && !holds(p.file, p.tensor) {
			out = append(out, fmt.Sprint(NotInShard, p.tensor, p.file))
		}
	}
	for file, tensors := range files {
		for _, tensor := range tensors {
			if indexed[file] && !slices.ContainsFunc(pairs, func(p entryPair) bool { return p.tensor == tensor }) {
				out = append(out, fmt.Sprint(NotInIndex, tensor, file))
			}
		}
	}
	slices.Sort(out)
	return out
}

func sorted(files map[string][]string) []string {
	var list []string
	for name := range files {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func TestDifferencesAgreeWithTheNaiveWay(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		tensor := rapid.SampledFrom([]string{"a", "b", "layers.0.w", "layers.1.w", "layers.1.experts.3.w", "layers.01.w"})
		shards := []string{"s-1.safetensors", "s-2.safetensors", "s-3.safetensors"}
		files := map[string][]string{}
		for _, name := range shards {
			if rapid.Bool().Draw(rt, "there") {
				files[name] = rapid.SliceOfDistinct(tensor, func(s string) string { return s }).Draw(rt, name)
			}
		}
		named := rapid.SliceOfNDistinct(tensor, 1, 6, func(s string) string { return s }).Draw(rt, "index")
		var pairs []entryPair
		for _, name := range named {
			pairs = append(pairs, entryPair{name, rapid.SampledFrom(shards).Draw(rt, "shard")})
		}
		for _, name := range shards {
			os.Remove(dir + "/" + name)
		}
		content := map[string][]byte{"model.safetensors.index.json": indexOf(pairs...)}
		for name, tensors := range files {
			var toys []toy
			for _, tensor := range tensors {
				toys = append(toys, toy{tensor, 8})
			}
			content[name] = weights(toys...)
		}
		put(t, dir, content)
		if got, want := described(surveyed(t, dir)), naive(files, pairs); !slices.Equal(got, want) {
			rt.Fatalf("files %v, index %v:\ngot  %v\nwant %v", files, pairs, got, want)
		}
	})
}

// Without an index what two files hold is told, against the first.
func TestDifferencesWithoutIndex(t *testing.T) {
	dir := put(t, t.TempDir(), map[string][]byte{
		"a.safetensors": weights(toy{"x", 8}, toy{"y", 8}),
		"b.safetensors": weights(toy{"y", 8}, toy{"z", 8}),
		"c.safetensors": weights(toy{"y", 8}),
	})
	want := []string{fmt.Sprint(Twice, "y", "b.safetensors"), fmt.Sprint(Twice, "y", "c.safetensors")}
	if got := described(surveyed(t, dir)); !slices.Equal(got, want) {
		t.Error(got)
	}
}

// One who stops at the first difference gets no more.
func TestDifferencesStop(t *testing.T) {
	set := twoShards()
	set["model.safetensors.index.json"] = indexOf(entryPair{"p", "model-00001-of-00002.safetensors"}, entryPair{"q", "model-00002-of-00002.safetensors"})
	c := surveyed(t, put(t, t.TempDir(), set))
	for range 6 {
		n := 0
		for range c.Differences() {
			if n++; n == 1 {
				break
			}
		}
		if n != 1 {
			t.Error(n)
		}
	}
}
