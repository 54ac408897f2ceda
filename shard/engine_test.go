package shard

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ckpt/checkpoint"
	"ckpt/internal/synth"
)

// mini makes a small Kimi K3 with contents: 24 heads, layers of both kinds, and
// enough experts for their names to be out of order.
func mini(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "k3")
	if _, err := synth.Synth(t.Context(), "kimi-k3", dir, synth.Options{Preset: "mini", Layers: miniLayers, Experts: miniExperts}); err != nil {
		t.Fatal(err)
	}
	return dir
}

const (
	miniLayers  = 4
	miniExperts = 12
	miniHeads   = 24
	miniNope    = 32
	miniValue   = 32
)

// contents reads every tensor of a checkpoint.
func contents(t *testing.T, c *checkpoint.Checkpoint) map[string]*source {
	t.Helper()
	all := map[string]*source{}
	files := map[string][]byte{}
	for x := range c.Tensors() {
		data, ok := files[x.File.Path]
		if !ok {
			var err error
			if data, err = os.ReadFile(x.File.Path); err != nil {
				t.Fatal(err)
			}
			files[x.File.Path] = data
		}
		all[x.Name] = &source{x.Name, x.DType.String(), x.Shape, data[x.Offset : x.Offset+x.Size]}
	}
	return all
}

// column, row and full are how the families of a layer are split.
var (
	layerName = regexp.MustCompile(`^language_model\.model\.layers\.(\d+)\.(.*)$`)
	expertTag = regexp.MustCompile(`^block_sparse_moe\.experts\.(\d+)\.(w[123])\.(weight_packed|weight_scale)$`)
)

// engineNames is what the text engine calls the tensors of a layer, with the
// axis that is split, as its loader has it.
var engineNames = map[string]struct {
	name string
	axis int
}{
	"input_layernorm.weight":                           {"attn_norm.weight", -1},
	"post_attention_layernorm.weight":                  {"ffn_norm.weight", -1},
	"self_attention_res_norm.weight":                   {"attn_res_norm.weight", -1},
	"mlp_res_norm.weight":                              {"mlp_res_norm.weight", -1},
	"self_attention_res_proj.weight":                   {"attn_res_proj.weight", -1},
	"mlp_res_proj.weight":                              {"mlp_res_proj.weight", -1},
	"self_attn.q_proj.weight":                          {"attn_q.weight", 0},
	"self_attn.k_proj.weight":                          {"attn_k.weight", 0},
	"self_attn.v_proj.weight":                          {"attn_v.weight", 0},
	"self_attn.q_conv1d.weight":                        {"ssm_q_conv1d.weight", 0},
	"self_attn.k_conv1d.weight":                        {"ssm_k_conv1d.weight", 0},
	"self_attn.v_conv1d.weight":                        {"ssm_v_conv1d.weight", 0},
	"self_attn.b_proj.weight":                          {"ssm_beta.weight", 0},
	"self_attn.f_a_proj.weight":                        {"ssm_f_a.weight", -1},
	"self_attn.f_b_proj.weight":                        {"ssm_f_b.weight", 0},
	"self_attn.dt_bias":                                {"ssm_dt.bias", 0},
	"self_attn.o_norm.weight":                          {"ssm_norm.weight", -1},
	"self_attn.q_a_proj.weight":                        {"attn_q_a.weight", -1},
	"self_attn.q_a_layernorm.weight":                   {"attn_q_a_norm.weight", -1},
	"self_attn.q_b_proj.weight":                        {"attn_q_b.weight", 0},
	"self_attn.kv_a_proj_with_mqa.weight":              {"attn_kv_a_mqa.weight", -1},
	"self_attn.kv_a_layernorm.weight":                  {"attn_kv_a_norm.weight", -1},
	"mlp.gate_proj.weight":                             {"ffn_gate.weight", 0},
	"mlp.up_proj.weight":                               {"ffn_up.weight", 0},
	"mlp.down_proj.weight":                             {"ffn_down.weight", 1},
	"block_sparse_moe.gate.weight":                     {"ffn_gate_inp.weight", -1},
	"block_sparse_moe.gate.e_score_correction_bias":    {"exp_probs_b.bias", -1},
	"block_sparse_moe.routed_expert_down_proj.weight":  {"ffn_routed_down.weight", 1},
	"block_sparse_moe.routed_expert_up_proj.weight":    {"ffn_routed_up.weight", 1},
	"block_sparse_moe.routed_expert_norm.weight":       {"ffn_routed_norm.weight", -1},
	"block_sparse_moe.shared_experts.gate_proj.weight": {"ffn_gate_shexp.weight", 0},
	"block_sparse_moe.shared_experts.up_proj.weight":   {"ffn_up_shexp.weight", 0},
	"block_sparse_moe.shared_experts.down_proj.weight": {"ffn_down_shexp.weight", 1},
}

