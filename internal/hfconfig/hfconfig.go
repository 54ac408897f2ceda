// Package hfconfig mends a config.json in the form of Hugging Face for a model
// with fewer layers. [SetLayers] changes only what counts layers; all other
// bytes stay.
package hfconfig

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"ckpt/internal/jsonedit"
)

// ErrNoLayers: the config does not say how many layers there are.
var ErrNoLayers = errors.New("config.json has no num_hidden_layers")

// sections are where a text model's fields may stand: at the top level, or
// beside those of a vision model.
var sections = []string{"", "/text_config", "/language_config", "/llm_config"}

// oneBased are lists of layer numbers that count from 1.
var oneBased = []string{"/linear_attn_config/full_attn_layers", "/linear_attn_config/kda_layers"}

// perLayer are lists with one entry a layer.
var perLayer = []string{"/layer_types", "/no_rope_layers"}

// Layers is the number of layers that a config states.
func Layers(config []byte) (int, error) {
	for _, section := range sections {
		raw, ok, err := jsonedit.Find(config, section+"/num_hidden_layers")
		if err != nil {
			return 0, fmt.Errorf("config.json: %w", err)
		}
		if !ok {
			continue
		}
		n, err := strconv.Atoi(string(raw))
		if err != nil || n < 1 {
			return 0, fmt.Errorf("config.json: num_hidden_layers is %.20s", raw)
		}
		return n, nil
	}
	return 0, ErrNoLayers
}

// SetLayers gives config with n layers, of which it must have at least as
// many: num_hidden_layers, the one-based layer lists of linear_attn_config and
// lists with one entry a layer, at the top level and in a text section. A
// number of further prediction layers becomes 0: they stand behind the last
// layer and go with it.
func SetLayers(config []byte, n int) ([]byte, error) {
	have, err := Layers(config)
	if err != nil {
		return nil, err
	}
	if n < 1 || n > have {
		return nil, fmt.Errorf("%d layers: the model has 1 to %d", n, have)
	}
	if n == have {
		return slices.Clone(config), nil
	}
	var edits []jsonedit.Edit
	for _, section := range sections {
		more, err := sectionEdits(config, section, n)
		if err != nil {
			return nil, fmt.Errorf("config.json: %w", err)
		}
		edits = append(edits, more...)
	}
	return jsonedit.Replace(config, edits)
}

func sectionEdits(config []byte, section string, n int) ([]jsonedit.Edit, error) {
	edits, err := numberEdits(config, section, n)
	if err != nil {
		return nil, err
	}
	for _, list := range oneBased {
		keep := func(_ int, v string) (bool, error) {
			layer, err := strconv.Atoi(v)
			return layer <= n, err
		}
		if edits, err = cut(edits, config, section+list, keep); err != nil {
			return nil, err
		}
	}
	for _, list := range perLayer {
		keep := func(i int, _ string) (bool, error) { return i < n, nil }
		if edits, err = cut(edits, config, section+list, keep); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

func numberEdits(config []byte, section string, n int) ([]jsonedit.Edit, error) {
	var edits []jsonedit.Edit
	for field, value := range map[string]string{"/num_hidden_layers": strconv.Itoa(n), "/num_nextn_predict_layers": "0"} {
		_, ok, err := jsonedit.Find(config, section+field)
		if err != nil {
			return nil, err
		}
		if ok {
			edits = append(edits, jsonedit.Edit{Pointer: section + field, Value: value})
		}
	}
	return edits, nil
}

// cut adds the edit that leaves the kept elements of the array at pointer, if
// there is an array.
func cut(edits []jsonedit.Edit, config []byte, pointer string, keep func(i int, v string) (bool, error)) ([]jsonedit.Edit, error) {
	raw, ok, err := jsonedit.Find(config, pointer)
	if err != nil || !ok || raw[0] != '[' {
		return edits, err
	}
	elements, err := jsonedit.Elements(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pointer, err)
	}
	var kept []string
	for i, v := range elements {
		ok, err := keep(i, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pointer, err)
		}
		if ok {
			kept = append(kept, v)
		}
	}
	return append(edits, jsonedit.Edit{Pointer: pointer, Value: jsonedit.Array(raw, kept)}), nil
}
