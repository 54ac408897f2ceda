package loader

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ckpt/checkpoint"
	"ckpt/internal/pages"
	"ckpt/internal/synth"
	"ckpt/internal/unixsock"
	"ckpt/loader/client"
	"ckpt/shard"
)

// heldMemory is a device whose arenas are ordinary memory, handed over as copies.
type heldMemory struct{ Device }

func (heldMemory) Name() string             { return "test" }
func (heldMemory) NewQueue() (Queue, error) { return heldQueue{}, nil }

type heldArena struct {
	mem    []byte
	export func(mem []byte) (*os.File, error)
}

func (a *heldArena) Bytes() int64 { return int64(len(a.mem)) }
func (a *heldArena) Close() error { return nil }
func (a *heldArena) Export() (Handle, error) {
	f, err := a.export(a.mem)
	return Handle{Kind: client.KindMemfd, File: f, Bytes: a.Bytes()}, err
}

func sealedCopy(mem []byte) (*os.File, error) { return pages.Sealed("test", mem) }

type heldQueue struct{ Queue }

func (heldQueue) Copy(dst Arena, off int64, src []byte) error {
	copy(dst.(*heldArena).mem[off:], src)
	return nil
}

func (heldQueue) ReadBack(dst []byte, src Arena, off int64) error {
	copy(dst, src.(*heldArena).mem[off:])
	return nil
}
func (heldQueue) Record() (Event, error) { return heldQueue{}, nil }
func (heldQueue) Done() (bool, error)    { return true, nil }
func (heldQueue) Close() error           { return nil }