// global is the same for tensors that belong to no layer.
var globalNames = map[string]struct {
	name string
	axis int
}{
	"language_model.model.embed_tokens.weight":         {"token_embd.weight", 0},
	"language_model.lm_head.weight":                    {"output.weight", 0},
	"language_model.model.norm.weight":                 {"output_norm.weight", -1},
	"language_model.model.output_attn_res_norm.weight": {"output_attn_res_norm.weight", -1},
	"language_model.model.output_attn_res_proj.weight": {"output_attn_res_proj.weight", -1},
}

// third cuts a part of tp from an axis; axis −1 keeps all.
func third(s *source, axis, tp, rank int) []byte {
	if axis < 0 {
		return s.data
	}
	step := s.shape[axis] / uint64(tp)
	return cut(s.data, s.shape, axis, uint64(rank)*step, uint64(rank+1)*step)
}

// engineOf computes, from the source, every tensor that a rank must hold in the
// engine's layout. It is written from the engine's description, without plans.
func engineOf(t *testing.T, all map[string]*source, top Topology, rank int, heads bool) map[string][]byte {
	t.Helper()
	want := map[string][]byte{}
	for name, s := range all {
		if g, ok := globalNames[name]; ok {
			want[g.name] = third(s, g.axis, top.TP, rank%top.TP)
			continue
		}
		m := layerName.FindStringSubmatch(name)
		if m == nil {
			continue // the vision tower and the projector
		}
		blk, tail := "blk."+m[1]+".", m[2]
		if e := expertTag.FindStringSubmatch(tail); e != nil {
			id, _ := strconv.Atoi(e[1])
			axis := map[string]int{"w1": 0, "w2": 1, "w3": 0}[e[2]]
			groups, inner := max(top.EP, 1), max(top.TP/max(top.EP, 1), 1)
			local := miniExperts / groups
			if id/local != rank/(top.StageRanks()/groups) {
				continue
			}
			part := third(s, axis, inner, rank%inner)
			stacked := blk + map[string]string{"w1": "ffn_gate_exps", "w2": "ffn_down_exps", "w3": "ffn_up_exps"}[e[2]] +
				map[string]string{"weight_packed": ".weight", "weight_scale": ".weight_scale"}[e[3]]
			if want[stacked] == nil {
				want[stacked] = make([]byte, len(part)*local)
			}
			copy(want[stacked][id%local*len(part):], part)
			continue
		}
		kind := "kda"
		if all["language_model.model.layers."+m[1]+".self_attn.A_log"] == nil {
			kind = "mla"
		}
		tp, r := top.TP, rank%top.TP
		switch tail {
		case "self_attn.g_proj.weight":
			want[blk+map[string]string{"kda": "ssm_g_full.weight", "mla": "attn_gate.weight"}[kind]] = third(s, 0, tp, r)
		case "self_attn.o_proj.weight":
			want[blk+map[string]string{"kda": "ssm_out.weight", "mla": "attn_output.weight"}[kind]] = third(s, 1, tp, r)
		case "self_attn.A_log":
			data := s.data
			if heads {
				n := miniHeads / tp * 4
				data = data[r*n : (r+1)*n] // the padding is cut off before the split
			}
			want[blk+"ssm_a"] = data
		case "self_attn.kv_b_proj.weight":
			want[blk+"attn_k_b.weight"], want[blk+"attn_v_b.weight"] = headByHead(s, tp, r)
		default:
			e, ok := engineNames[tail]
			if !ok {
				t.Fatalf("%s has no name here", name)
			}
			want[blk+e.name] = third(s, e.axis, tp, r)
		}
	}
	return want
}

