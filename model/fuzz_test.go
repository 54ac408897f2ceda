package model

import (
	"math"
	"os"
	"runtime"
	"testing"

	"ckpt/internal/names"
)

// spent runs do and gives the bytes that it allocated.
func spent(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func seedFiles(f *testing.F, paths ...string) {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// walk uses an instance as an audit does.
func walk(t *testing.T, in *Instance) {
	var sum int64
	for _, f := range in.Families {
		if sum += f.Count; f.Count < 0 || sum > maxTensors || f.Bytes < 0 {
			t.Fatalf("%s: %d tensors, %d bytes", f.Pattern, f.Count, f.Bytes)
		}
		if f.Count == 0 {
			continue
		}
		for _, ordinal := range []int64{0, f.Count / 2, f.Count - 1} {
			text, n, slots := names.Split(nil, f.AppendName(nil, ordinal))
			g, back, ok := in.Bind(string(text), slots).Family(n)
			if !ok || g != f || back != ordinal {
				t.Fatalf("%s: ordinal %d comes back as %d", f.NameAt(ordinal), ordinal, back)
			}
		}
		in.Bind(f.Text, f.Slots).Family([names.Slots]uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32})
		f.EngineNames(in, 0)
		if !f.AcceptsShape(f.Sizes()) {
			t.Fatalf("%s does not accept %v", f.Pattern, f.Sizes())
		}
	}
	in.Totals()
	if in.Memory != nil {
		walkMemory(t, in.Memory)
	}
}

// walkMemory checks what an estimate relies on.
func walkMemory(t *testing.T, m *Memory) {
	for _, c := range m.Caches {
		if c.Elements < 1 || c.Heads < 0 || c.Window < 0 || len(c.Layers) == 0 || int64(len(c.Layers)) > m.Layers ||
			c.Elements > math.MaxInt64/max(1, c.Heads) {
			t.Fatalf("%+v", c)
		}
	}
	for _, a := range m.Activations {
		if a.Elements < 1 {
			t.Fatalf("%+v", a)
		}
	}
}

// A profile of any bytes is refused or usable.
func FuzzProfile(f *testing.F) {
	f.Add([]byte(minimal))
	seedFiles(f, "profiles/llama.json", "profiles/kimi-linear.json")
	configs := []*Config{readConfig(f, "k3-config.json"), readConfig(f, "llama-config.json"), mustConfig(f, `{"n":3,"h":5}`)}
	f.Fuzz(func(t *testing.T, data []byte) {
		if used := spent(func() {
			p, err := ParseProfile(data)
			if err != nil {
				return
			}
			for _, c := range configs {
				v := View{Config: c, Patterns: []PatternCount{pattern("x.model.layers.{}.w", 3), {Text: string(data[:min(len(data), 9)]), Count: 1}}}
				if fit := p.Match(v); fit.Instance != nil {
					walk(t, fit.Instance)
					fit.Instance.Contradictions(v)
				}
			}
		}); used > 64<<20+uint64(len(data))*256 {
			t.Fatalf("%d bytes allocated for a profile of %d", used, len(data))
		}
	})
}

// An expression parses and has a value, or says why not; it never panics.
func FuzzExpr(f *testing.F) {
	for _, text := range []string{"a + b * 2", "ceildiv(a * 4, 3)", "product(three) / len(three)", "!a && -b < 3 || (low % -1 == 0)", "min(max(a,b),low)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseExpr(text)
		if err != nil {
			return
		}
		e.names(func(string, bool) {})
		first, err := e.eval(&testScope)
		second, again := e.eval(&testScope)
		if first != second || (err == nil) != (again == nil) {
			t.Fatalf("%q is %d and %d", text, first, second)
		}
	})
}

// A config of any bytes is refused, a list of problems, or an instance.
func FuzzConfig(f *testing.F) {
	seedFiles(f, "testdata/k3-config.json", "testdata/kimi-linear-config.json", "testdata/llama-config.json")
	f.Add([]byte(`{"text_config":{"num_hidden_layers":4611686018427387904,"num_experts":-1},"vision_config":3}`))
	f.Add([]byte(`{"model_type":"gemma3","text_config":{"model_type":"gemma3_text","num_hidden_layers":62,"hidden_size":5376,"num_key_value_heads":[16],"sliding_window":1024}}`))
	f.Add([]byte(`{"model_type":"qwen3_5","num_hidden_layers":4,"hidden_size":8,"vocab_size":9,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":4,"linear_num_key_heads":2,"linear_num_value_heads":4,"linear_key_head_dim":8,"linear_value_head_dim":8,"linear_conv_kernel_dim":4,"max_position_embeddings":64,"layer_types":["full_attention","linear_attention","linear_attention","full_attention"]}`))
	profiles := Embedded()
	f.Fuzz(func(t *testing.T, data []byte) {
		if used := spent(func() {
			c, err := ParseConfig(data)
			if err != nil {
				return
			}
			Match(View{Config: c})
			if m, err := ReadMemory(c); err == nil {
				walkMemory(t, m)
			}
			for _, p := range profiles {
				if in, _ := p.Instantiate(View{Config: c}); in != nil {
					walk(t, in)
					in.Contradictions(View{Config: c})
				}
				p.InstantiateRelease(View{Config: c})
			}
		}); used > 64<<20+uint64(len(data))*256 {
			t.Fatalf("%d bytes allocated for a config of %d", used, len(data))
		}
	})
}
