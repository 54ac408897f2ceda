package shard

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ckpt/dtype"
)

// mlp is layers with a gate and a down projection of a type, with scales of the
// shapes that are asked for.
func mlp(layers int, kind, leaf, scaleLeaf string, inner, hidden uint64, gate, down []uint64) (list []source) {
	for i := range layers {
		l := fmt.Sprintf("model.layers.%d.mlp.", i)
		list = append(list,
			source{name: l + "gate_proj." + leaf, dtype: kind, shape: []uint64{inner, hidden}},
			source{name: l + "down_proj." + leaf, dtype: kind, shape: []uint64{hidden, inner}},
			source{name: l + "gate_proj." + scaleLeaf, dtype: "F32", shape: gate},
			source{name: l + "down_proj." + scaleLeaf, dtype: "F32", shape: down})
	}
	return list
}

// worksAt plans a model at every degree, proves the plans, and gives the degrees
// with the error of the others.
func worksAt(t *testing.T, list []source, config string) (works []int, refusal error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	write(t, dir, config, [][]source{list})
	c, m := openAt(t, dir, "none")
	for _, tp := range []int{1, 2, 4, 8} {
		p, err := New(c, m, Topology{TP: tp}, Options{})
		if err != nil {
			refusal = err
			continue
		}
		prove(t, p)
		again(t, p)
		works = append(works, tp)
	}
	return works, refusal
}

// 1536/8 = 192 is not a multiple of 128, and 960/2 = 480 is not either, although
// eight scales divide by two: the size of blocks is the config's, or the power of
// two that fits, and never what division gives.
func TestVLLM48173BlocksAreNotGuessed(t *testing.T) {
	fp8 := `{"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}`
	block := func(size string) string {
		return `{"quantization_config": {"config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": ` + size + `}}}}}`
	}
	for _, c := range []struct {
		name, config string
		inner        uint64
		groups       uint64
		works        []int
		why          string
		block        int64 // size of the block that the plan states
	}{
		{"960 by the config", fp8, 960, 8, []int{1}, "cuts a group of 128", 128},
		{"960 without one", `{}`, 960, 8, []int{1}, "cuts a group of 128", 128},
		{"960 of 120", block("[120, 128]"), 960, 8, []int{1}, "", 0}, // one way in gate, the other in down
		{"1024", fp8, 1024, 8, []int{1, 2, 4, 8}, "", 128},
		{"1024 by text", block(`"128x128"`), 1024, 8, []int{1, 2, 4, 8}, "", 128},
		{"1024, blocks of 64 said", block("[64, 64]"), 1024, 8, []int{1}, "the config says groups of 64×64 numbers", 0},
		{"nonsense said", block("[0, 128]"), 1024, 8, []int{1}, "block_structure of the config must be two positive integers", 0},
		{"no size fits both axes", `{}`, 1024, 7, []int{1}, "are not those of", 0},
	} {
		list := mlp(2, "F8_E4M3", "weight", "weight_scale_inv", c.inner, 512, []uint64{c.groups, 4}, []uint64{4, c.groups})
		works, err := worksAt(t, list, c.config)
		if !slices.Equal(works, c.works) || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: works at %v, want %v: %v", c.name, works, c.works, err)
		}
		if c.block == 0 {
			continue
		}
		p, err := planList(t, list, c.config, Topology{TP: 1})
		if err != nil || !slices.Equal(p.Program.Templates[0].Block, []int64{c.block, c.block}) {
			t.Errorf("%s: the plan states %v: %v", c.name, p.Program.Templates[0].Block, err)
		}
	}
}

// Groups along rows: of the config, of a power of two, or not known, where the
// tensor is refused only if the size decides.
func TestGroupsOfPackedCodes(t *testing.T) {
	config := func(weights string) string {
		return `{"quantization_config": {"config_groups": {"group_0": {"weights": {"num_bits": 4, ` + weights + `}}}}}`
	}
	for _, c := range []struct {
		name, config string
		inner        uint64 // numbers
		groups       uint64
		works        []int
		why          string
	}{
		{"groups of 128", config(`"strategy": "group", "group_size": 128`), 1024, 8, []int{1, 2, 4, 8}, ""},
		{"groups of 128, not said", `{}`, 1024, 8, []int{1, 2, 4, 8}, ""},
		{"groups of 96", config(`"group_size": 96`), 768, 8, []int{1, 2, 4, 8}, ""},
		{"groups of 96, not said", `{}`, 960, 10, []int{1}, "may be of"},
		{"a config of others", config(`"group_size": 64`), 1024, 8, []int{1}, "the config says groups of 1×64"},
		{"one a row", config(`"strategy": "channel"`), 1024, 1, []int{1, 2, 4, 8}, ""},
		{"one a row, not said", `{}`, 1024, 1, []int{1, 2, 4, 8}, ""},
		{"one group", config(`"group_size": 128`), 128, 1, []int{1}, "cuts a group"},
		{"one group, not said", `{}`, 128, 1, []int{1}, "cuts a group"},
	} {
		list := []source{
			{name: "model.layers.0.mlp.down_proj.weight_packed", dtype: "I32", shape: []uint64{64, c.inner / 8}},
			{name: "model.layers.0.mlp.down_proj.weight_scale", dtype: "BF16", shape: []uint64{64, c.groups}},
			{name: "model.layers.0.mlp.down_proj.weight_shape", dtype: "I64", shape: []uint64{2}},
		}
		works, err := worksAt(t, list, c.config)
		if !slices.Equal(works, c.works) || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: works at %v, want %v: %v", c.name, works, c.works, err)
		}
	}
}

