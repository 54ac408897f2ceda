package device

import (
	"errors"
	"testing"
)

// calls counts what a runtime would be asked, and refuses one call.
type calls struct {
	pinned map[uintptr]int
	refuse int // the call that fails, counted from 1
	n      int
	most   int
}

func (c *calls) pin(mem []byte) error {
	c.n++
	c.most = max(c.most, len(mem))
	if c.n == c.refuse {
		return errors.New("memlock")
	}
	c.pinned[address(mem)] = len(mem)
	return nil
}

func (c *calls) unpin(mem []byte) error {
	if c.pinned[address(mem)] != len(mem) {
		return errors.New("not what was pinned")
	}
	delete(c.pinned, address(mem))
	return nil
}

// Registering the staging area fails in one huge call, of zero bytes, at the
// limit of locked memory, and then leaves a part pinned.
func TestFaultRTX6KPro52RegistersInPieces(t *testing.T) {
	mem := make([]byte, 2*PinPiece+4096) // never touched
	c := &calls{pinned: map[uintptr]int{}}
	var p Pins
	if err := p.Pin(mem[:0], c.pin, c.unpin); err != nil || c.n != 0 {
		t.Fatalf("nothing was pinned in %d calls: %v", c.n, err)
	}
	c.refuse = 3
	if err := p.Pin(mem, c.pin, c.unpin); err == nil || len(c.pinned) != 0 {
		t.Fatalf("%d pieces are left of what was refused: %v", len(c.pinned), err)
	}
	c.refuse, c.n = 0, 0
	if err := p.Pin(mem, c.pin, c.unpin); err != nil {
		t.Fatal(err)
	}
	if c.n != 3 || c.most != PinPiece {
		t.Errorf("%d calls of at most %d bytes", c.n, c.most)
	}
	if n := p.Whole(mem); n != PinPiece {
		t.Errorf("a copy of %d bytes crosses a border", n)
	}
	if n := p.Whole(mem[PinPiece-10 : PinPiece+10]); n != 10 {
		t.Errorf("a copy of %d bytes crosses a border", n)
	}
	if n := p.Whole(mem[PinPiece : PinPiece+10]); n != 10 {
		t.Errorf("a copy that begins at a border is cut at %d", n)
	}
	if err := p.Unpin(mem); err != nil || len(c.pinned) != 0 {
		t.Errorf("%d pieces are left: %v", len(c.pinned), err)
	}
	if n := p.Whole(mem); n != len(mem) {
		t.Errorf("copies are cut at %d where nothing is pinned", n)
	}
	if err := p.Unpin(mem); err == nil {
		t.Error("unpinned twice")
	}
}

func TestPinsAreSharedByDevices(t *testing.T) {
	mem := make([]byte, 8192)
	c := &calls{pinned: map[uintptr]int{}}
	var p Pins
	for range 2 {
		if err := p.Pin(mem, c.pin, c.unpin); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Pin(mem[:4096], c.pin, c.unpin); !errors.Is(err, ErrPinned) {
		t.Errorf("a part of it: %v", err)
	}
	if c.n != 1 {
		t.Errorf("pinned in %d calls", c.n)
	}
	for i := range 2 {
		if len(c.pinned) != 1 {
			t.Errorf("%d uses gone, %d ranges pinned", i, len(c.pinned))
		}
		if err := p.Unpin(mem); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.pinned) != 0 {
		t.Error("still pinned")
	}
}
