package shard

import "fmt"

// maxDegree bounds each degree, so that products of them stay small: the
// largest clusters that serve one model have a few hundred devices.
const maxDegree = 4096

// Topology is how many ways a model is split. A degree of 0 counts as 1.
type Topology struct {
	TP int // tensor parallel: within tensors
	EP int // expert parallel: experts by id, in contiguous ranges
	PP int // pipeline parallel: layers, in contiguous ranges
}

func (t Topology) whole() Topology {
	return Topology{max(t.TP, 1), max(t.EP, 1), max(t.PP, 1)}
}

// StageRanks is how many ranks hold one range of layers.
func (t Topology) StageRanks() int { return max(t.TP, t.EP, 1) }

// Ranks is how many ranks there are.
func (t Topology) Ranks() int { return t.StageRanks() * max(t.PP, 1) }

func (t Topology) String() string {
	t = t.whole()
	return fmt.Sprintf("TP%d EP%d PP%d", t.TP, t.EP, t.PP)
}

// check refuses degrees that make no sense for any model.
func (t Topology) check() error {
	for _, d := range []struct {
		name string
		n    int
	}{{"TP", t.TP}, {"EP", t.EP}, {"PP", t.PP}} {
		if d.n < 0 || d.n > maxDegree {
			return fmt.Errorf("%w: %s %d is not in 1…%d", ErrTopology, d.name, d.n, maxDegree)
		}
	}
	t = t.whole()
	if t.TP%t.EP != 0 && t.EP%t.TP != 0 {
		return fmt.Errorf("%w: of TP %d and EP %d neither divides the other", ErrTopology, t.TP, t.EP)
	}
	return nil
}

// dense is the part of a tensor outside of experts that the ranks of a stage
// take: parts of them, each on so many neighbouring ranks.
func (t Topology) dense(parts int) share {
	return share{Div: t.TP / parts, Mod: parts}
}

// expertTP is how many ways one expert is split.
func (t Topology) expertTP() int { return max(1, t.TP/t.EP) }

// expert is the same for the tensors of experts.
func (t Topology) expert(parts int) share {
	return share{Div: t.expertTP() / parts, Mod: parts}
}

// window is which range of experts a rank has.
func (t Topology) window() share {
	return share{Div: t.StageRanks() / t.EP, Mod: t.EP}
}

// share picks a number by rank: rank r of a stage has (r/Div) mod Mod.
type share struct{ Div, Mod int }

func (s share) of(rank int) int {
	if s.Mod <= 1 {
		return 0
	}
	return rank / max(s.Div, 1) % s.Mod
}
