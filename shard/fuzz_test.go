package shard

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzPlan reads what may be a plan. What is read is in range: proving, listing
// and comparing it end and do not panic, and it is written and read again as it
// is.
func FuzzPlan(f *testing.F) {
	p := tiny(f)
	for _, packed := range []bool{false, true} {
		var b bytes.Buffer
		if err := p.Write(&b, packed); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte(`{"schema":"ckpt.plan/v1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		p, err := Read(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%v is not a format error", err)
			}
			return
		}
		records := int64(0)
		for i := range p.Program.Extents {
			for k := range p.Program.Extents[i].Runs {
				r := &p.Program.Extents[i].Runs[k]
				records += min(r.Records(), 1<<20) * int64(len(r.Pieces))
			}
		}
		if records < 1<<12 {
			p.Prove()
			for range p.Tensors(0) {
				continue
			}
		}
		var b bytes.Buffer
		if err := p.Write(&b, false); err != nil {
			return // text that is no UTF-8 cannot have been read
		}
		q, err := Read(&b)
		if err != nil {
			t.Fatalf("what was read and written is refused: %v", err)
		}
		if d := Diff(p, q); len(d) > 0 {
			t.Fatalf("%+v", d)
		}
	})
}

// tiny is the plan of a model of a few tensors.
func tiny(t fatal) *Plan {
	t.Helper()
	dir := dirOf(t)
	m := plain{layers: 2, hidden: 32, heads: 2, kv: 1, dim: 2, inner: 32, vocab: 8, experts: 2}
	list, _ := m.tensors()
	write(t, dir, m.config(), [][]source{list[:5], list[5:]})
	c, model := openAt(t, dir, "auto")
	return planOf(t, c, model, Topology{TP: 2, EP: 2, PP: 2}, Options{})
}

func dirOf(t fatal) string {
	type temporary interface{ TempDir() string }
	return t.(temporary).TempDir()
}
