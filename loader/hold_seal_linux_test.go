package loader

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"ckpt/internal/pages"
	"ckpt/internal/pages/pagestest"
	"ckpt/loader/client"
	"ckpt/shard"
)

// hostHoldings fill arenas of the host with noise.
func hostHoldings(t *testing.T, p *shard.Plan) (Holdings, []*HostArena) {
	t.Helper()
	d := NewHost()
	noise := rand.NewChaCha8([32]byte{})
	x := Holdings{Plan: p, Verify: client.Verify{Mode: "source", Status: "recorded"}}
	var list []*HostArena
	for r := range p.Ranks {
		a, err := d.Alloc(p.Stages[p.Ranks[r].Stage].Arena + CanaryBytes)
		if err != nil {
			t.Fatal(err)
		}
		h := a.(*HostArena)
		noise.Read(h.Mem())
		list = append(list, h)
		x.Arenas = append(x.Arenas, HeldArena{r, d, a})
	}
	t.Cleanup(func() {
		for _, a := range list {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return x, list
}

// intruder opens the file of an arena as any process of the same user can.
func intruder(t *testing.T, a *HostArena) *os.File {
	t.Helper()
	f, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(a.shared.File().Fd())), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// What is held is final before the first client comes, for a writer that was there
// before too: it could alter what was verified.
func TestHeldArenasAreSealedBeforeTheSocketIsThere(t *testing.T) {
	x, list := hostHoldings(t, miniPlan(t, shard.Topology{TP: 2}, shard.Options{}))
	early := intruder(t, list[1])
	h := hold(t, x)
	for r, a := range list {
		if err := pages.CheckSealed(a.shared.File(), a.Bytes()); err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
		want := a.Mem()[5000]
		for _, f := range []*os.File{early, intruder(t, a)} {
			if _, err := f.WriteAt([]byte{want ^ 1}, 5000); err == nil {
				t.Errorf("rank %d can be written to", r)
			}
		}
		if a.Mem()[5000] != want {
			t.Errorf("rank %d has changed", r)
		}
	}
	attach(t, h)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	attach(t, hold(t, x), 1) // sealed ones are held again, with the canaries they have
}

// With a writer nothing is served, not even after another try; without one all is.
func TestArenasThatCannotBeSealedAreNotHeld(t *testing.T) {
	x, list := hostHoldings(t, miniPlan(t, shard.Topology{TP: 2}, shard.Options{}))
	end, err := pagestest.MapForWriting(intruder(t, list[1]))
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	for range 2 {
		if _, err := NewHold(socket, x, nil); !errors.Is(err, ErrNotFinal) {
			t.Fatalf("held: %v", err)
		}
		if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is there: %v", err)
		}
		if got, err := list[1].Export(); err == nil {
			t.Error("what is not sealed was exported")
			got.Close()
		}
	}
	q, err := x.Arenas[1].Device.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Copy(list[1], 0, []byte{1}); !errors.Is(err, errArenaSealed) {
		t.Errorf("a copy after it: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	attach(t, hold(t, x))
}
