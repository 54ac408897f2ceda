package model

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A config may say anything: sizes out of bounds are problems that name the
// field, at once and without allocating for them.
func TestConfigOutOfBounds(t *testing.T) {
	for name, c := range map[string]struct{ edit, field string }{
		"2^62 layers":        {"text_config.num_hidden_layers=4611686018427387904", "num_hidden_layers"},
		"2^64 layers":        {"text_config.num_hidden_layers=18446744073709551616", "num_hidden_layers"},
		"no layers":          {"text_config.num_hidden_layers=0", "num_hidden_layers"},
		"minus one expert":   {"text_config.num_experts=-1", "num_experts"},
		"1e300":              {"text_config.hidden_size=1e300", "hidden_size"},
		"3.5":                {"text_config.hidden_size=3.5", "hidden_size"},
		"7168.0":             {"text_config.hidden_size=7168.0", "hidden_size"},
		"a string":           {`text_config.num_hidden_layers="93"`, "num_hidden_layers"},
		"null":               {"text_config.num_hidden_layers=null", "num_hidden_layers"},
		"a list":             {"text_config.num_hidden_layers=[93]", "num_hidden_layers"},
		"an object":          {"text_config.num_hidden_layers={}", "num_hidden_layers"},
		"true":               {"text_config.num_experts=true", "num_experts"},
		"missing":            {"-text_config.num_experts", "num_experts"},
		"list missing":       {"-text_config.linear_attn_config.kda_layers", "linear_attn_config.kda_layers"},
		"no linear config":   {"-text_config.linear_attn_config", "linear_attn_config.num_heads"},
		"layer 94 of 93":     {"text_config.linear_attn_config.kda_layers=[1,94]", "linear_attn_config.kda_layers"},
		"layer 0":            {"text_config.linear_attn_config.kda_layers=[0]", "linear_attn_config.kda_layers"},
		"a layer twice":      {"text_config.linear_attn_config.full_attn_layers=[4,4]", "linear_attn_config.full_attn_layers"},
		"layers as strings":  {`text_config.linear_attn_config.kda_layers=["1"]`, "linear_attn_config.kda_layers"},
		"layers nested":      {`text_config.linear_attn_config.kda_layers=[[1]]`, "linear_attn_config.kda_layers"},
		"a huge layer":       {"text_config.linear_attn_config.kda_layers=[4611686018427387904]", "linear_attn_config.kda_layers"},
		"a million layers":   {"text_config.linear_attn_config.kda_layers=[" + strings.Repeat("1,", 1_000_000) + "1]", "linear_attn_config.kda_layers"},
		"no kernel":          {"vision_config.merge_kernel_size=[]", "proj"},
		"huge kernel":        {"vision_config.merge_kernel_size=[4096,4096,4096,4096,4096,4096]", "proj"},
		"odd latent":         {"text_config.routed_expert_hidden_size=3585", "weight_packed"},
		"odd expert":         {"text_config.moe_intermediate_size=3073", "weight_packed"},
		"text is a number":   {"text_config=4", "text_config"},
		"vision is a number": {"vision_config=4", "vision_config"},
	} {
		t.Run(name, func(t *testing.T) {
			config := edited(t, "k3-config.json", c.edit)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			in, problems := profile(t, "kimi-k3").Instantiate(View{Config: config})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if name == "no kernel" {
				if in == nil { // the product of nothing is one: odd, and bounded
					t.Errorf("%+v", problems)
				}
				return
			}
			if in != nil || !hasBounds(problems, c.field) {
				t.Errorf("instance %v, problems %+v", in != nil, problems)
			}
			if took > 200*time.Millisecond || after.TotalAlloc-before.TotalAlloc > 16<<20 {
				t.Errorf("took %v and %d bytes", took, after.TotalAlloc-before.TotalAlloc)
			}
		})
	}
}

func hasBounds(problems []ConfigProblem, field string) bool {
	for _, p := range problems {
		if p.Bounds && strings.Contains(p.Field, field) && p.Msg != "" && p.Expected != "" && p.Actual != "" {
			return true
		}
	}
	return false
}

