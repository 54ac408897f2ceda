package shard

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadRefuses(t *testing.T) {
	c, m := openAt(t, mini(t), "auto")
	p := planOf(t, c, m, Topology{TP: 2}, Options{})
	var good bytes.Buffer
	if err := p.Write(&good, false); err != nil {
		t.Fatal(err)
	}
	text := good.String()
	for name, bad := range map[string]string{
		"nothing":             "",
		"no JSON":             "plan",
		"another schema":      strings.Replace(text, Schema, "ckpt.plan/v2", 1),
		"an unknown field":    strings.Replace(text, `"profile":`, `"profil":"x","profile":`, 1),
		"a field twice":       strings.Replace(text, `"profile":`, `"profile":"x","profile":`, 1),
		"more behind it":      text + "{}",
		"cut off":             text[:len(text)/2],
		"no program":          `{"schema":"ckpt.plan/v1","tp":1,"ep":1,"pp":1}`,
		"a degree of nothing": strings.Replace(text, `"tp":2`, `"tp":0`, 1),
		"other ranks":         strings.Replace(text, `"tp":2`, `"tp":4`, 1),
		"no such template":    strings.Replace(text, `"pieces":[{"t":0`, `"pieces":[{"t":4000`, 1),
		"no such file":        strings.Replace(text, `"extents":[{"file":0`, `"extents":[{"file":99`, 1),
		"a negative place":    strings.Replace(text, `"to":[{"at":[`, `"to":[{"at":[-1`, 1),
		"a huge place":        strings.Replace(text, `"to":[{"at":[`, `"to":[{"at":[9223372036854775807,`, 1),
		"a fraction":          strings.Replace(text, `"tp":2`, `"tp":2.0`, 1),
	} {
		if bad == text {
			t.Errorf("%s: the text is as it was", name)
		}
		if _, err := Read(strings.NewReader(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var packed bytes.Buffer
	if err := p.Write(&packed, true); err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(packed.Bytes())
	broken[len(broken)/2] ^= 0x55
	for _, bad := range [][]byte{packed.Bytes()[:packed.Len()/2], broken, packed.Bytes()[:5]} {
		if _, err := Read(bytes.NewReader(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}

func TestEqualPlansAreEqualBytes(t *testing.T) {
	dir := mini(t)
	var first []byte
	for range 3 {
		c, m := openAt(t, dir, "auto")
		var b bytes.Buffer
		p := planOf(t, c, m, Topology{TP: 4, EP: 2, PP: 2}, Options{})
		if err := p.Write(&b, true); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Bytes()
		} else if !bytes.Equal(first, b.Bytes()) {
			t.Fatal("a plan of the same checkpoint has other bytes")
		}
	}
}

func TestCheckFindsStalePlans(t *testing.T) {
	dir := mini(t)
	c, m := openAt(t, dir, "auto")
	p := planOf(t, c, m, Topology{TP: 2}, Options{})
	if err := p.Check(c); err != nil {
		t.Error(err)
	}
	stale := func(what string, p *Plan, dir string, words ...string) {
		t.Helper()
		c, _ := openAt(t, dir, "none")
		err := p.Check(c)
		if !errors.Is(err, ErrStale) {
			t.Fatalf("%s: %v", what, err)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", what, err, w)
			}
		}
	}
	// The same content elsewhere is as good.
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	c2, _ := openAt(t, moved, "auto")
	if err := p.Check(c2); err != nil {
		t.Error(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	tensors := []source{{name: "model.norm.weight", dtype: "BF16", shape: []uint64{4}}}
	write(t, other, "", [][]source{tensors})
	stale("another checkpoint", p, other, "is gone")
	q := clone(t, p)
	q.Source.Files[2].Size++
	stale("a plan that was tampered with", q, dir)
	q = clone(t, p)
	q.Program.Orders[0][3], q.Program.Orders[0][4] = q.Program.Orders[0][4], q.Program.Orders[0][3]
	prove(t, q) // each expert is still there once
	stale("experts under other names", q, dir, "experts.")
}

func TestDiff(t *testing.T) {
	c, m := openAt(t, mini(t), "auto")
	a := planOf(t, c, m, Topology{TP: 2}, Options{})
	if d := Diff(a, planOf(t, c, m, Topology{TP: 2}, Options{})); len(d) > 0 {
		t.Errorf("%+v", d)
	}
	what := map[string]bool{}
	for _, d := range Diff(a, planOf(t, c, m, Topology{TP: 4, PP: 2}, Options{Layout: LayoutCheckpoint})) {
		what[d.What] = true
	}
	for _, w := range []string{"topology", "layout", "bytes on all ranks", "layers of stage 0", "language_model.lm_head.weight"} {
		if !what[w] {
			t.Errorf("the difference in %s is missed: %v", w, what)
		}
	}
	b := clone(t, a)
	b.Program.Extents[0].Runs[0].Pieces[0].Targets[0].At[0] += Alignment
	if d := Diff(a, b); len(d) != 1 || !strings.Contains(d[0].What, "places") {
		t.Errorf("%+v", d)
	}
}
