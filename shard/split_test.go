package shard

import "testing"

// A scale for each row goes to every rank where the rows are cut across, in
// either of its two shapes.
func TestScalesOfRowsThatAreCutAcross(t *testing.T) {
	for _, shape := range [][]uint64{{16}, {16, 1}} {
		list := []source{
			{name: "model.layers.0.mlp.down_proj.weight", dtype: "F8_E4M3", shape: []uint64{16, 32}},
			{name: "model.layers.0.mlp.down_proj.weight_scale", dtype: "F32", shape: shape},
		}
		p, err := planList(t, list, `{}`, Topology{TP: 2})
		if err != nil {
			t.Errorf("%v: %v", shape, err)
			continue
		}
		prove(t, p)
		if f := family(t, p, "weight_scale"); f.Action != Replicate || f.PerRank != 16*4 {
			t.Errorf("%v: %+v", shape, f)
		}
	}
}
