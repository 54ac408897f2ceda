package synth

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ckpt/internal/hfconfig"
	"ckpt/internal/jsonedit"
)

// Bounds of what can be asked for. They keep a slip from filling a disk: the
// largest release has 93 layers of 896 experts.
const (
	maxLayers  = 512
	maxExperts = 8192
)

// fullPreset is how the marker names a full-size checkpoint.
const fullPreset = "full"

// preset is a small variant of a family: changes to its config.
type preset struct {
	Schema   string                    `json:"schema"`
	Note     string                    `json:"note"`
	MaxShard int64                     `json:"max_shard"` // bytes, in place of the layout's
	Config   map[string]jsontext.Value `json:"config"`    // by JSON pointer
}

// config is a config.json with what it says.
type config struct {
	text            []byte
	preset          string
	layers, experts int
	maxShard        int64
}

// configOf is the config.json of that name with the changes that opts ask for.
func configOf(name string, opts Options) (*config, error) {
	text, err := data.ReadFile("configs/" + name + ".json")
	if err != nil {
		return nil, err
	}
	c := &config{text: text, preset: fullPreset}
	switch {
	case opts.Full && opts.Preset != "":
		return nil, optionError("the full size and preset %q exclude each other", opts.Preset)
	case !opts.Full && opts.Preset == "":
		return nil, optionError("either the full size or a preset is needed: %s", strings.Join(presets(name), ", "))
	case !opts.Full:
		if err := c.apply(name, opts.Preset); err != nil {
			return nil, err
		}
	}
	if err := c.setLayers(opts.Layers); err != nil {
		return nil, err
	}
	return c, c.setExperts(opts.Experts)
}

// Presets are the small variants of a family.
func Presets(family string) []string {
	l, err := layoutOf(family)
	if err != nil {
		return nil
	}
	return presets(l.Config)
}

func presets(config string) []string {
	files, _ := data.ReadDir("presets") // embedded: cannot fail
	var out []string
	for _, f := range files {
		if of, name, ok := strings.Cut(strings.TrimSuffix(f.Name(), ".json"), "."); ok && of == config {
			out = append(out, name)
		}
	}
	return out
}

// apply changes the config by a preset: presets/CONFIG.NAME.json.
func (c *config) apply(config, name string) error {
	if !slices.Contains(presets(config), name) {
		return optionError("no preset is called %q: one of %s", name, strings.Join(presets(config), ", "))
	}
	file := "presets/" + config + "." + name + ".json"
	raw, err := data.ReadFile(file)
	if err != nil {
		return err
	}
	var p preset
	if err := json.Unmarshal(raw, &p, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for pointer, value := range p.Config {
		if err := c.set(pointer, string(value)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	c.preset, c.maxShard = name, p.MaxShard
	return nil
}

// setLayers cuts or extends the config to n layers; 0 leaves it.
func (c *config) setLayers(n int) (err error) {
	if c.layers, err = hfconfig.Layers(c.text); err != nil || n == 0 {
		return err
	}
	if n < 1 || n > maxLayers {
		return optionError("%d layers are not in 1…%d", n, maxLayers)
	}
	if n <= c.layers {
		c.text, err = hfconfig.SetLayers(c.text, n)
	} else {
		err = c.extend(n)
	}
	c.layers = n
	return err
}

// extend gives the config more layers. The layer lists go on as both releases
// have them: full attention in every fourth layer and in the last.
func (c *config) extend(n int) error {
	var full, linear []string
	for i := 1; i <= n; i++ {
		if i%4 == 0 || i == n {
			full = append(full, strconv.Itoa(i))
		} else {
			linear = append(linear, strconv.Itoa(i))
		}
	}
	for field, list := range map[string][]string{
		"/linear_attn_config/full_attn_layers": full,
		"/linear_attn_config/kda_layers":       linear,
	} {
		for _, section := range []string{"", "/text_config"} {
			_, ok, err := jsonedit.Find(c.text, section+field)
			if err == nil && ok {
				err = c.set(section+field, "["+strings.Join(list, ",")+"]")
			}
			if err != nil {
				return err
			}
		}
	}
	return c.setNumber("num_hidden_layers", n)
}

// setExperts changes how many experts a layer has; 0 leaves it. A token cannot
// be routed to more experts than there are.
func (c *config) setExperts(n int) (err error) {
	if c.experts, err = c.number("num_experts"); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	if c.experts == 0 {
		return optionError("the family has no experts")
	}
	if n < 1 || n > maxExperts {
		return optionError("%d experts are not in 1…%d", n, maxExperts)
	}
	c.experts = n
	perToken, err := c.number("num_experts_per_token")
	if err != nil {
		return err
	}
	if perToken > n {
		err = c.setNumber("num_experts_per_token", n)
	}
	return errors.Join(err, c.setNumber("num_experts", n))
}

// number reads a field of the text config, 0 when it is absent.
func (c *config) number(field string) (int, error) {
	for _, section := range []string{"/text_config/", "/"} {
		raw, ok, err := jsonedit.Find(c.text, section+field)
		if err != nil {
			return 0, err
		}
		if ok {
			return strconv.Atoi(string(bytes.TrimSpace(raw)))
		}
	}
	return 0, nil
}

func (c *config) setNumber(field string, n int) error {
	for _, section := range []string{"/text_config/", "/"} {
		if _, ok, _ := jsonedit.Find(c.text, section+field); ok {
			return c.set(section+field, strconv.Itoa(n))
		}
	}
	return fmt.Errorf("config: %s: %w", field, jsonedit.ErrAbsent)
}

// set puts a value in the place of one; an array keeps the indentation of the
// old.
func (c *config) set(pointer, value string) error {
	if strings.HasPrefix(value, "[") {
		old, _, err := jsonedit.Find(c.text, pointer)
		if err != nil {
			return err
		}
		elements, err := jsonedit.Elements([]byte(value))
		if err != nil {
			return err
		}
		value = jsonedit.Array(old, elements)
	}
	text, err := jsonedit.Replace(c.text, []jsonedit.Edit{{Pointer: pointer, Value: value}})
	if err != nil {
		return err
	}
	c.text = text
	return nil
}
