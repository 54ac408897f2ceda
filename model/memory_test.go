package model

import (
	"errors"
	"strings"
	"testing"
)

// perToken is what all layers keep for a token while no window is full, in
// elements; every KV head counts once.
func perToken(m *Memory) (n int64) {
	for _, c := range m.Caches {
		if c.PerToken {
			n += int64(len(c.Layers)) * c.Elements * max(1, c.Heads)
		}
	}
	return n
}

func readMemory(t *testing.T, text string) *Memory {
	t.Helper()
	m, err := ReadMemory(mustConfig(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMemoryOfK3(t *testing.T) {
	m := k3(t).Memory
	if m.MaxContext != 1_048_576 || m.ContextField != "text_config.max_position_embeddings" {
		t.Errorf("context %d at %s", m.MaxContext, m.ContextField)
	}
	for i, want := range []Cache{
		{Counts: MLACache, Elements: 576, PerToken: true},
		{Counts: RecurrentState, Elements: 128 * 128, Heads: 96},
		{Counts: ConvState, Elements: 3 * 128 * 3, Heads: 96},
	} {
		c := m.Caches[i]
		if c.Counts != want.Counts || c.Elements != want.Elements || c.Heads != want.Heads || c.PerToken != want.PerToken {
			t.Errorf("%+v", c)
		}
	}
	if len(m.Caches[0].Layers) != 24 || len(m.Caches[1].Layers) != 69 || len(m.Caches[2].Layers) != 69 {
		t.Error("wrong layers")
	}
	if f := m.Caches[2].ElementsText; f.Text != "3 * kda_dim * (conv - 1)" || f.Values != "3 * 128 * (4 - 1)" {
		t.Errorf("%+v", f)
	}
	same, err := ReadMemory(readConfig(t, "k3-config.json"))
	if err != nil || same.Name != "kimi-k3" || perToken(same) != 24*576 {
		t.Errorf("%+v, %v", same, err)
	}
	for _, in := range m.Inputs {
		if in.Source == "" {
			t.Errorf("nobody knows where %s comes from", in.Name)
		}
	}
}

func TestReadingsAreSound(t *testing.T) {
	types := map[string]string{}
	for _, r := range readings {
		p := r.load()
		if p.Name != r.name {
			t.Errorf("%s is named %s", r.name, p.Name)
		}
		for _, v := range p.evidence.config[0].oneOf {
			if other := types[string(v)]; other != "" {
				t.Errorf("%s is claimed by %s and %s", v, other, p.Name)
			}
			types[string(v)] = p.Name
		}
	}
	entries, err := readingFiles.ReadDir("readings")
	if err != nil || len(entries) != len(readings) {
		t.Errorf("%d files for %d readings, %v", len(entries), len(readings), err)
	}
}

func TestReadings(t *testing.T) {
	const moe = `,"num_experts_per_tok":8`
	for name, c := range map[string]struct {
		config string
		want   int64 // elements a token over all layers
	}{
		"llama without GQA":  {`{"model_type":"llama","num_hidden_layers":32,"hidden_size":4096,"vocab_size":32000,"num_attention_heads":32,"max_position_embeddings":4096}`, 32 * 2 * 32 * 128},
		"llama in a section": {`{"model_type":"llava","text_config":{"model_type":"llama","num_hidden_layers":2,"hidden_size":64,"vocab_size":10,"num_attention_heads":4,"num_key_value_heads":2,"max_position_embeddings":64}}`, 2 * 2 * 2 * 16},
		"mistral":            {`{"model_type":"mistral","num_hidden_layers":32,"hidden_size":4096,"vocab_size":32000,"num_attention_heads":32,"num_key_value_heads":8,"sliding_window":4096,"max_position_embeddings":32768}`, 32 * 2 * 8 * 128},
		"qwen3_moe":          {`{"model_type":"qwen3_moe","num_hidden_layers":94,"hidden_size":4096,"vocab_size":151936,"num_attention_heads":64,"num_key_value_heads":4,"head_dim":128,"sliding_window":null,"max_position_embeddings":40960` + moe + `}`, 94 * 2 * 4 * 128},
		"deepseek_v3":        {`{"model_type":"deepseek_v3","num_hidden_layers":61,"hidden_size":7168,"vocab_size":129280,"kv_lora_rank":512,"qk_rope_head_dim":64,"max_position_embeddings":163840` + moe + `}`, 61 * 576},
		"gemma2":             {`{"model_type":"gemma2","num_hidden_layers":42,"hidden_size":3584,"vocab_size":256000,"num_key_value_heads":8,"head_dim":256,"sliding_window":4096,"max_position_embeddings":8192}`, 42 * 2 * 8 * 256},
		"gemma":              {`{"model_type":"gemma","num_hidden_layers":18,"hidden_size":2048,"vocab_size":256000,"num_key_value_heads":1,"head_dim":256,"max_position_embeddings":8192}`, 18 * 2 * 256},
	} {
		t.Run(name, func(t *testing.T) {
			if got := perToken(readMemory(t, c.config)); got != c.want {
				t.Errorf("%d elements a token, want %d", got, c.want)
			}
		})
	}
}

// gpt-oss and Gemma 3 alternate; the windows are of half and of five sixths of
// their layers.
func TestReadingsOfWindows(t *testing.T) {
	kinds := strings.TrimSuffix(strings.Repeat(`"sliding_attention","full_attention",`, 12), ",")
	m := readMemory(t, `{"model_type":"gpt_oss","num_hidden_layers":24,"hidden_size":2880,"vocab_size":201088,"num_key_value_heads":8,"head_dim":64,
		"sliding_window":128,"layer_types":[`+kinds+`],"max_position_embeddings":131072,"num_experts_per_tok":4}`)
	if len(m.Caches) != 2 || len(m.Caches[0].Layers) != 12 || m.Caches[0].Window != 0 || m.Caches[1].Window != 128 ||
		m.Caches[1].Layers[0] != 0 || m.Caches[0].Layers[0] != 1 {
		t.Errorf("%+v", m.Caches)
	}
	m = readMemory(t, `{"model_type":"gemma3","text_config":{"model_type":"gemma3_text","num_hidden_layers":62,"hidden_size":5376,
		"num_key_value_heads":16,"head_dim":128,"sliding_window":1024}}`)
	if len(m.Caches[0].Layers) != 10 || len(m.Caches[1].Layers) != 52 || m.Caches[1].Window != 1024 || m.MaxContext != 131072 {
		t.Errorf("%+v", m)
	}
	for _, in := range m.Inputs {
		if in.Name == "context" && !strings.Contains(in.Source, "default") {
			t.Errorf("a default is not said to be one: %+v", in)
		}
	}
	m = readMemory(t, `{"model_type":"qwen2","num_hidden_layers":4,"hidden_size":64,"vocab_size":10,"num_attention_heads":4,"num_key_value_heads":2,
		"use_sliding_window":true,"sliding_window":32,"max_window_layers":3,"max_position_embeddings":64}`)
	if len(m.Caches[0].Layers) != 3 || len(m.Caches[1].Layers) != 1 || m.Caches[1].Window != 32 {
		t.Errorf("%+v", m.Caches)
	}
}

// gguf-parser-go 31: an array with a number for each layer was read at [0].
func TestReport31OfGGUFParserGo(t *testing.T) {
	m := readMemory(t, `{"model_type":"openelm","num_transformer_layers":16,"model_dim":1280,"vocab_size":32000,"head_dim":64,
		"num_kv_heads":[3,3,3,3,3,4,4,4,4,4,4,4,5,5,5,5],"max_context_length":2048}`)
	if got := perToken(m); got != 2*64*(5*3+7*4+4*5) {
		t.Errorf("%d elements a token", got)
	}
	if len(m.Caches) != 3 || m.Caches[2].HeadsText.Values != "at(kv_heads, 12)" {
		t.Errorf("%+v", m.Caches)
	}
	// Where the first layer has none, the others still have theirs.
	const base = `{"model_type":"llama","num_hidden_layers":4,"hidden_size":64,"vocab_size":10,"num_attention_heads":4,"max_position_embeddings":64,"num_key_value_heads":`
	if _, err := ReadMemory(mustConfig(t, base+`[0,2,0,2]}`)); err == nil {
		t.Error("a Llama whose layers have no heads is read")
	}
	if got := perToken(readMemory(t, base+`[1,2,1,2]}`)); got != 2*16*6 {
		t.Errorf("%d elements a token", got)
	}
	for _, list := range []string{"[1,2,1]", "[1,2,1,2,1]", "[]", `[1,2,1,"2"]`} {
		if _, err := ReadMemory(mustConfig(t, base+list+"}")); err == nil || !strings.Contains(err.Error(), "num_key_value_heads") {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// gguf-parser-go 28 and lmstudio 1862: layers without a cache counted as if
// they had one, 4 × and 40–67 % too much. Of 64 layers 16 have keys and values.
func TestReport28OfGGUFParserGoAnd1862OfLMStudio(t *testing.T) {
	const config = `{"model_type":"qwen3_5","text_config":{"model_type":"qwen3_5_text","num_hidden_layers":64,"hidden_size":5120,"vocab_size":248320,
		"num_attention_heads":24,"num_key_value_heads":4,"head_dim":256,"full_attention_interval":4,"linear_num_key_heads":16,
		"linear_num_value_heads":48,"linear_key_head_dim":128,"linear_value_head_dim":128,"linear_conv_kernel_dim":4,"max_position_embeddings":262144}}`
	m := readMemory(t, config)
	if got, naive := perToken(m), int64(64*2*4*256); got != 16*2*4*256 || naive/got != 4 {
		t.Errorf("%d elements a token", got)
	}
	if c := m.Caches[1]; len(c.Layers) != 48 || c.Elements*c.Heads != 48*128*128 || c.PerToken {
		t.Errorf("%+v", c)
	}
	// q and k of 16 heads, v of 48, three inputs of each.
	if m.Caches[2].Elements*m.Caches[2].Heads+m.Caches[3].Elements*m.Caches[3].Heads != (2*16+48)*128*3 {
		t.Errorf("%+v", m.Caches[2:])
	}
}

// gguf-parser-go 8: MLA was sized as if every head kept its own keys and values.
func TestReport8OfGGUFParserGo(t *testing.T) {
	m := readMemory(t, `{"model_type":"deepseek_v3","num_hidden_layers":61,"hidden_size":7168,"vocab_size":129280,"num_attention_heads":128,
		"num_key_value_heads":128,"kv_lora_rank":512,"qk_rope_head_dim":64,"qk_nope_head_dim":128,"v_head_dim":128,"max_position_embeddings":163840,"num_experts_per_tok":8}`)
	if c := m.Caches[0]; c.Counts != MLACache || c.Heads != 0 || perToken(m) != 61*(512+64) {
		t.Errorf("%+v", c)
	}
}

// ATOM 1959: 309 KB a token where the latents take 27.
func TestReport1959OfATOM(t *testing.T) {
	if got := perToken(k3(t).Memory) * 2; got != 27_648 {
		t.Errorf("%d bytes a token", got)
	}
}

func TestMissingFieldsAreNamed(t *testing.T) {
	base := map[string]string{
		"model_type": `"deepseek_v3"`, "num_hidden_layers": "61", "hidden_size": "7168", "vocab_size": "129280",
		"kv_lora_rank": "512", "qk_rope_head_dim": "64", "max_position_embeddings": "163840",
	}
	text := func(field, value string) string {
		var parts []string
		for k, v := range base {
			if k == field {
				v = value
			}
			if v != "" {
				parts = append(parts, `"`+k+`":`+v)
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	for field := range base {
		for _, value := range []string{"", "null", "0", "-1", "1.5", `"512"`, "[]", "{}", "9223372036854775808"} {
			m, err := ReadMemory(mustConfig(t, text(field, value)))
			if err == nil {
				t.Errorf("%s = %s gives %+v", field, value, m)
				continue
			}
			var unknown *UnknownArchitectureError
			if field == "model_type" {
				if !errors.As(err, &unknown) {
					t.Errorf("model_type %s: %v", value, err)
				}
				continue
			}
			if !strings.Contains(err.Error(), field) {
				t.Errorf("%s = %s: %v", field, value, err)
			}
		}
	}
}

func TestUnknownArchitecture(t *testing.T) {
	_, err := ReadMemory(mustConfig(t, `{"model_type":"mamba2","architectures":["Mamba2ForCausalLM"]}`))
	if err == nil || !strings.Contains(err.Error(), `"mamba2" (Mamba2ForCausalLM)`) {
		t.Error(err)
	}
	if _, err := ReadMemory(nil); err == nil {
		t.Error("no config is read")
	}
}

func TestMemoryPartsThatDoNotCompile(t *testing.T) {
	const good = `"memory":{"context":"c","caches":[{"name":"x","counts":"kv_cache","layers":"all","per":"token","elements":"h"}],
		"activations":[{"name":"y","per":"step","elements":"h","dtype":"F32"}]}`
	doc := func(memory string) string {
		return `{"schema":"ckpt.reading/v1","name":"r","title":"R","fields":[{"name":"layers","paths":["root:l"],"min":1,"max":9},
			{"name":"h","paths":["root:h"],"min":0,"max":9223372036854775807},{"name":"c","paths":["root:c"],"min":0,"max":9}],
			"sets":[{"name":"all","from":"0","to":"layers"},{"name":"odd","where":"layer % 2 == 1"}],` + memory + `}`
	}
	p, err := parseReading([]byte(doc(good)))
	if err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]string{`{"l":2,"h":0,"c":1}`: "0 is no size", `{"l":2,"h":9223372036854775807,"c":1}`: "no size", `{"l":2,"c":1}`: "h is missing"} {
		if m, err := p.ReadMemory(mustConfig(t, config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", config, m, err)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`"context":"c"`, `"context":"missing"`, "memory.context"},
		{`"counts":"kv_cache"`, `"counts":"cache"`, "no term"},
		{`"layers":"all"`, `"layers":"some"`, "no set"},
		{`"per":"token"`, `"per":"day"`, "neither"},
		{`"per":"token"`, `"per":"sequence"`, "dtype"},
		{`"elements":"h"}]`, `"elements":"h","shared":true}]`, "no heads"},
		{`"elements":"h"}]`, `"elements":"h","heads":"x"}]`, "nothing defines"},
		{`"elements":"h"}]`, `"elements":"h","dtype":"Q9"}]`, "no dtype"},
		{`,"elements":"h"}]`, `}]`, "elements"},
		{`"per":"step"`, `"per":"token"`, "neither"},
		{`"dtype":"F32"`, `"dtype":""`, "no dtype"},
		{`"activations"`, `"extra":1,"activations"`, "extra"},
	} {
		if strings.Count(good, c.old) != 1 {
			t.Fatalf("%s is there %d times", c.old, strings.Count(good, c.old))
		}
		if _, err := parseReading([]byte(doc(strings.Replace(good, c.old, c.new, 1)))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
	// A layer that no cache speaks of is not silently free.
	p, err = parseReading([]byte(doc(strings.Replace(good, `"layers":"all"`, `"layers":"odd"`, 1))))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := p.ReadMemory(mustConfig(t, `{"l":2,"h":1,"c":1}`)); err == nil || !strings.Contains(err.Error(), "layer 0") {
		t.Errorf("%+v, %v", m, err)
	}
}
