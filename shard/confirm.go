package shard

import (
	"errors"
	"fmt"
	"strings"

	"ckpt/checkpoint"
	"ckpt/internal/names"
	"ckpt/model"
)

// ErrUnconfirmed: what a checkpoint shows without its headers does not confirm
// the sizes that a profile expects.
var ErrUnconfirmed = errors.New("only headers tell the sizes")

// Confirm compares the sizes that the profile expects with those that a
// checkpoint shows without headers: names of tensors in an index and their
// total size. Differences below one in a hundred, as of an extra head, are
// told; larger ones, as of other types, are the error. named says that the
// profile was asked for by name, which does for an index that is not there.
func Confirm(c *checkpoint.Checkpoint, m *Model, named bool) (note string, err error) {
	x := c.Index
	switch {
	case m.Instance == nil:
		return "", nil
	case x == nil && named:
		return "nothing here confirms the sizes of the profile: there is no index", nil
	case x == nil:
		return "", fmt.Errorf("%w: there is no index, and the config alone does not say how the weights are stored", ErrUnconfirmed)
	case !x.HasTotalSize:
		return "nothing here confirms the sizes of the profile: the index has no metadata.total_size", nil
	}
	expected, name := m.Instance.Totals().Bytes, m.Instance.Profile.Name
	switch difference := max(expected, x.TotalSize) - min(expected, x.TotalSize); {
	case difference == 0:
		return "", nil
	case difference <= expected/100:
		return fmt.Sprintf("the index counts %d bytes, the %s profile expects %d: weights are as the profile has them", x.TotalSize, name, expected), nil
	}
	return "", fmt.Errorf("%w: the index counts %d bytes and the %s profile expects %d", ErrUnconfirmed, x.TotalSize, name, expected)
}

// ConfirmLayers compares the layers that the names of an index have with those
// that caches are counted for; draft layers behind them keep their own. Without
// an index, or with names that the rules do not know, nothing is compared. Fewer
// names are told, as of an index that was cut; more are the error, a
// *model.ConfigError that names the field.
func ConfirmLayers(c *checkpoint.Checkpoint, m *model.Memory) (note string, err error) {
	r, err := loadRules()
	if err != nil || c.Index == nil {
		return "", err
	}
	var layers, drafts int
	for _, p := range Patterns(c) {
		module, ok := r.inLayer(p.Text)
		if !ok || p.Slots != 1 {
			continue
		}
		layers = max(layers, p.Count)
		if module == "eh_proj.weight" { // joins the hidden state with a token's embedding
			drafts = max(drafts, p.Count)
		}
	}
	seen := int64(layers - drafts)
	switch {
	case layers == 0 || seen == m.Layers:
		return "", nil
	case seen < m.Layers:
		return fmt.Sprintf("the names of the index have %s, the config %d: the config counts", plural(int(seen), "layer", "layers"), m.Layers), nil
	}
	return "", differs(m, fmt.Sprintf("the names of the index have %d layers", seen), "layers")
}

// inLayer cuts what stands before the modules of a layer off the text of a
// pattern: prefix, stack and the layer's number.
func (r *rules) inLayer(text string) (module string, ok bool) {
	number := "." + string([]byte{names.Mark}) + "."
	for _, prefix := range r.Prefixes {
		for _, stack := range r.Stacks {
			if module, ok := strings.CutPrefix(text, prefix+stack+number); ok {
				return module, true
			}
		}
	}
	return "", false
}
