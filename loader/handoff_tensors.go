package loader

import (
	"slices"

	"ckpt/loader/client"
	"ckpt/shard"
)

// describer says what lies in arenas, in the words of a manifest.
type describer struct {
	plan *shard.Plan
	// hash gives the xxh3-128 of a source tensor in hexadecimal, or nothing.
	hash   func(file string, offset int64) string
	orders [][]int64 // lists that origins name
}

// placed is what the program says of a place in an arena.
type placed struct {
	slice bool    // of the source
	some  bool    // other ranks of the stage have other experts there
	slots []int64 // of the sources, in the order of the files
}

// tensors describes those of one rank, which lie in one arena.
func (d *describer) tensors(rank, arena int) []client.Tensor {
	places := d.places(rank)
	var list []client.Tensor
	for t := range d.plan.Tensors(rank) {
		c := client.Tensor{
			Name: t.Name, Rank: rank, Arena: arena, DType: t.DType, Shape: nonNil(t.Shape), Strides: strides(t.Shape),
			Offset: t.Offset, Bytes: t.Bytes, Global: nonNil(t.Global), Axis: t.Axis, Range: t.Range,
			Transform: t.Transform, Layout: client.LayoutRearranged,
		}
		c.Replicated = t.Axis == nil
		var slots []int64
		if p := places[t.Offset]; p != nil && t.Bytes > 0 {
			if p.slice {
				c.Layout = client.LayoutSlice
			}
			slots, c.Replicated = p.slots, c.Replicated && !p.some
		} else if t.Bytes == 0 {
			c.Layout = client.LayoutSlice
		}
		c.Sources = d.origins(t.Sources, slots)
		if len(c.Sources) == 1 && c.Sources[0].Bytes == t.Bytes && c.Layout == client.LayoutSlice && c.Transform == "" {
			c.Hash = c.Sources[0].Hash
		}
		list = append(list, c)
	}
	return list
}

func nonNil(shape []uint64) []uint64 {
	if shape == nil {
		return []uint64{}
	}
	return shape
}

// strides are those of rows that lie together, in elements.
func strides(shape []uint64) []uint64 {
	s := make([]uint64, len(shape))
	step := uint64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = step
		step *= max(shape[i], 1)
	}
	return s
}

// places walks the program for one rank, in the order in which Plan.Tensors
// lists the sources of a stack.
func (d *describer) places(rank int) map[int64]*placed {
	size := d.plan.Topology().StageRanks()
	stage, local := rank/size, rank%size
	places := map[int64]*placed{}
	p := d.plan.Program
	for e := range p.Extents {
		for r := range p.Extents[e].Runs {
			run := &p.Extents[e].Runs[r]
			for k := range run.Records() {
				for i := range run.Pieces {
					d.place(places, run, &run.Pieces[i], k, stage, local)
				}
			}
		}
	}
	return places
}

func (d *describer) place(places map[int64]*placed, r *shard.Run, c *shard.Piece, record int64, stage, local int) {
	t := &d.plan.Program.Templates[c.Template]
	slot := record
	if c.ByID {
		slot += int64(c.Expert)
		if r.Order > 0 {
			slot = int64(d.plan.Program.Orders[r.Order-1][record])
		}
	}
	if w := t.Window; w.Size > 0 {
		slot -= w.Size * int64(local/w.Div%w.Mod)
		if slot < 0 || slot >= w.Size {
			return
		}
	}
	for i := range c.Targets {
		to := &c.Targets[i]
		if to.Stage != stage {
			continue
		}
		for o := range t.Outputs {
			out, at := &t.Outputs[o], to.At[o]
			if out.Stack == 0 && len(to.Step) > 0 {
				at += slot * to.Step[o]
			}
			if out.Bytes == 0 {
				continue
			}
			if places[at] == nil {
				places[at] = &placed{slice: isSlice(t, out), some: t.Window.Size > 0 && t.Window.Mod > 1}
			}
			places[at].slots = append(places[at].slots, slot)
		}
	}
}

// isSlice says whether an output is its source, or a part of it along the axis
// that is split, byte for byte: all ranks together have all of the source, and one
// move writes its place from the first to the last byte and reads ever further.
func isSlice(t *shard.Template, o *shard.Output) bool {
	if len(o.Moves) != 1 || o.Moves[0].To != 0 || len(o.Shape) != len(o.Global) {
		return false
	}
	shape, global := o.Shape, o.Global
	if o.Stack > 0 { // of one slot
		shape, global = shape[1:], global[1:]
	}
	all := o.Bytes
	for i := range shape {
		if shape[i] == 0 || global[i]%shape[i] != 0 {
			return false
		}
		all *= int64(global[i] / shape[i])
	}
	if all != t.Bytes {
		return false
	}
	m := &o.Moves[0]
	wrote, read := m.Run, m.Run
	for _, l := range slices.Backward(m.Loops) {
		if l.N <= 1 {
			continue
		}
		if l.To != wrote || l.From < read {
			return false
		}
		wrote *= l.N
		read = l.From*(l.N-1) + read
	}
	return wrote == o.Bytes
}

// origins joins sources that lie at equal distances in one file.
func (d *describer) origins(sources []shard.Origin, slots []int64) []client.Origin {
	list := []client.Origin{}
	if len(sources) == 1 || len(slots) != len(sources) {
		for _, s := range sources {
			list = append(list, client.Origin{Name: s.Name, File: s.File, Offset: s.Offset, Bytes: s.Bytes, Hash: d.hashOf(s)})
		}
		return list
	}
	for from := 0; from < len(sources); {
		to := from + 1
		for to < len(sources) && follows(sources, from, to) {
			to++
		}
		list = append(list, d.origin(sources[from:to], slots[from:to]))
		from = to
	}
	return list
}

func (d *describer) hashOf(s shard.Origin) string {
	if d.hash == nil {
		return ""
	}
	return d.hash(s.File, s.Offset)
}

// follows says whether a source lies as far behind the one before it as the
// second does behind the first.
func follows(s []shard.Origin, first, i int) bool {
	stride := s[first+1].Offset - s[first].Offset
	return s[i].File == s[first].File && s[i].Bytes == s[first].Bytes && stride > 0 && s[i].Offset-s[i-1].Offset == stride
}

func (d *describer) origin(s []shard.Origin, slots []int64) client.Origin {
	o := client.Origin{Name: s[0].Name, File: s[0].File, Offset: s[0].Offset, Bytes: s[0].Bytes, Slot: slots[0]}
	if len(s) == 1 {
		o.Hash = d.hashOf(s[0])
		return o
	}
	o.Count, o.Stride = int64(len(s)), s[1].Offset-s[0].Offset
	for i, slot := range slots {
		if slot != slots[0]+int64(i) {
			o.Order = d.order(slots)
			break
		}
	}
	return o
}

// order gives the number of a list, which it keeps.
func (d *describer) order(slots []int64) int {
	for i, known := range d.orders {
		if slices.Equal(known, slots) {
			return i + 1
		}
	}
	d.orders = append(d.orders, slices.Clone(slots))
	return len(d.orders)
}
