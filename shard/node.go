package shard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Node is a machine that holds some of the ranks, and what it needs of the
// checkpoint, in bytes.
type Node struct {
	Ranks   []int `json:"ranks"`
	Read    int64 `json:"read_bytes"`    // of the files, each once
	Device  int64 `json:"device_bytes"`  // on its ranks, without padding
	Padding int64 `json:"padding_bytes"` // on its ranks
}

// Node sums what the given ranks need. Ranks of one stage share what they read:
// a machine reads a replicated tensor once, and of a split one its own parts.
func (p *Plan) Node(ranks []int) (*Node, error) {
	n := &Node{Ranks: slices.Compact(slices.Sorted(slices.Values(ranks)))}
	for _, r := range n.Ranks {
		if r < 0 || r >= len(p.Ranks) {
			return nil, fmt.Errorf("there is no rank %d", r)
		}
		n.Device += p.Ranks[r].Bytes
		n.Padding += p.Ranks[r].Padding
	}
	w := reader{Plan: p, ranks: n.Ranks, known: map[string]int64{}}
	for i := range p.Program.Extents {
		e := &p.Program.Extents[i]
		for k := range e.Runs {
			r := &e.Runs[k]
			for record := range r.Records() {
				for c := range r.Pieces {
					bytes, err := w.piece(r, &r.Pieces[c], record)
					if err != nil {
						return nil, err
					}
					n.Read += bytes
				}
			}
		}
	}
	return n, nil
}

// reader counts what ranks read.
type reader struct {
	*Plan
	ranks []int
	known map[string]int64 // by template and the ranks of a stage that have the slot
	key   []byte
	mine  []int
}

// piece is how many bytes of a tensor the ranks that have it read.
func (w *reader) piece(r *Run, c *Piece, record int64) (int64, error) {
	t := &w.Program.Templates[c.Template]
	slot := record
	if c.ByID {
		slot = int64(w.Program.expert(r, c, record))
	}
	size := w.Topology().StageRanks()
	w.mine = w.mine[:0]
	w.key = append(strconv.AppendInt(w.key[:0], int64(c.Template), 10), ':')
	for _, rank := range w.ranks {
		at := rank % size
		first := t.Window.of(at)
		if !slices.ContainsFunc(c.Targets, func(to Target) bool { return to.Stage == rank/size }) ||
			t.Window.Size > 0 && (slot < first || slot >= first+t.Window.Size) || slices.Contains(w.mine, at) {
			continue
		}
		w.mine = append(w.mine, at)
		w.key = append(w.key, byte(at), byte(at>>8), byte(at>>16), byte(at>>24))
	}
	bytes, known := w.known[string(w.key)]
	if known {
		return bytes, nil
	}
	bytes, err := t.reads(w.mine)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", w.Families[t.Family].Pattern, err)
	}
	w.known[string(w.key)] = bytes
	return bytes, nil
}

// reads is how many bytes of a tensor some ranks of a stage read together.
func (t *Template) reads(ranks []int) (int64, error) {
	var list []interval
	var err error
	for _, rank := range ranks {
		for o := range t.Outputs {
			for m := range t.Outputs[o].Moves {
				if list, err = t.Outputs[o].Moves[m].sourceOf(rank).expand(list); err != nil {
					return 0, err
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	total, end := int64(0), int64(0)
	for _, v := range list {
		if v.to > end {
			total += v.to - max(v.from, end)
			end = v.to
		}
	}
	return total, nil
}