// Scales that exist for no weight, and weights of FP8 without the scales that
// their siblings have, are refused where a split would believe them.
func TestVLLM57108WeightsAndScalesPair(t *testing.T) {
	good := mlp(3, "F8_E4M3", "weight", "weight_scale_inv", 1024, 512, []uint64{8, 4}, []uint64{4, 8})
	without := func(name string) []source {
		return slices.DeleteFunc(slices.Clone(good), func(s source) bool { return s.name == name })
	}
	needless := slices.Clone(good)
	for i := range needless {
		if needless[i].name == "model.layers.1.mlp.down_proj.weight" {
			needless[i].dtype = "BF16"
		}
	}
	turned := mlp(3, "F8_E4M3", "weight", "weight_scale_inv", 1024, 512, []uint64{4, 8}, []uint64{8, 4})
	flat := mlp(3, "F8_E4M3", "weight", "weight_scale_inv", 1024, 512, []uint64{32}, []uint64{32})
	wrong := mlp(3, "F8_E4M3", "weight", "weight_scale_inv", 1024, 512, []uint64{600, 300}, []uint64{300, 600})
	row := mlp(3, "F8_E4M3", "weight", "weight_scale", 1024, 512, []uint64{1, 1024}, []uint64{1, 512})
	plainOnly := mlp(3, "BF16", "weight", "weight_scale", 1024, 512, []uint64{8, 4}, []uint64{4, 8})
	experts := slices.Clone(good)
	for i := range experts {
		experts[i].name = strings.Replace(strings.Replace(experts[i].name, ".mlp.", ".mlp.experts.", 1), "layers.0.mlp.experts.", "layers.0.mlp.experts.0.", 1)
		experts[i].name = strings.Replace(strings.Replace(experts[i].name, "layers.1.mlp.experts.", "layers.0.mlp.experts.1.", 1), "layers.2.mlp.experts.", "layers.0.mlp.experts.2.", 1)
	}
	experts = slices.DeleteFunc(experts, func(s source) bool { return s.name == "model.layers.0.mlp.experts.1.down_proj.weight_scale_inv" })
	for name, c := range map[string]struct {
		list        []source
		config, why string
	}{
		"good":                     {good, `{}`, ""},
		"a scale is missing":       {without("model.layers.1.mlp.down_proj.weight_scale_inv"), `{}`, "its scales are not there, in 1 of 3, the first is model.layers.1.mlp.down_proj.weight"},
		"an expert's scale":        {experts, `{}`, "the first is model.layers.0.mlp.experts.1.down_proj.weight"},
		"a weight needs none":      {needless, `{}`, "the first is model.layers.1.mlp.down_proj.weight_scale_inv"},
		"scales are turned":        {turned, `{}`, "scales [4 8] are not those of F8_E4M3 [1024 512]"},
		"scales have one axis":     {flat, `{}`, "scales [32] are not those of"},
		"scales of others":         {wrong, `{}`, "are not those of"},
		"a scale a column":         {row, `{}`, "are not those of"},
		"weights that need none":   {plainOnly, `{}`, "no weight is there for these scales"},
		"scales that are promised": {mlp(1, "F8_E4M3", "weight", "unused", 64, 64, nil, nil)[:2], `{"quantization_config": {"weight_block_size": [32, 32]}}`, "its scales are not there"},
		"codes have scales":        {[]source{{name: "model.layers.0.mlp.up_proj.weight_packed", dtype: "U8", shape: []uint64{64, 64}}}, `{}`, "its scales are not there"},
		"FP8 as a plain type":      {mlp(1, "F8_E4M3", "weight", "unused", 64, 64, nil, nil)[:2], `{}`, ""},
	} {
		works, err := worksAt(t, c.list, c.config)
		switch {
		case c.why == "" && (err != nil || len(works) != 4):
			t.Errorf("%s: %v, %v", name, works, err)
		case c.why != "" && (!slices.Equal(works, []int{1}) || !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%s: %v, %v", name, works, err)
		}
		if c.why == "" {
			continue
		}
		p, err := planList(t, c.list, c.config, Topology{TP: 1})
		if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "no rule knows") || !strings.Contains(p.Notes[0], "(") {
			t.Errorf("%s: on one rank: %v", name, err)
		}
	}
}