func TestEveryConfigProblemIsReported(t *testing.T) {
	_, problems := profile(t, "kimi-k3").Instantiate(View{Config: edited(t, "k3-config.json",
		"text_config.num_experts=-1", "text_config.vocab_size=1e3", `text_config.hidden_act="silu"`)})
	var bounds, other int
	for _, p := range problems {
		if p.Bounds {
			bounds++
		} else {
			other++
		}
	}
	if bounds != 2 || other != 1 {
		t.Errorf("%+v", problems)
	}
}

// What holds for every member of the family is CF003 when it does not, and
// leaves the sizes usable.
func TestConfigNotOfTheFamily(t *testing.T) {
	for _, edit := range []string{
		`model_type="llama"`, `text_config.model_type="llama"`, `text_config.hidden_act="silu"`,
		"text_config.activation_situ_beta=4.5", "text_config.activation_situ_linear_beta=24",
		"text_config.mla_use_output_gate=false", "text_config.latent_moe_use_norm=false",
		"text_config.moe_renormalize=false", "text_config.num_expert_group=2", "text_config.topk_group=2",
		"text_config.linear_attn_config.use_full_rank_gate=false", "text_config.linear_attn_config.gate_lower_bound=-4.0",
		`text_config.quantization_config.format="pack-quantized"`, "-text_config.quantization_config",
	} {
		path, value, _ := strings.Cut(strings.TrimPrefix(edit, "-"), "=")
		in, problems := profile(t, "kimi-k3").Instantiate(View{Config: edited(t, "k3-config.json", edit)})
		if in == nil || len(problems) != 1 || problems[0].Bounds || !strings.HasPrefix(problems[0].Field, path) ||
			value != "" && problems[0].Actual != value {
			t.Errorf("%s: instance %v, problems %+v", edit, in != nil, problems)
		}
	}
}

func TestEqualNumbersAreEqual(t *testing.T) {
	for _, edit := range []string{"text_config.activation_situ_beta=4", "text_config.activation_situ_beta=4.00",
		"text_config.activation_situ_beta=40e-1", "text_config.activation_situ_beta=0.4E+1",
		"text_config.linear_attn_config.gate_lower_bound=-5"} {
		if in, problems := profile(t, "kimi-k3").Instantiate(View{Config: edited(t, "k3-config.json", edit)}); len(problems) > 0 || in.Release == nil {
			t.Errorf("%s: %+v", edit, problems)
		}
	}
}

func TestLayersMustBePartitioned(t *testing.T) {
	for name, edit := range map[string]string{
		"in neither": "text_config.linear_attn_config.full_attn_layers=[4]",
		"in both":    "text_config.linear_attn_config.full_attn_layers=[" + upTo(93) + "]",
	} {
		in, problems := profile(t, "kimi-k3").Instantiate(View{Config: edited(t, "k3-config.json", edit)})
		if in != nil || len(problems) != 1 || problems[0].Bounds ||
			!strings.Contains(problems[0].Field, "full_attn_layers") || !strings.Contains(problems[0].Field, "kda_layers") {
			t.Errorf("%s: instance %v, problems %+v", name, in != nil, problems)
		}
	}
}

func upTo(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, strconv.Itoa(i+1))
	}
	return strings.Join(parts, ",")
}

func TestInstanceIsBounded(t *testing.T) {
	in, problems := profile(t, "kimi-k3").Instantiate(View{Config: edited(t, "k3-config.json",
		"text_config.num_experts=65536", "text_config.num_hidden_layers=200",
		"text_config.linear_attn_config.kda_layers=["+upTo(200)+"]", "text_config.linear_attn_config.full_attn_layers=[]")})
	if in != nil || !hasBounds(problems, "language_model.model.layers.{i}.block_sparse_moe.experts.{e}.w") {
		t.Errorf("instance %v, problems %+v", in != nil, problems)
	}
}
