package loader

import (
	"testing"

	"ckpt/shard"
)

// sglang 38805: names each searched in a list dominated the load of half a
// million tensors. Here a block costs no allocation and no search, whatever is
// in it.
func TestFault_sglang38805(t *testing.T) {
	_, p := mini(t, shard.Topology{TP: 8}, shard.Options{Layout: shard.LayoutCheckpoint})
	var ranks []int
	for r := range p.Ranks {
		ranks = append(ranks, r)
	}
	g, err := newProgram(p, ranks, 1)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := NewNull().NewQueue()
	s := &scatterer{
		program: g, queues: []Queue{q}, ways: []Way{WayDirect}, shop: newShop(),
		joined: make([]joined, len(ranks)), touched: make([]bool, 1), counts: make([]counts, len(ranks)),
	}
	for _, x := range g.locals {
		a, _ := NewNull().Alloc(p.Stages[x.stage].Arena)
		s.arenas = append(s.arenas, a)
	}
	h := newHashes(g)
	buf := make([]byte, 8<<20)
	x := slot{buf: buf, free: &stack{wake: make(chan struct{}, 1), list: make([]*slot, 0, 1<<20)}}
	work := func() {
		lanes := newLanes(g, g.spans(true, false), Options{Block: 8 << 20})
		tensors := 0
		for lanes.next(&x.block) {
			n := testing.AllocsPerRun(1, func() {
				if err := s.block(&x.block, buf); err != nil {
					t.Fatal(err)
				}
				x.todo.Store(hashing)
				h.block(&x)
			})
			if n > 0 {
				t.Errorf("%v allocations for a block of tensors", n)
			}
			g.pieces(&x.block, func(int64, int64, int64) bool { tensors++; return true })
		}
		if int64(tensors) != g.tensors {
			t.Errorf("%d tensors in blocks, %d in the plan", tensors, g.tensors)
		}
	}
	work()
}

// What is assembled at once is bounded, and all of it is given back.
func TestAssemblyIsBounded(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{Layout: shard.LayoutEngine})
	host := NewHost()
	l, r, err := Load(t.Context(), p, dir, small(host))
	if err != nil {
		t.Fatal(err)
	}
	if r.Copies.Assembled == 0 {
		t.Error("nothing was assembled")
	}
	if n := l.hashes.program.largest; n == 0 || n > assemblyRoom {
		t.Errorf("the largest assembly has %d bytes", n)
	}
	closeAll(t, l, host)
}