// headByHead takes kv_b apart, element by element.
func headByHead(s *source, tp, rank int) (k, v []byte) {
	rank0, n := uint64(rank*miniHeads/tp), uint64(miniHeads/tp)
	width := s.shape[1]
	at := func(head, row, col uint64) []byte {
		i := ((head*(miniNope+miniValue)+row)*width + col) * 2
		return s.data[i : i+2]
	}
	for h := rank0; h < rank0+n; h++ {
		for col := range width {
			for row := range uint64(miniNope) {
				k = append(k, at(h, row, col)...)
			}
		}
		for row := range uint64(miniValue) {
			for col := range width {
				v = append(v, at(h, miniNope+row, col)...)
			}
		}
	}
	return k, v
}

func TestEngineLayoutByContents(t *testing.T) {
	dir := mini(t)
	c, m := openAt(t, dir, "auto")
	all := contents(t, c)
	for _, top := range []Topology{{1, 1, 1}, {2, 1, 1}, {8, 1, 1}, {4, 2, 1}, {2, 4, 1}, {4, 4, 2}, {1, 12, 1}, {8, 1, 4}} {
		for _, heads := range []bool{false, true} {
			o := Options{}
			if heads {
				o.ALog = ALogHeads
			}
			p := planOf(t, c, m, top, o)
			if p.Layout != LayoutEngine {
				t.Fatalf("layout %s", p.Layout)
			}
			got := make([]map[string][]byte, top.StageRanks())
			for rank, arena := range execute(t, p, dir) {
				k := rank % top.StageRanks()
				if got[k] == nil {
					got[k] = map[string][]byte{}
				}
				for name, data := range on(p, rank, arena) {
					if got[k][name] != nil {
						t.Errorf("%v: %s is in two stages", top, name)
					}
					got[k][name] = data
				}
			}
			for rank := range got {
				same(t, fmt.Sprintf("%v heads=%v rank %d", top, heads, rank), got[rank], engineOf(t, all, top, rank, heads))
			}
		}
	}
}

func same(t *testing.T, what string, got, want map[string][]byte) {
	t.Helper()
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("%s: %s has other bytes (%d, not %d)", what, name, len(got[name]), len(want[name]))
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s: nobody asked for %s", what, name)
		}
	}
}

