package names

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		n             []uint32
	}{
		{"model.layers.12.block_sparse_moe.experts.345.w1.weight", "model.layers.{}.block_sparse_moe.experts.{}.w1.weight", []uint32{12, 345}},
		{"lm_head.weight", "lm_head.weight", nil},
		{"0", "{}", []uint32{0}},
		{"0.1.2.3.4", "{}.{}.{}.3.4", []uint32{0, 1, 2}},
		{"a.01.b", "a.01.b", nil},
		{"a.00", "a.00", nil},
		{"a.4294967295", "a.{}", []uint32{1<<32 - 1}},
		{"a.4294967296", "a.4294967296", nil},
		{"a.99999999999999999999.1", "a.99999999999999999999.{}", []uint32{1}},
		{"a.1b.2", "a.1b.{}", []uint32{2}},
		{"", "", nil},
		{"...", "...", nil},
		{"1..2", "{}..{}", []uint32{1, 2}},
		{"a.-1", "a.-1", nil},
	} {
		table := NewTable()
		k := table.Intern([]byte(c.name))
		p := table.Pattern(k.Pattern)
		if p.String() != c.pattern || !slices.Equal(k.N[:p.Slots], c.n) {
			t.Errorf("%q: %q %v, want %q %v", c.name, p, k.N[:p.Slots], c.pattern, c.n)
		}
		if back := table.Name(k); back != c.name {
			t.Errorf("%q comes back as %q", c.name, back)
		}
	}
}

// aName makes names that look like tensors', and names that do not.
func aName(t *rapid.T, label string) string {
	segment := rapid.OneOf(
		rapid.SampledFrom([]string{"layers", "experts", "w1", "", "0", "00", "7", "\xff", "4294967295", "4294967296", "{}"}),
		rapid.StringN(0, 4, 8),
		rapid.Map(rapid.Uint64(), func(n uint64) string { return strconv.FormatUint(n, 10) }),
	)
	return strings.Join(rapid.SliceOfN(segment, 0, 7).Draw(t, label), ".")
}

func TestKeysAreTheNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable()
		cache := table.NewCache()
		a, b := aName(t, "a"), aName(t, "b")
		ka, kb := table.Intern([]byte(a)), cache.Intern([]byte(b))
		if (ka == kb) != (a == b) {
			t.Fatalf("%q %v, %q %v", a, ka, b, kb)
		}
		if again := cache.Intern([]byte(a)); again != ka {
			t.Fatalf("%q is %v and %v", a, ka, again)
		}
		for name, k := range map[string]Key{a: ka, b: kb} {
			if back := table.Name(k); back != name {
				t.Fatalf("%q comes back as %q", name, back)
			}
			if found, ok := table.Find(name); !ok || found != k {
				t.Fatalf("Find(%q) = %v, %v", name, found, ok)
			}
		}
	})
}

func TestTableIsShared(t *testing.T) {
	table := NewTable()
	var wg sync.WaitGroup
	keys := make([][]Key, 8)
	for g := range keys {
		wg.Go(func() {
			cache := table.NewCache()
			for i := range 2000 {
				name := "layers." + strconv.Itoa(i) + ".kind" + strconv.Itoa(i%97) + ".weight"
				keys[g] = append(keys[g], cache.Intern([]byte(name)))
			}
		})
	}
	wg.Wait()
	for g := range keys {
		if !slices.Equal(keys[g], keys[0]) {
			t.Fatalf("goroutine %d has other keys", g)
		}
	}
	if table.Len() != 97 {
		t.Errorf("%d patterns, want 97", table.Len())
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("model.layers.12.mlp.experts.3.w1.weight"))
	f.Add([]byte("\xff.1.02.4294967295."))
	f.Fuzz(func(t *testing.T, name []byte) {
		if text, n, slots := Split(nil, name); true {
			if pattern, want, count := splitSlowly(string(name)); string(text) != pattern || n != want || slots != count {
				t.Errorf("%q: %q %v, want %q %v", name, text, n, pattern, want)
			}
		}
		table := NewTable()
		if back := table.Name(table.Intern(name)); back != string(name) {
			t.Errorf("%q comes back as %q", name, back)
		}
	})
}

func TestMapAgainstGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Map
		want := map[Key]uint32{}
		n := rapid.IntRange(0, 300).Draw(t, "n")
		for i := range n {
			k := Key{rapid.Uint32Range(0, 3).Draw(t, "p"), [Slots]uint32{rapid.Uint32Range(0, 9).Draw(t, "a"), rapid.Uint32Range(0, 9).Draw(t, "b")}}
			old, added := m.Put(k, uint32(i))
			if first, there := want[k]; there == added || (there && first != old) {
				t.Fatalf("Put(%v) = %d, %v; want %d, %v", k, old, added, first, !there)
			}
			if added {
				want[k] = uint32(i)
			}
		}
		if m.Len() != len(want) {
			t.Fatalf("%d pairs, want %d", m.Len(), len(want))
		}
		for k, v := range want {
			if got, ok := m.Get(k); !ok || got != v {
				t.Fatalf("Get(%v) = %d, %v; want %d", k, got, ok, v)
			}
		}
		if _, ok := m.Get(Key{Pattern: 99}); ok {
			t.Fatal("a key that nobody put")
		}
	})
}

// splitSlowly is Split by strings.Split: the rule, word for word.
func splitSlowly(name string) (pattern string, n [Slots]uint32, slots int) {
	segments := strings.Split(name, ".")
	if strings.Contains(name, "\xff") {
		return name, n, 0
	}
	for i, s := range segments {
		v, err := strconv.ParseUint(s, 10, 32)
		if err == nil && slots < Slots && strconv.FormatUint(v, 10) == s {
			n[slots] = uint32(v)
			slots++
			segments[i] = "\xff"
		}
	}
	return strings.Join(segments, "."), n, slots
}

func TestSplitAgainstStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := aName(t, "name")
		text, n, slots := Split(nil, []byte(name))
		pattern, want, count := splitSlowly(name)
		if string(text) != pattern || n != want || slots != count {
			t.Fatalf("%q: %q %v %d, want %q %v %d", name, text, n, slots, pattern, want, count)
		}
	})
}

func BenchmarkIntern(b *testing.B) {
	cache := NewTable().NewCache()
	var list [][]byte
	for e := range 896 {
		for _, w := range []string{"w1.weight_packed", "w1.weight_scale", "w2.weight_packed"} {
			list = append(list, []byte("language_model.model.layers.42.block_sparse_moe.experts."+strconv.Itoa(e)+"."+w))
		}
	}
	for b.Loop() {
		for _, name := range list {
			cache.Intern(name)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/name")
}

// TestCacheAgainstTable interns runs of names that share beginnings and tails,
// as files have them, and names that only look so.
func TestCacheAgainstTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := NewTable()
		cache := table.NewCache()
		heads := rapid.SliceOfN(rapid.SampledFrom([]string{"a.1", "a.2", "a.1.2", "a.1.2.3", "b.1.2.3.4", "1", "a", "", "a.01", "a.1.x", "a.12", "\xff.1"}), 1, 3).Draw(t, "heads")
		tails := rapid.SliceOfN(rapid.SampledFrom([]string{"", ".w", ".v", ".7", ".w.8", "2", ".", "..", ".w.01", ".v.\xff"}), 1, 4).Draw(t, "tails")
		for range rapid.IntRange(1, 30).Draw(t, "names") {
			name := rapid.SampledFrom(heads).Draw(t, "head") + rapid.SampledFrom(tails).Draw(t, "tail")
			got := cache.Intern([]byte(name))
			if want := table.Intern([]byte(name)); got != want || table.Name(got) != name {
				t.Fatalf("%q: %v (%q), want %v", name, got, table.Name(got), want)
			}
		}
	})
}