// miniPlan plans a small checkpoint with every kind of tensor.
func miniPlan(t testing.TB, topology shard.Topology, o shard.Options) *shard.Plan {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "mini")
	if _, err := synth.Synth(t.Context(), "kimi-k3", dir, synth.Options{Preset: "mini", Layers: 4, Experts: 12}); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(t.Context(), dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := shard.Recognise(c, "auto")
	if err != nil {
		t.Fatal(err)
	}
	p, err := shard.New(c, m, topology, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// holdings fill the arenas of a plan with noise.
func holdings(p *shard.Plan) Holdings {
	noise := rand.NewChaCha8([32]byte{})
	x := Holdings{Plan: p, Verify: client.Verify{Mode: "source", Status: "recorded"}}
	for r := range p.Ranks {
		mem := make([]byte, p.Stages[p.Ranks[r].Stage].Arena+CanaryBytes)
		noise.Read(mem)
		x.Arenas = append(x.Arenas, HeldArena{r, heldMemory{}, &heldArena{mem, sealedCopy}})
	}
	return x
}

// holder serves holdings and keeps what clients did.
type holder struct {
	*Hold
	socket string

	mu     sync.Mutex
	events []string
}

func hold(t *testing.T, x Holdings) *holder {
	t.Helper()
	h := &holder{socket: filepath.Join(t.TempDir(), "s")}
	var err error
	h.Hold, err = NewHold(h.socket, x, func(e HoldEvent) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, fmt.Sprint(e.Kind, e.Ranks, e.Err))
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func (h *holder) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.events, "\n")
}

func attach(t *testing.T, h *holder, ranks ...int) *client.Attachment {
	t.Helper()
	a, err := client.Attach(t.Context(), h.socket, ranks...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// compare holds what a client sees against the arenas.
func compareHeld(t *testing.T, x Holdings, a *client.Attachment, ranks ...int) {
	t.Helper()
	n := 0
	for _, r := range ranks {
		for want := range x.Plan.Tensors(r) {
			n++
			got, ok := a.Tensor(r, want.Name)
			if !ok {
				t.Fatalf("rank %d: no %s", r, want.Name)
			}
			if got.Offset != want.Offset || got.DType != want.DType || !bytes.Equal(a.Bytes(got), x.Arenas[r].Arena.(*heldArena).mem[want.Offset:][:want.Bytes]) {
				t.Errorf("rank %d: %s is not what is held", r, want.Name)
			}
		}
	}
	if len(a.Manifest.Tensors) != n || n == 0 {
		t.Errorf("%d tensors, want %d", len(a.Manifest.Tensors), n)
	}
}

func TestHoldServesRanks(t *testing.T) {
	before := descriptors(t)
	for _, topology := range []shard.Topology{{TP: 2}, {TP: 2, EP: 4}, {TP: 2, PP: 2}} {
		x := holdings(miniPlan(t, topology, shard.Options{}))
		h := hold(t, x)
		some := attach(t, h, 1)
		compareHeld(t, x, some, 1)
		all := attach(t, h)
		ranks := make([]int, len(x.Arenas))
		for r := range ranks {
			ranks[r] = r
		}
		compareHeld(t, x, all, ranks...)
		if n := h.Leases(); n != 2 {
			t.Errorf("%d leases, want 2", n)
		}
		if all.Holder() != os.Getpid() || all.Manifest.Hold != some.Manifest.Hold {
			t.Errorf("held by %d", all.Holder())
		}
		for _, a := range []*client.Attachment{some, all} {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if said := h.said(); strings.Count(said, "attached") != 2 || strings.Count(said, "left") != 2 || strings.Contains(said, "refused") {
			t.Errorf("events:\n%s", said)
		}
	}
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors are left", n-before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// One handle for all clients meant that the first to go freed the memory of a
// running engine.
func TestFaultVLLM56472OneExportAndOneLeaseAClient(t *testing.T) {
	x := holdings(miniPlan(t, shard.Topology{TP: 2}, shard.Options{}))
	var exports atomic.Int64 // made by the holder's goroutines
	for i := range x.Arenas {
		x.Arenas[i].Arena.(*heldArena).export = func(mem []byte) (*os.File, error) { exports.Add(1); return sealedCopy(mem) }
	}
	h := hold(t, x)
	first, second := attach(t, h), attach(t, h)
	if n := exports.Load(); n != 4 {
		t.Errorf("%d exports for two clients of two ranks", n)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	compareHeld(t, x, second, 0, 1)
	select {
	case <-second.Done():
		t.Error("the second lease went with the first")
	default:
	}
	compareHeld(t, x, attach(t, h, 0), 0)
}

func TestTheEndOfAHold(t *testing.T) {
	x := holdings(miniPlan(t, shard.Topology{}, shard.Options{}))
	h := hold(t, x)
	a := attach(t, h)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	<-a.Done()
	compareHeld(t, x, a, 0)
	if _, err := os.Lstat(h.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := client.Attach(t.Context(), h.socket); !errors.Is(err, unixsock.ErrNobody) {
		t.Errorf("attached to nobody: %v", err)
	}
	h = hold(t, x)
	other := attach(t, h)
	if other.Manifest.Hold == a.Manifest.Hold {
		t.Error("two holds have one name")
	}
}

func TestHoldRefuses(t *testing.T) {
	x := holdings(miniPlan(t, shard.Topology{TP: 2}, shard.Options{}))
	h := hold(t, x)
	var refused *client.RefusedError
	if _, err := client.Attach(t.Context(), h.socket, 0, 7); !errors.As(err, &refused) || !strings.Contains(err.Error(), "rank 7 is not held") {
		t.Error(err)
	}
	for name, lines := range map[string][]string{
		"rubbish":      {"GET / HTTP/1.1"},
		"schema":       {`{"schema":"ckpt.handoff/v2"}`},
		"twice":        {`{"schema":"ckpt.handoff/v1","schema":"ckpt.handoff/v1"}`},
		"long":         {strings.Repeat("x", client.MaxLine+1)},
		"other commit": {`{"schema":"ckpt.handoff/v1"}`, `{"commit":"0"}`},
		"no commit":    {`{"schema":"ckpt.handoff/v1"}`, `[]`},
		"too many":     {`{"schema":"ckpt.handoff/v1","ranks":[` + strings.Repeat("0,", client.MaxRanks) + `0]}`},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := unixsock.Dial(t.Context(), h.socket)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for _, l := range lines {
				c.Send([]byte(l))
			}
			said := ""
			for {
				line, files, err := c.Receive(client.MaxLine, unixsock.MostFiles)
				for _, f := range files {
					f.Close()
				}
				if err != nil {
					break
				}
				said = string(line)
			}
			if name != "long" && !strings.Contains(said, `"error":`) {
				t.Errorf("the holder says %q", said)
			}
		})
	}
	if n := h.Leases(); n != 0 {
		t.Errorf("%d leases", n)
	}
	c, err := unixsock.Dial(t.Context(), h.socket) // and one that says nothing
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	compareHeld(t, x, attach(t, h, 1), 1)
}

// Another name, or none, is taken for nothing.
func TestHoldNames(t *testing.T) {
	x := holdings(miniPlan(t, shard.Topology{}, shard.Options{}))
	h := hold(t, x)
	if _, err := NewHold(h.socket, x, nil); !errors.Is(err, unixsock.ErrInUse) {
		t.Errorf("a living socket: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewHold(file, x, nil); !errors.Is(err, unixsock.ErrNotSocket) {
		t.Errorf("a file: %v", err)
	}
	x.Arenas[0].Arena = struct{ Arena }{x.Arenas[0].Arena}
	if _, err := NewHold(filepath.Join(t.TempDir(), "s"), x, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an arena that cannot travel: %v", err)
	}
}

// A handle that leads to other memory, as one runtime's did, is found out before
// anything is used.
func TestTheWrongMappingIsFoundOut(t *testing.T) {
	x := holdings(miniPlan(t, shard.Topology{TP: 2}, shard.Options{}))
	other := x.Arenas[0].Arena.(*heldArena)
	x.Arenas[1].Arena.(*heldArena).export = func([]byte) (*os.File, error) { return sealedCopy(other.mem) }
	h := hold(t, x)
	if _, err := client.Attach(t.Context(), h.socket, 1); !errors.Is(err, client.ErrCanary) {
		t.Errorf("attached: %v", err)
	}
	if n := h.Leases(); n != 0 {
		t.Errorf("%d leases", n)
	}
}

// Memory that its holder could shrink would kill whoever reads it.
func TestOnlySealedMemoryIsMapped(t *testing.T) {
	x := holdings(miniPlan(t, shard.Topology{}, shard.Options{}))
	for name, export := range map[string]func([]byte) (*os.File, error){
		"file": func(mem []byte) (*os.File, error) {
			f, err := os.CreateTemp(t.TempDir(), "")
			if err == nil {
				_, err = f.Write(mem)
			}
			return f, err
		},
		"short":   func(mem []byte) (*os.File, error) { return sealedCopy(mem[:100]) },
		"nothing": func([]byte) (*os.File, error) { return os.Open(os.DevNull) },
	} {
		x.Arenas[0].Arena.(*heldArena).export = export
		h := hold(t, x)
		if _, err := client.Attach(t.Context(), h.socket); !errors.Is(err, pages.ErrNotSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := sealedCopy([]byte("sealed"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	again, err := pages.Reopen(f)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, change := range []error{f.Truncate(1), func() error { _, err := f.WriteAt([]byte("x"), 0); return err }(),
		func() error { _, err := again.Write([]byte("x")); return err }()} {
		if change == nil {
			t.Error("a sealed file was changed")
		}
	}
}

// What a manifest says of sources leads to the bytes of the checkpoint: a slice
// of its range for what is called a slice.
func TestManifestLeadsToTheSource(t *testing.T) {
	for _, o := range []shard.Options{{}, {Layout: shard.LayoutCheckpoint}} {
		p := miniPlan(t, shard.Topology{TP: 2}, o)
		x := holdings(p)
		x.Hash = func(file string, offset int64) string {
			return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, file, offset)))[:32]
		}
		a := attach(t, hold(t, x))
		names := map[string]map[string]shard.Origin{}
		for r := range p.Ranks {
			for w := range p.Tensors(r) {
				names[fmt.Sprint(r, w.Name)] = map[string]shard.Origin{}
				for _, s := range w.Sources {
					names[fmt.Sprint(r, w.Name)][fmt.Sprint(s.File, s.Offset)] = s
				}
			}
		}
		layouts := map[string]int{}
		for _, c := range a.Manifest.Tensors {
			want := names[fmt.Sprint(c.Rank, c.Name)]
			layouts[c.Layout]++
			n, slots := 0, map[int64]bool{}
			for _, s := range c.Sources {
				for k := range max(s.Count, 1) {
					o, ok := want[fmt.Sprint(s.File, s.Offset+k*s.Stride)]
					slot := s.Slot + k
					if s.Order > 0 {
						slot = a.Manifest.Orders[s.Order-1][k]
					}
					if !ok || o.Bytes != s.Bytes || k == 0 && o.Name != s.Name || slots[slot] {
						t.Errorf("%s: source %+v, want %+v", c.Name, s, o)
					}
					slots[slot] = true
					n++
				}
			}
			if n != len(want) {
				t.Errorf("%s: %d sources, want %d", c.Name, n, len(want))
			}
			if (c.Hash != "") != (c.Replicated && c.Layout == client.LayoutSlice && c.Transform == "" && len(want) == 1) {
				t.Errorf("%s: replicated %v, %s, %d sources, hash %q", c.Name, c.Replicated, c.Layout, len(want), c.Hash)
			}
		}
		if layouts[client.LayoutSlice] == 0 {
			t.Errorf("%v", layouts)
		}
		t.Log(o.Layout, layouts)
	}
}

func TestManifestIsSmall(t *testing.T) {
	p := miniPlan(t, shard.Topology{TP: 2}, shard.Options{})
	a := attach(t, hold(t, holdings(p)), 0)
	joined := false
	for _, c := range a.Manifest.Tensors {
		for _, s := range c.Sources {
			joined = joined || s.Count > 1
		}
	}
	if !joined {
		t.Error("the experts of a layer are not one origin")
	}
}

var _ io.Closer = (*Hold)(nil)
