package loader

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"ckpt/shard"
)

// drawModel draws a plain transformer, its tensors in any order over any files.
func drawModel(t *rapid.T) (config string, files [][]tensor) {
	draw := func(label string, of ...uint64) uint64 { return rapid.SampledFrom(of).Draw(t, label) }
	heads, kv, dim := draw("heads", 4, 8, 12), draw("kv", 1, 2, 4), draw("dim", 1, 3, 8)
	hidden, inner := draw("hidden", 8, 33, 160), draw("inner", 8, 32, 96)
	experts, layers, vocab := draw("experts", 0, 4, 8), draw("layers", 1, 3), draw("vocab", 64, 1000)
	var list []tensor
	add := func(name, dtype string, shape ...uint64) { list = append(list, tensor{name, dtype, shape}) }
	add("model.embed_tokens.weight", "BF16", vocab, hidden)
	add("lm_head.weight", "BF16", vocab, hidden)
	add("model.norm.weight", "F32", hidden)
	for i := range layers {
		l := fmt.Sprintf("model.layers.%d.", i)
		add(l+"input_layernorm.weight", "BF16", hidden)
		add(l+"self_attn.q_proj.weight", "BF16", heads*dim, hidden)
		add(l+"self_attn.k_proj.weight", "BF16", kv*dim, hidden)
		add(l+"self_attn.v_proj.weight", "BF16", kv*dim, hidden)
		add(l+"self_attn.o_proj.weight", "BF16", hidden, heads*dim)
		mlps := []string{"mlp."}
		if experts > 0 {
			add(l+"mlp.gate.weight", "BF16", experts, hidden)
			mlps = nil
			for e := range experts {
				mlps = append(mlps, fmt.Sprintf("mlp.experts.%d.", e))
			}
		}
		for _, m := range mlps {
			add(l+m+"gate_proj.weight", "U8", inner, hidden)
			add(l+m+"down_proj.weight", "U8", hidden, inner)
		}
	}
	if rapid.Bool().Draw(t, "shuffled") {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	for len(list) > 0 {
		n := min(len(list), rapid.SampledFrom([]int{1, 7, 40, 1000}).Draw(t, "a file"))
		files, list = append(files, list[:n]), list[n:]
	}
	config = fmt.Sprintf(`{"architectures":["XForCausalLM"],"model_type":"x","hidden_size":%d,"num_attention_heads":%d,"num_key_value_heads":%d,"head_dim":%d,"num_hidden_layers":%d,"num_experts":%d,"vocab_size":%d}`,
		hidden, heads, kv, dim, layers, experts, vocab)
	return config, files
}

// Whatever the model, its files, the degrees, the engine and the ranks: every
// arena equals what a slow copy makes of the plan.
func TestArenasEqualASlowCopy(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		config, files := drawModel(t)
		n++
		dir := fmt.Sprintf("%s/%d", dir, n)
		writeFiles(t, dir, config, files)
		defer os.RemoveAll(dir)
		degree := rapid.SampledFrom([]int{1, 2, 4})
		top := shard.Topology{TP: degree.Draw(t, "tp"), EP: rapid.SampledFrom([]int{1, 2}).Draw(t, "ep"), PP: rapid.SampledFrom([]int{1, 2}).Draw(t, "pp")}
		p, err := planOf(t, dir, top, shard.Options{})
		if err != nil {
			if errors.Is(err, shard.ErrSplit) || errors.Is(err, shard.ErrTopology) {
				return
			}
			t.Fatal(err)
		}
		host, null := NewHost(), NewNull()
		o := Options{Block: LeastBlock, Pinned: rapid.SampledFrom([]int64{2, 3, 20}).Draw(t, "slots") * LeastBlock, Workers: 1 + rapid.IntRange(0, 2).Draw(t, "workers")}
		o.Verify = rapid.SampledFrom([]Verify{VerifyNone, VerifySource, VerifyDevice}).Draw(t, "verify")
		o.SHA256 = rapid.Bool().Draw(t, "sha256")
		o.Buffered = rapid.Bool().Draw(t, "buffered")
		o.Devices = []Device{host}
		for r := range p.Ranks {
			if rapid.Bool().Draw(t, "a rank") {
				o.Ranks = append(o.Ranks, r)
			}
		}
		switch rapid.SampledFrom([]string{"pread", "auto", "mem"}).Draw(t, "engine") {
		case "pread":
			o.IO = "pread"
		case "mem":
			o.engine = func(_ string, o EngineOptions) (Engine, EngineInfo, error) {
				return &memEngine{depth: o.Depth}, EngineInfo{Name: "mem"}, nil
			}
		}
		l, r, err := Load(t.Context(), p, dir, o)
		if err != nil {
			t.Fatal(err)
		}
		sameArenas(t, l, slowly(t, p, dir))
		closeAll(t, l, host)
		o.Devices, o.Verify = []Device{null}, VerifyAuto
		l, again, err := Load(t.Context(), p, dir, o)
		if err != nil || again.Bytes.Device != r.Bytes.Device {
			t.Fatalf("%v: %+v to the null device, %+v to the host", err, again.Bytes, r.Bytes)
		}
		if _, bytes := null.Copied(); bytes != r.Bytes.Device {
			t.Fatalf("the null device got %d bytes, %d are the ranks'", bytes, r.Bytes.Device)
		}
		closeAll(t, l)
	})
}

// A BF16 is rounded once, to the nearest, ties to even: against exact numbers.
func TestBF16IsRoundedOnce(t *testing.T) {
	value := func(b uint16) float64 { return float64(math.Float32frombits(uint32(b) << 16)) }
	rapid.Check(t, func(t *rapid.T) {
		near := uint16(rapid.IntRange(0, 0x7f7e).Draw(t, "bits"))
		lo, hi := value(near), value(near+1)
		x := lo + (hi-lo)*rapid.SampledFrom([]float64{0, 0.25, 0.5, 0.5 + 1e-12, 0.5 - 1e-12, 0.75, 1}).Draw(t, "between")
		middle := new(big.Float).SetPrec(300).Add(big.NewFloat(lo), big.NewFloat(hi))
		middle.Quo(middle, big.NewFloat(2))
		want := near
		switch c := big.NewFloat(x).Cmp(middle); {
		case c > 0, c == 0 && near%2 == 1:
			want = near + 1
		}
		if got := bf16(x); got != want {
			t.Fatalf("%g between %g and %g: %#x, want %#x", x, lo, hi, got, want)
		}
		if got := bf16(-x); got != want|0x8000 {
			t.Fatalf("%g: %#x", -x, got)
		}
	})
	for x, want := range map[float64]uint16{math.Inf(1): 0x7f80, math.Inf(-1): 0xff80, 1e300: 0x7f80, math.NaN(): 0x7fc0, 0: 0} {
		if got := bf16(x); got != want {
			t.Errorf("%g: %#x", x, got)
		}
	}
}

// What latencies are counted into holds them to an eighth.
func TestHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h histogram
		d := rapid.Int64Range(0, 1<<62).Draw(t, "d")
		h.add(time.Duration(d))
		h.add(time.Duration(1 << 62))
		if q := int64(h.quantile(0.49)); q < d || q > d+d/8+1 {
			t.Fatalf("%d became %d", d, q)
		}
	})
}
