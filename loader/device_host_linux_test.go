package loader

import (
	"errors"
	"io"
	"testing"
)

// Each client gets a file of its own; after the first one nobody writes, and
// what a client has outlives the arena.
func TestFaultVLLM56472EachClientHasItsOwnHandle(t *testing.T) {
	d := NewHost()
	arena, err := d.Alloc(1<<20 + 5)
	if err != nil {
		t.Fatal(err)
	}
	a := arena.(*HostArena)
	a.Mem()[0], a.Mem()[1<<20+4] = 7, 9
	first, err := a.Export()
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.Export()
	if err != nil {
		t.Fatal(err)
	}
	if first.Kind != "memfd" || first.File.Fd() == second.File.Fd() || first.Bytes < a.Bytes() {
		t.Errorf("%+v %+v", first, second)
	}
	q, err := d.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Copy(a, 0, []byte{1}); !errors.Is(err, errArenaSealed) {
		t.Errorf("a copy into what others have: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	got, err := io.ReadAll(second.File)
	if err != nil || len(got) != 1<<20+5 || got[0] != 7 || got[1<<20+4] != 9 {
		t.Errorf("%d bytes of the second client: %v", len(got), err)
	}
	if _, err := second.File.WriteAt([]byte{1}, 0); err == nil {
		t.Error("a client can write")
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.Export(); !errors.Is(err, errArenaClosed) {
		t.Errorf("an export of a closed arena: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
