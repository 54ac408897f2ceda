package shard

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plain is a transformer of random sizes, with names as their authors write
// them.
type plain struct {
	layers, hidden, heads, kv, dim, inner, vocab, experts uint64
	mla, fused, fp4                                       bool
}

func drawPlain(t *rapid.T) plain {
	m := plain{
		layers: rapid.Uint64Range(2, 4).Draw(t, "layers"),
		hidden: 32 * rapid.Uint64Range(1, 4).Draw(t, "hidden"),
		heads:  rapid.SampledFrom([]uint64{2, 4, 6, 8, 8}).Draw(t, "heads"),
		dim:    rapid.SampledFrom([]uint64{2, 4, 5}).Draw(t, "dim"),
		inner:  32 * rapid.SampledFrom([]uint64{1, 2, 4, 8, 8, 12}).Draw(t, "inner"),
		vocab:  rapid.SampledFrom([]uint64{24, 32, 48, 30}).Draw(t, "vocab"),
		mla:    rapid.Bool().Draw(t, "mla"),
		fused:  rapid.Bool().Draw(t, "fused"),
		fp4:    rapid.Bool().Draw(t, "fp4"),
	}
	m.kv = m.heads
	for _, k := range []uint64{2, 4} {
		if m.heads%k == 0 && rapid.Bool().Draw(t, "grouped") {
			m.kv = m.heads / k
		}
	}
	m.experts = rapid.SampledFrom([]uint64{0, 4, 4, 8, 12}).Draw(t, "experts")
	return m
}

func (m plain) config() string {
	kind := "some"
	if m.fused && !m.mla {
		kind = "phi3" // known to store queries, keys and values in this order
	}
	return fmt.Sprintf(`{"model_type": %q, "num_attention_heads": %d, "num_key_value_heads": %d, "head_dim": %d}`, kind, m.heads, m.kv, m.dim)
}

// piece of a test: how a tensor is cut, by a rule that this test writes out.
type cutRule struct {
	axis    int // -1: whole
	parts   uint64
	repeat  bool
	expert  int // -1: none
	sizes   []uint64
	sectors []uint64 // parts of each section
}

// tensors lists the model with the rule of each.
func (m plain) tensors() ([]source, map[string]cutRule) {
	var list []source
	rules := map[string]cutRule{}
	add := func(name, kind string, r cutRule, shape ...uint64) {
		list = append(list, source{name: name, dtype: kind, shape: shape})
		rules[name] = r
	}
	plainRule := cutRule{axis: -1, expert: -1}
	split := func(axis int, parts uint64) cutRule { return cutRule{axis: axis, parts: parts, expert: -1} }
	add("model.embed_tokens.weight", "BF16", split(0, m.vocab), m.vocab, m.hidden)
	add("lm_head.weight", "BF16", split(0, m.vocab), m.vocab, m.hidden)
	add("model.norm.weight", "F32", plainRule, m.hidden)
	for i := range m.layers {
		l := fmt.Sprintf("model.layers.%d.", i)
		add(l+"input_layernorm.weight", "BF16", plainRule, m.hidden)
		add(l+"self_attn.o_proj.weight", "BF16", split(1, m.heads), m.hidden, m.heads*m.dim)
		kv := split(0, m.kv)
		kv.repeat = true
		switch {
		case m.mla:
			add(l+"self_attn.kv_a_proj_with_mqa.weight", "BF16", plainRule, 10, m.hidden)
			add(l+"self_attn.kv_b_proj.weight", "BF16", split(0, m.heads), m.heads*2*m.dim, 8)
			add(l+"self_attn.q_proj.weight", "BF16", split(0, m.heads), m.heads*m.dim, m.hidden)
		case m.fused:
			r := cutRule{axis: 0, expert: -1, sizes: []uint64{m.heads * m.dim, m.kv * m.dim, m.kv * m.dim}, sectors: []uint64{m.heads, m.kv, m.kv}}
			add(l+"self_attn.qkv_proj.weight", "BF16", r, (m.heads+2*m.kv)*m.dim, m.hidden)
		default:
			add(l+"self_attn.q_proj.weight", "BF16", split(0, m.heads), m.heads*m.dim, m.hidden)
			add(l+"self_attn.k_proj.weight", "BF16", kv, m.kv*m.dim, m.hidden)
			add(l+"self_attn.v_proj.weight", "BF16", kv, m.kv*m.dim, m.hidden)
			add(l+"self_attn.k_proj.bias", "F32", kv, m.kv*m.dim)
		}
		if m.experts == 0 {
			add(l+"mlp.gate_proj.weight", "BF16", split(0, m.inner), m.inner, m.hidden)
			add(l+"mlp.down_proj.weight", "BF16", split(1, m.inner), m.hidden, m.inner)
			continue
		}
		add(l+"mlp.gate.weight", "BF16", plainRule, m.experts, m.hidden)
		for e := range m.experts {
			x := fmt.Sprintf("%smlp.experts.%d.", l, e)
			row := func(axis int, parts uint64) cutRule { return cutRule{axis: axis, parts: parts, expert: int(e)} }
			if !m.fp4 {
				add(x+"gate_proj.weight", "BF16", row(0, m.inner), m.inner, m.hidden)
				add(x+"down_proj.weight", "BF16", row(1, m.inner), m.hidden, m.inner)
				continue
			}
			add(x+"gate_proj.weight_packed", "U8", row(0, m.inner), m.inner, m.hidden/2)
			add(x+"gate_proj.weight_scale", "U8", row(0, m.inner), m.inner, m.hidden/32)
			add(x+"down_proj.weight_packed", "U8", row(1, m.inner/32), m.hidden, m.inner/2)
			add(x+"down_proj.weight_scale", "U8", row(1, m.inner/32), m.hidden, m.inner/32)
		}
	}
	return list, rules
}

