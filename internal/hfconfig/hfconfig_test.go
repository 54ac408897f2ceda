package hfconfig

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

const config = `{
  "model_type": "kimi_k3",
  "text_config": {
    "layer_types": ["full", "linear", "full"],
    "linear_attn_config": {
      "full_attn_layers": [
        1,
        3
      ],
      "kda_layers": [
        2
      ]
    },
    "num_hidden_layers": 3,
    "num_nextn_predict_layers": 1,
    "rms_norm_eps": 1e-05
  }
}`

func TestSetLayersChangesOnlyLayers(t *testing.T) {
	got, err := SetLayers([]byte(config), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		`["full", "linear", "full"]`, `["full", "linear"]`,
		"1,\n        3\n", "1\n",
		`num_hidden_layers": 3`, `num_hidden_layers": 2`,
		`predict_layers": 1`, `predict_layers": 0`).Replace(config)
	if string(got) != want {
		t.Errorf("got %s", got)
	}
	if n, err := Layers(got); n != 2 || err != nil {
		t.Errorf("%d layers, %v", n, err)
	}
}

func TestSetLayersKeepsEveryByte(t *testing.T) {
	got, err := SetLayers([]byte(config), 3)
	if err != nil || string(got) != config {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestSetLayersRefuses(t *testing.T) {
	for _, n := range []int{-1, 0, 4} {
		if _, err := SetLayers([]byte(config), n); err == nil {
			t.Errorf("%d layers accepted", n)
		}
	}
	for _, text := range []string{`{}`, `{"num_hidden_layers": -1}`, `{"num_hidden_layers": 1e3}`, `{"num_hidden_layers": 2,`,
		`{"num_hidden_layers": 2, "linear_attn_config": {"kda_layers": ["x"]}}`} {
		if _, err := SetLayers([]byte(text), 1); err == nil {
			t.Errorf("%s accepted", text)
		}
	}
}

// The release's config with fewer layers differs in three values.
func TestSetLayersOfTheRelease(t *testing.T) {
	text, err := os.ReadFile("../synth/configs/kimi-k3.json")
	if err != nil {
		t.Fatal(err)
	}
	cut, err := SetLayers(text, 5)
	if err != nil {
		t.Fatal(err)
	}
	var was, is map[string]any
	if err := json.Unmarshal(text, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(cut, &is); err != nil {
		t.Fatal(err)
	}
	section := was["text_config"].(map[string]any)
	section["num_hidden_layers"] = 5.0
	linear := section["linear_attn_config"].(map[string]any)
	linear["full_attn_layers"], linear["kda_layers"] = []any{4.0}, []any{1.0, 2.0, 3.0, 5.0}
	if !reflect.DeepEqual(was, is) {
		t.Errorf("got %s", cut)
	}
}
