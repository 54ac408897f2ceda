package shard

import (
	"slices"
	"testing"
)

// What the ranks of a machine read is what marking every byte gives.
func TestNode(t *testing.T) {
	c, m := openAt(t, mini(t), "auto")
	for _, top := range []Topology{{TP: 1}, {TP: 4}, {TP: 2, EP: 4}, {TP: 4, EP: 2, PP: 2}} {
		for _, layout := range []Layout{LayoutEngine, LayoutCheckpoint} {
			p := planOf(t, c, m, top, Options{Layout: layout})
			all := p.Topology().Ranks()
			for _, ranks := range [][]int{{0}, {all - 1}, {0, all / 2}, seq(0, (all+1)/2), seq(0, all)} {
				n, err := p.Node(ranks)
				if err != nil {
					t.Fatal(err)
				}
				if want := markRead(p, ranks); n.Read != want {
					t.Errorf("%v, %s, ranks %v read %d bytes, want %d", top, layout, ranks, n.Read, want)
				}
				if len(ranks) == all && n.Read+p.Totals.Dropped != p.Totals.Read {
					t.Errorf("%v: all ranks read %d, the plan %d less %d", top, n.Read, p.Totals.Read, p.Totals.Dropped)
				}
			}
		}
	}
}

func TestNodeSums(t *testing.T) {
	c, m := openAt(t, mini(t), "auto")
	p := planOf(t, c, m, Topology{TP: 4}, Options{})
	a, err := p.Node([]int{3, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Ranks, []int{1, 3}) || a.Device != p.Ranks[1].Bytes+p.Ranks[3].Bytes || a.Padding != p.Ranks[1].Padding+p.Ranks[3].Padding {
		t.Errorf("%+v", a)
	}
	if _, err := p.Node([]int{4}); err == nil {
		t.Error("rank 4 of 4 is there")
	}
}

func seq(from, to int) []int {
	var list []int
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// markRead follows docs/plans.md and marks the bytes of the files one by one.
func markRead(p *Plan, ranks []int) int64 {
	marks := make([][]bool, len(p.Source.Files))
	for i, f := range p.Source.Files {
		marks[i] = make([]bool, f.Size)
	}
	stageRanks := p.Topology().StageRanks()
	for _, rank := range ranks {
		at := rank % stageRanks
		for _, e := range p.Program.Extents {
			for _, r := range e.Runs {
				for k := range r.Records() {
					for _, c := range r.Pieces {
						tm := p.Program.Templates[c.Template]
						slot := k
						if c.ByID {
							slot = int64(c.Expert) + k
							if r.Order > 0 {
								slot = int64(p.Program.Orders[r.Order-1][k])
							}
						}
						if w := tm.Window; w.Size > 0 && slot/w.Size != int64(at/w.Div%w.Mod) {
							continue
						}
						for _, to := range c.Targets {
							if to.Stage != rank/stageRanks {
								continue
							}
							for _, o := range tm.Outputs {
								for _, mv := range o.Moves {
									from := r.Offset + k*r.Stride + c.Offset + mv.From
									for _, part := range mv.Parts {
										from += part.Step * int64(at/part.Div%part.Mod)
									}
									loop(mv.Loops, from, 0, func(from, _ int64) {
										for i := range mv.Run {
											marks[e.File][from+i] = true
										}
									})
								}
							}
						}
					}
				}
			}
		}
	}
	n := int64(0)
	for _, m := range marks {
		for _, b := range m {
			if b {
				n++
			}
		}
	}
	return n
}
