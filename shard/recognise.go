package shard

import (
	"fmt"
	"strings"

	"ckpt/checkpoint"
	"ckpt/model"
)

// RulesName stands in Plan.Profile where no profile fits and the rules by role
// split the model.
const RulesName = "rules"

// Model is what a checkpoint is, as far as planning needs it.
type Model struct {
	Config   *model.Config   // nil where there is none
	Instance *model.Instance // nil where no profile fits
	Problems []model.ConfigProblem
}

// Name is the name of the profile, or RulesName.
func (m *Model) Name() string {
	if m.Instance != nil {
		return m.Instance.Profile.Name
	}
	return RulesName
}

// Recognise finds the profile of a checkpoint: the one that fits for "auto" (or
// ""), none for "none", else the one of that name or in that file. The error
// matches ErrProfile where the profile does not exist, and ErrIncomplete where
// the config leaves its sizes open.
func Recognise(c *checkpoint.Checkpoint, profile string) (*Model, error) {
	m := &Model{}
	if c.Config != nil {
		if c.Config.Err != nil {
			return nil, c.Config.Err
		}
		config, err := model.ParseConfig(c.Config.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Config.Name, err)
		}
		m.Config = config
	}
	wanted, err := namedProfile(profile)
	if err != nil || profile == "none" {
		return m, err
	}
	view := model.View{Config: m.Config, Patterns: Patterns(c)}
	var fit *model.Fit
	if wanted != nil {
		fit = wanted.Match(view)
	} else if fit = model.Match(view); fit.Profile == nil {
		return m, nil
	}
	m.Instance, m.Problems = fit.Instance, fit.Problems
	if m.Instance == nil {
		return nil, fmt.Errorf("%w: the config leaves the sizes of a %s open: %s", ErrIncomplete, fit.Profile.Title, firstProblem(fit.Problems))
	}
	return m, nil
}

func firstProblem(list []model.ConfigProblem) string {
	for _, p := range list {
		if p.Bounds {
			return p.Msg
		}
	}
	if len(list) > 0 {
		return list[0].Msg
	}
	return "it does not say why"
}

// namedProfile gives the profile that is asked for; nil for auto and none.
func namedProfile(name string) (*model.Profile, error) {
	switch name {
	case "", "auto", "none":
		return nil, nil
	}
	if p, ok := model.Named(name); ok {
		return p, nil
	}
	if !strings.ContainsAny(name, `/\.`) {
		return nil, fmt.Errorf("%w %q is unknown: known are auto, none, %s, and the path of one", ErrProfile, name, strings.Join(model.Names(), ", "))
	}
	p, err := model.LoadProfile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	return p, nil
}

// Patterns counts the tensors of each name pattern: those of the index, or of
// the headers where there is none.
func Patterns(c *checkpoint.Checkpoint) []model.PatternCount {
	counts := make([]int, c.Names.Len())
	if c.Index != nil && c.Index.Err == nil {
		for i := range c.Index.Entries {
			counts[c.Index.Entries[i].Key.Pattern]++
		}
	} else {
		for _, f := range c.Files {
			for i := range f.Records {
				counts[f.Records[i].Key.Pattern]++
			}
		}
	}
	var out []model.PatternCount
	for id, n := range counts {
		if n > 0 {
			p := c.Names.Pattern(uint32(id))
			out = append(out, model.PatternCount{Text: p.Text, Slots: p.Slots, Count: n})
		}
	}
	return out
}
