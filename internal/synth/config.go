package synth

import (
	"bytes"
	"errors"
	"fmt"
	"path"
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

// configOf is the family's config.json with the changes that opts ask for.
func configOf(family string, opts Options) (*config, error) {
	text, err := data.ReadFile("configs/" + family + ".json")
	if err != nil {
		return nil, err
	}
	c := &config{text: text, preset: fullPreset}
	switch {
	case opts.Full && opts.Preset != "":
		return nil, optionError("the full size and preset %q exclude each other", opts.Preset)
	case !opts.Full && opts.Preset == "":
		return nil, optionError("either the full size or a preset is needed: %s", strings.Join(Presets(family), ", "))
	case !opts.Full:
		if err := c.apply(family, opts.Preset); err != nil {
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
	files, _ := data.ReadDir("presets") // embedded: cannot fail
	var out []string
	for _, f := range files {
		if of, name, ok := strings.Cut(strings.TrimSuffix(f.Name(), ".json"), "."); ok && of == family {
			out = append(out, name)
		}
	}
	return out
}

// apply changes the config by a preset: presets/FAMILY.NAME.json.
func (c *config) apply(family, name string) error {
	raw, err := data.ReadFile(path.Join("presets", family+"."+name+".json"))
	if err != nil || strings.ContainsAny(name, "/.") {
		return optionError("%s has no preset %q: one of %s", family, name, strings.Join(Presets(family), ", "))
	}
	var p preset
	if err := json.Unmarshal(raw, &p, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("preset %s of %s: %w", name, family, err)
	}
	var edits []jsonedit.Edit
	for pointer, value := range p.Config {
		edits = append(edits, jsonedit.Edit{Pointer: pointer, Value: string(value)})
	}
	if c.text, err = jsonedit.Replace(c.text, edits); err != nil {
		return fmt.Errorf("preset %s of %s: %w", name, family, err)
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
			old, ok, err := jsonedit.Find(c.text, section+field)
			if err != nil {
				return err
			}
			if ok {
				if err := c.set(section+field, jsonedit.Array(old, list)); err != nil {
					return err
				}
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

func (c *config) set(pointer, value string) (err error) {
	c.text, err = jsonedit.Replace(c.text, []jsonedit.Edit{{Pointer: pointer, Value: value}})
	return err
}