// The transform beyond the moves is named, and shapes are the engine's.
func TestEngineShapes(t *testing.T) {
	c, m := openAt(t, mini(t), "auto")
	for _, heads := range []ALog{ALogStored, ALogHeads} {
		p := planOf(t, c, m, Topology{TP: 4}, Options{ALog: heads})
		found := map[string]*Tensor{}
		for x := range p.Tensors(3) {
			found[x.Name] = x
		}
		a := found["blk.0.ssm_a"]
		want := "[32 1] of [32 1]"
		if heads == ALogHeads {
			want = "[6 1] of [24 1]"
		}
		if got := fmt.Sprint(a.Shape, " of ", a.Global); got != want || a.Transform != "neg_exp" {
			t.Errorf("%s: ssm_a is %s, transform %q", heads, got, a.Transform)
		}
		for name, want := range map[string]string{
			"blk.0.ssm_q_conv1d.weight":        "F32 [192 4] of [768 4] axis 0 [576 768]",
			"blk.3.attn_k_b.weight":            "BF16 [6 64 32] of [24 64 32] axis 0 [18 24]",
			"blk.3.attn_v_b.weight":            "BF16 [6 32 64] of [24 32 64] axis 0 [18 24]",
			"blk.1.ffn_down_exps.weight":       "U8 [12 128 32] of [12 128 128] axis 2 [96 128]",
			"blk.1.ffn_down_exps.weight_scale": "U8 [12 128 2] of [12 128 8] axis 2 [6 8]",
			"blk.1.ffn_gate_exps.weight":       "U8 [12 64 64] of [12 256 64] axis 1 [192 256]",
			"blk.2.ffn_routed_down.weight":     "BF16 [128 64] of [128 256] axis 1 [192 256]",
			"token_embd.weight":                "BF16 [256 256] of [1024 256] axis 0 [768 1024]",
			"blk.0.ssm_f_a.weight":             "BF16 [32 256] of [32 256]",
			"blk.0.ffn_down.weight":            "BF16 [256 128] of [256 512] axis 1 [384 512]",
			"blk.3.attn_output.weight":         "BF16 [256 192] of [256 768] axis 1 [576 768]",
			"blk.0.ssm_out.weight":             "BF16 [256 192] of [256 768] axis 1 [576 768]",
			"blk.1.ffn_gate_exps.weight_scale": "U8 [12 64 4] of [12 256 4] axis 1 [192 256]",
			"blk.3.attn_kv_a_mqa.weight":       "BF16 [96 256] of [96 256]",
			"output_attn_res_proj.weight":      "BF16 [1 256] of [1 256]",
			"blk.1.exp_probs_b.bias":           "F32 [12] of [12]",
			"blk.0.ssm_dt.bias":                "F32 [192] of [768] axis 0 [576 768]",
			"blk.1.ffn_gate_shexp.weight":      "BF16 [128 256] of [512 256] axis 0 [384 512]",
			"blk.3.attn_q_b.weight":            "BF16 [384 96] of [1536 96] axis 0 [1152 1536]",
			"blk.1.ffn_routed_up.weight":       "BF16 [256 32] of [256 128] axis 1 [96 128]",
			"blk.0.attn_res_norm.weight":       "BF16 [256] of [256]",
			"blk.0.mlp_res_proj.weight":        "BF16 [1 256] of [1 256]",
			"blk.1.ffn_routed_norm.weight":     "BF16 [128] of [128]",
		} {
			x := found[name]
			if x == nil {
				t.Errorf("there is no %s", name)
				continue
			}
			got := fmt.Sprint(x.DType, " ", x.Shape, " of ", x.Global)
			if x.Axis != nil {
				got += fmt.Sprint(" axis ", *x.Axis, " ", x.Range)
			}
			if got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		if n := len(found["blk.2.ffn_up_exps.weight"].Sources); n != miniExperts {
			t.Errorf("a stack of %d experts", n)
		}
	}
}

// In the checkpoint's layout names, shapes and order stay; A_log alone changes
// where it is narrowed.
func TestCheckpointLayoutByContents(t *testing.T) {
	dir := mini(t)
	c, m := openAt(t, dir, "auto")
	all := contents(t, c)
	for _, top := range []Topology{{1, 1, 1}, {4, 1, 1}, {8, 2, 1}, {2, 4, 3}} {
		p := planOf(t, c, m, top, Options{Layout: LayoutCheckpoint})
		last := map[string]int64{}
		for rank, arena := range execute(t, p, dir) {
			for x := range p.Tensors(rank) {
				s := all[x.Name]
				if s == nil {
					t.Fatalf("%s is no name of the checkpoint", x.Name)
				}
				axis, n, at := -1, top.TP, rank%top.StageRanks()%top.TP
				if x.Axis != nil {
					axis = *x.Axis
				}
				if strings.Contains(x.Name, ".experts.") {
					if top.EP <= top.TP {
						n = top.TP / top.EP
						at = rank % top.StageRanks() % n
					} else if axis >= 0 {
						t.Fatalf("%s is split", x.Name)
					}
				}
				if want := third(s, axis, n, at); !bytes.Equal(arena[x.Offset:x.Offset+x.Bytes], want) {
					t.Fatalf("%v rank %d: %s has other bytes", top, rank, x.Name)
				}
				if top.EP == 1 && rank == 0 {
					place := x.Sources[0]
					if place.Offset < last[place.File] {
						t.Fatalf("%s is out of order", x.Name)
					}
					last[place.File] = place.Offset
				}
			}
		}
	}
}
