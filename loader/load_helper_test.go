package loader

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"ckpt/checkpoint"
	"ckpt/dtype"
	"ckpt/internal/synth"
	"ckpt/shard"
)

// fatal is what *testing.T and *rapid.T have in common.
type fatal interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// tensor is one of a checkpoint that a test makes.
type tensor struct {
	name, dtype string
	shape       []uint64
}

// writeFiles makes a checkpoint of random contents.
func writeFiles(t fatal, dir, config string, files [][]tensor) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{byte(len(files))})
	for i, list := range files {
		var header bytes.Buffer
		header.WriteByte('{')
		size := uint64(0)
		for k, x := range list {
			kind, _ := dtype.Parse(x.dtype)
			n, err := kind.Size(x.shape)
			if err != nil {
				t.Fatal(err)
			}
			if k > 0 {
				header.WriteByte(',')
			}
			shape, _ := json.Marshal(append([]uint64{}, x.shape...))
			fmt.Fprintf(&header, "%q:{\"dtype\":%q,\"shape\":%s,\"data_offsets\":[%d,%d]}", x.name, x.dtype, shape, size, size+n)
			size += n
		}
		header.WriteByte('}')
		for header.Len()%8 != 0 {
			header.WriteByte(' ')
		}
		file := binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))
		file = append(file, header.Bytes()...)
		data := make([]byte, size)
		random.Read(data)
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(files))
		if err := os.WriteFile(filepath.Join(dir, name), append(file, data...), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// planOf plans a directory.
func planOf(t fatal, dir string, top shard.Topology, o shard.Options) (*shard.Plan, error) {
	t.Helper()
	c, err := checkpoint.Open(context.Background(), dir, checkpoint.Options{Headers: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := shard.Recognise(c, "auto")
	if err != nil {
		t.Fatal(err)
	}
	return shard.New(c, m, top, o)
}

// mini makes a small checkpoint of real contents and plans it.
func mini(t testing.TB, top shard.Topology, o shard.Options) (string, *shard.Plan) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "mini")
	if _, err := synth.Synth(t.Context(), "kimi-k3", dir, synth.Options{Preset: "mini"}); err != nil {
		t.Fatal(err)
	}
	p, err := planOf(t, dir, top, o)
	if err != nil {
		t.Fatal(err)
	}
	return dir, p
}

// slowly does what a plan says byte by byte, as docs/plans.md reads, and gives
// the arena of each rank. It shares no code with the package.
func slowly(t fatal, p *shard.Plan, dir string) [][]byte {
	t.Helper()
	arenas := make([][]byte, len(p.Ranks))
	size := len(p.Ranks) / len(p.Stages)
	for r := range arenas {
		arenas[r] = make([]byte, p.Stages[r/size].Arena)
	}
	files := map[int][]byte{}
	for _, e := range p.Program.Extents {
		if files[e.File] == nil {
			data, err := os.ReadFile(filepath.Join(dir, p.Source.Files[e.File].Name))
			if err != nil {
				t.Fatal(err)
			}
			files[e.File] = data
		}
		for _, r := range e.Runs {
			for k := range max(r.Count, 1) {
				for _, c := range r.Pieces {
					id := int64(c.Expert) + k
					if r.Order > 0 {
						id = int64(p.Program.Orders[r.Order-1][k])
					}
					src := files[e.File][r.Offset+k*r.Stride+c.Offset:]
					for rank := range arenas {
						for _, to := range c.Targets {
							if to.Stage == rank/size {
								slowPiece(p, c, to, k, id, rank%size, src, arenas[rank])
							}
						}
					}
				}
			}
		}
	}
	return arenas
}

func slowPiece(p *shard.Plan, c shard.Piece, to shard.Target, record, id int64, rank int, src, arena []byte) {
	t := p.Program.Templates[c.Template]
	slot := record
	if c.ByID {
		slot = id
		if w := t.Window; w.Size > 0 {
			slot -= w.Size * int64(rank/w.Div%w.Mod)
			if slot < 0 || slot >= w.Size {
				return
			}
		}
	}
	for o, out := range t.Outputs {
		at := to.At[o]
		if len(to.Step) > 0 {
			at += slot * to.Step[o]
		}
		for _, m := range out.Moves {
			from := m.From
			for _, part := range m.Parts {
				from += part.Step * int64(rank/part.Div%part.Mod)
			}
			slowLoops(m.Loops, from, at+m.To, func(from, to int64) { copy(arena[to:to+m.Run], src[from:]) })
		}
		if out.Transform == "neg_exp" {
			slowNegExp(arena[at:at+out.Bytes], p.Families[t.Family].DType)
		}
	}
}

func slowLoops(loops []shard.Loop, from, to int64, do func(from, to int64)) {
	if len(loops) == 0 {
		do(from, to)
		return
	}
	for i := range loops[0].N {
		slowLoops(loops[1:], from+i*loops[0].From, to+i*loops[0].To, do)
	}
}

func slowNegExp(b []byte, dtype string) {
	if dtype != "F32" {
		panic(dtype)
	}
	for i := 0; i < len(b); i += 4 {
		x := float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i:])))
		binary.LittleEndian.PutUint32(b[i:], math.Float32bits(float32(-math.Exp(x))))
	}
}

// sameArenas compares what was loaded with the slow way.
func sameArenas(t fatal, l *Loaded, want [][]byte) {
	t.Helper()
	for _, r := range l.Ranks() {
		got := contents(t, l, r)
		if len(got) < len(want[r]) {
			t.Fatalf("rank %d: an arena of %d bytes, not %d", r, len(got), len(want[r]))
		}
		for x := range l.Plan.Tensors(r) {
			a, b := got[x.Offset:x.Offset+x.Bytes], want[r][x.Offset:x.Offset+x.Bytes]
			if !bytes.Equal(a, b) {
				i := 0
				for a[i] == b[i] {
					i++
				}
				t.Fatalf("rank %d: %s differs from byte %d of %d on", r, x.Name, i, len(a))
			}
		}
	}
}

// contents reads an arena back.
func contents(t fatal, l *Loaded, rank int) []byte {
	t.Helper()
	q, err := l.Device(rank).NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, l.Arena(rank).Bytes())
	if err := q.ReadBack(got, l.Arena(rank), 0); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	return got
}

func closeAll(t fatal, l *Loaded, devices ...Device) {
	t.Helper()
	if l != nil {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range devices {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