// One scale a tensor is on every rank, in any of its shapes, and the scale of
// inputs is no weight that has scales itself.
func TestScalesOfWholeTensors(t *testing.T) {
	for _, shape := range [][]uint64{nil, {1}, {1, 1}} {
		list := mlp(2, "F8_E4M3", "weight", "weight_scale", 64, 32, shape, shape)
		for i := range 2 {
			list = append(list, source{name: fmt.Sprintf("model.layers.%d.mlp.gate_proj.input_scale", i), dtype: "F32", shape: shape},
				source{name: fmt.Sprintf("model.layers.%d.mlp.gate_proj.bias", i), dtype: "BF16", shape: []uint64{64}})
		}
		for _, config := range []string{`{}`, `{"quantization_config": {"config_groups": {"group_0": {"weights": {"num_bits": 8, "strategy": "tensor"}}}}}`} {
			if works, err := worksAt(t, list, config); err != nil || len(works) != 4 {
				t.Errorf("%v: %v, %v", shape, works, err)
			}
		}
		p, err := planList(t, list, `{}`, Topology{TP: 4})
		if err != nil {
			t.Fatal(err)
		}
		for _, tail := range []string{"gate_proj.weight_scale", "down_proj.weight_scale", "input_scale"} {
			if f := family(t, p, tail); f.Action != Replicate {
				t.Errorf("%s: %+v", tail, f)
			}
		}
		for i := range p.Program.Templates {
			if tm := &p.Program.Templates[i]; (tm.Scale > 0) != strings.HasSuffix(p.Families[tm.Family].Pattern, ".weight") {
				t.Errorf("%s has scales: %v", p.Families[tm.Family].Pattern, tm.Scale > 0)
			}
		}
	}
}

// A proof does not say yes over scales that no tensor names, nor over a block
// that the scales are not of.
func TestProveFindsScalesOfNothing(t *testing.T) {
	list := mlp(2, "F8_E4M3", "weight", "weight_scale_inv", 1024, 512, []uint64{8, 4}, []uint64{4, 8})
	p, err := planList(t, list, `{}`, Topology{TP: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Program.Templates {
		if p.Program.Templates[i].Scale == 0 {
			continue
		}
		for name, change := range map[string]func(t *Template){
			"no scale":        func(t *Template) { t.Scale, t.Block = 0, nil },
			"a larger block":  func(t *Template) { t.Block[0] *= 2 },
			"a smaller block": func(t *Template) { t.Block[1]-- },
			"one for all":     func(t *Template) { t.Block = []int64{0, 0} },
			"itself":          func(t *Template) { t.Scale = i + 1 },
		} {
			q := clone(t, p)
			change(&q.Program.Templates[i])
			if proof := q.Prove(); proof.ScaleAligned {
				t.Errorf("template %d, %s: %+v", i, name, proof)
			}
		}
	}
	// Scales that are asked for alone are parted from nothing.
	dir := filepath.Join(t.TempDir(), "model")
	write(t, dir, `{}`, [][]source{list})
	c, m := openAt(t, dir, "none")
	part, err := New(c, m, Topology{TP: 2}, Options{Keep: func(name []byte) bool { return strings.HasSuffix(string(name), "scale_inv") }})
	if err != nil {
		t.Fatal(err)
	}
	prove(t, part)
}

// Sizes of groups that are guessed give the number of groups that there are.
func TestGuessedGroupsFit(t *testing.T) {
	for rows := int64(1); rows < 70; rows++ {
		for rowGroups := int64(1); rowGroups <= rows; rowGroups++ {
			for _, columns := range []int64{1, 7, 64, 96} {
				for columnGroups := int64(1); columnGroups <= columns; columnGroups++ {
					m := matrix{rows, columns, rowGroups, columnGroups}
					block, _ := m.guess(dtype.F8_E4M3)
					if block[0] >= 0 && (!into(rows, rowGroups, block[0]) || !into(columns, columnGroups, block[1])) {
						t.Fatalf("%+v: %v", m, block)
					}
				}
			}
		}
	}
}
