package shard

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ckpt/checkpoint"
	"ckpt/dtype"
	"ckpt/internal/names"
)

// source is a tensor of a checkpoint that a test makes.
type source struct {
	name  string
	dtype string
	shape []uint64
	data  []byte
}

func (s *source) size() int {
	kind, ok := dtype.Parse(s.dtype)
	if !ok {
		panic(s.dtype)
	}
	n, err := kind.Size(s.shape)
	if err != nil {
		panic(err)
	}
	return int(n)
}

// fatal is what *testing.T and *rapid.T have in common.
type fatal interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// write makes a checkpoint of files with random contents.
func write(t fatal, dir, config string, files [][]source) map[string]*source {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if config != "" {
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]*source{}
	random := rand.New(rand.NewPCG(1, uint64(len(files))))
	for i := range files {
		var header, data bytes.Buffer
		header.WriteByte('{')
		for k := range files[i] {
			s := &files[i][k]
			s.data = make([]byte, s.size())
			for b := range s.data {
				s.data[b] = byte(random.Uint32())
			}
			all[s.name] = s
			if k > 0 {
				header.WriteByte(',')
			}
			shape, _ := json.Marshal(append([]uint64{}, s.shape...))
			fmt.Fprintf(&header, "%q:{\"dtype\":%q,\"shape\":%s,\"data_offsets\":[%d,%d]}", s.name, s.dtype, shape, data.Len(), data.Len()+len(s.data))
			data.Write(s.data)
		}
		header.WriteByte('}')
		for header.Len()%8 != 0 {
			header.WriteByte(' ')
		}
		file := binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))
		file = append(append(file, header.Bytes()...), data.Bytes()...)
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(files))
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// openAt opens a checkpoint and recognises it.
func openAt(t fatal, dir, profile string) (*checkpoint.Checkpoint, *Model) {
	t.Helper()
	c, err := checkpoint.Open(context.Background(), dir, checkpoint.Options{Headers: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Recognise(c, profile)
	if err != nil {
		t.Fatal(err)
	}
	return c, m
}

// planOf plans a directory, proves the plan, and gives it as it comes back from
// a file.
func planOf(t fatal, c *checkpoint.Checkpoint, m *Model, top Topology, o Options) *Plan {
	t.Helper()
	p, err := New(c, m, top, o)
	if err != nil {
		t.Fatal(err)
	}
	prove(t, p)
	return again(t, p)
}

func prove(t fatal, p *Plan) {
	t.Helper()
	if proof := p.Prove(); !proof.OK() {
		t.Fatalf("%+v", proof)
	}
}

// again writes a plan and reads it.
func again(t fatal, p *Plan) *Plan {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b, false); err != nil {
		t.Fatal(err)
	}
	back, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if list := Diff(p, back); len(list) > 0 {
		t.Fatalf("a plan that was read differs: %+v", list)
	}
	return back
}

// execute does what a plan says, byte by byte, and gives the arena of each rank.
// It knows nothing of how plans are made. A byte that is written twice, or to a
// place that no tensor has, is a failure.
func execute(t fatal, p *Plan, dir string) [][]byte {
	t.Helper()
	arenas, written := make([][]byte, len(p.Ranks)), make([][]byte, len(p.Ranks))
	stageRanks := len(p.Ranks) / len(p.Stages)
	for r := range arenas {
		arenas[r] = make([]byte, p.Stages[r/stageRanks].Arena)
		written[r] = make([]byte, len(arenas[r]))
	}
	for _, e := range p.Program.Extents {
		file, err := os.ReadFile(filepath.Join(dir, p.Source.Files[e.File].Name))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range e.Runs {
			count := max(r.Count, 1)
			for rec := range count {
				for _, c := range r.Pieces {
					expert := int64(c.Expert) + rec
					if r.Order > 0 {
						expert = int64(p.Program.Orders[r.Order-1][rec])
					}
					tensor := file[r.Offset+rec*r.Stride+c.Offset:]
					for rank := range arenas {
						for _, to := range c.Targets {
							if to.Stage == rank/stageRanks {
								scatter(t, &p.Program.Templates[c.Template], c.ByID, to, rec, expert, rank%stageRanks, tensor, arenas[rank], written[rank])
							}
						}
					}
				}
			}
		}
	}
	for r := range arenas {
		if n := int64(bytes.Count(written[r], []byte{1})); n != p.Ranks[r].Bytes {
			t.Fatalf("rank %d: %d bytes written, the plan says %d", r, n, p.Ranks[r].Bytes)
		}
	}
	return arenas
}

func scatter(t fatal, tm *Template, byID bool, to Target, rec, expert int64, rank int, tensor, arena, written []byte) {
	t.Helper()
	slot := rec
	if byID {
		slot = expert
		if w := tm.Window; w.Size > 0 {
			slot -= w.Size * int64(rank/w.Div%w.Mod)
			if slot < 0 || slot >= w.Size {
				return
			}
		}
	}
	for o, out := range tm.Outputs {
		at := to.At[o]
		if len(to.Step) > 0 {
			at += slot * to.Step[o]
		}
		for _, m := range out.Moves {
			from := m.From
			for _, part := range m.Parts {
				from += part.Step * int64(rank/part.Div%part.Mod)
			}
			loop(m.Loops, from, at+m.To, func(from, to int64) {
				if bytes.IndexByte(written[to:to+m.Run], 1) >= 0 {
					t.Fatalf("bytes from %d on are written twice", to)
				}
				for b := range m.Run {
					written[to+b] = 1
				}
				copy(arena[to:to+m.Run], tensor[from:from+m.Run])
			})
		}
	}
}

func loop(loops []Loop, from, to int64, do func(from, to int64)) {
	if len(loops) == 0 {
		do(from, to)
		return
	}
	for i := range loops[0].N {
		loop(loops[1:], from+i*loops[0].From, to+i*loops[0].To, do)
	}
}

// cut takes from…to of an axis of a tensor, row by row.
func cut(data []byte, shape []uint64, axis int, from, to uint64) []byte {
	outer, inner := uint64(1), uint64(len(data))
	for _, d := range shape[:axis+1] {
		outer *= d
	}
	inner /= outer
	var out []byte
	for i := range outer {
		if at := i % shape[axis]; at >= from && at < to {
			out = append(out, data[i*inner:(i+1)*inner]...)
		}
	}
	return out
}

// on maps the tensors of a rank by name to their bytes.
func on(p *Plan, rank int, arena []byte) map[string][]byte {
	all := map[string][]byte{}
	for x := range p.Tensors(rank) {
		all[x.Name] = arena[x.Offset : x.Offset+x.Bytes]
	}
	return all
}

// family finds a family by the end of its pattern.
func family(t *testing.T, p *Plan, tail string) *Family {
	t.Helper()
	for i := range p.Families {
		if strings.HasSuffix(p.Families[i].Pattern, tail) {
			return &p.Families[i]
		}
	}
	t.Fatalf("there is no family %s", tail)
	return nil
}

// splitName is names.Split of a string.
func splitName(name string) (text string, n [names.Slots]uint32, slots int) {
	b, n, slots := names.Split(nil, []byte(name))
	return string(b), n, slots
}