// feasible says whether the test's own rules allow the topology.
func feasible(t Topology, rules map[string]cutRule, m plain) bool {
	if t.PP > int(m.layers) || t.EP > 1 && (m.experts == 0 || m.experts%uint64(t.EP) != 0) {
		return false
	}
	for _, r := range rules {
		n := uint64(t.TP)
		if r.expert >= 0 {
			n = uint64(max(1, t.TP/t.EP))
		}
		for i, parts := range append([]uint64{r.parts}, r.sectors...) {
			repeat := r.repeat || i > 1
			if parts > 0 && parts%n != 0 && (!repeat || n%parts != 0) {
				return false
			}
		}
	}
	return true
}

// local is what a rank of a stage must hold of a tensor; nil for nothing.
func (r cutRule) local(s *source, t Topology, rank int, experts uint64) []byte {
	n, mine := t.TP, rank%t.TP
	if r.expert >= 0 {
		group := rank
		if t.EP <= t.TP {
			n = t.TP / t.EP
			group, mine = rank/n, rank%n
		} else {
			n, mine = 1, 0
		}
		each := int(experts) / t.EP
		if r.expert/each != group {
			return nil
		}
	}
	if r.axis < 0 {
		return s.data
	}
	if r.sizes == nil {
		parts := min(uint64(n), r.parts)
		step := s.shape[r.axis] / parts
		at := uint64(mine) * parts / uint64(n)
		return cut(s.data, s.shape, r.axis, at*step, (at+1)*step)
	}
	var out []byte
	begin := uint64(0)
	for i, size := range r.sizes {
		parts := min(uint64(n), r.sectors[i])
		step := size / parts
		at := begin + uint64(mine)*parts/uint64(n)*step
		out = append(out, cut(s.data, s.shape, r.axis, at, at+step)...)
		begin += size
	}
	return out
}

// Whatever the model, the order of its names, its files and the topology: ranks
// hold exactly what the rules say, together they hold all of the source, and a
// topology is refused exactly when the rules cannot be kept.
func TestRanksHoldTheSource(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawPlain(t)
		list, rules := m.tensors()
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		switch rapid.SampledFrom([]string{"given", "sorted", "shuffled"}).Draw(t, "order") {
		case "sorted":
			slices.SortFunc(list, func(a, b source) int { return bytes.Compare([]byte(a.dtype+a.name), []byte(b.dtype+b.name)) })
		case "shuffled":
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		var files [][]source
		for len(list) > 0 {
			k := min(len(list), 1+random.IntN(1+rapid.SampledFrom([]int{3, 30, 1000}).Draw(t, "a file")))
			files, list = append(files, list[:k]), list[k:]
		}
		n++
		dir := fmt.Sprintf("%s/%d", dir, n)
		all := write(t, dir, m.config(), files)
		defer os.RemoveAll(dir)
		c, model := openAt(t, dir, "auto")
		degree := rapid.SampledFrom([]int{2, 4, 8, 2, 4, 1, 3})
		top := Topology{degree.Draw(t, "tp"), rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "ep"), rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "pp")}
		p, err := New(c, model, top, Options{})
		if top.TP%top.EP != 0 && top.EP%top.TP != 0 {
			if !errors.Is(err, ErrTopology) {
				t.Fatalf("%v: %v", top, err)
			}
			return
		}
		if want := feasible(top, rules, m); want != (err == nil) || err != nil && !errors.Is(err, ErrSplit) {
			t.Fatalf("%v: feasible is %v, and %v", top, want, err)
		}
		if err != nil {
			return
		}
		prove(t, p)
		p = again(t, p)
		arenas := execute(t, p, dir)
		held := map[string]int{}
		for rank, arena := range arenas {
			stage := rank / top.StageRanks()
			for name, got := range on(p, rank, arena) {
				want := rules[name].local(all[name], top, rank%top.StageRanks(), m.experts)
				if !bytes.Equal(got, want) {
					t.Fatalf("%v rank %d: %s is not what the rule says", top, rank, name)
				}
				held[fmt.Sprint(stage, name)]++
			}
		}
		for name, r := range rules {
			ranks := top.StageRanks()
			if r.expert >= 0 {
				ranks /= top.EP
			}
			found := 0
			for stage := range top.PP {
				if k := held[fmt.Sprint(stage, name)]; k != 0 && k != ranks {
					t.Fatalf("%v: %s is on %d ranks of stage %d, not %d", top, name, k, stage, ranks)
				} else if k > 0 {
					found++
				}
			}
			if found != 1 {
				t.Fatalf("%v: %s is in %d stages", top, name, found)
			}
		}
	})
}
