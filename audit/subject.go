package audit

import (
	"fmt"
	"path/filepath"

	"ckpt/checkpoint"
)

// subject says what was audited, in words and numbers.
func (a *audit) subject() Subject {
	s := Subject{Path: a.path, Dir: a.Dir, Format: FormatSafetensors, Identity: a.identity(), Stats: a.stats()}
	if a.fit != nil && a.fit.Profile != nil {
		s.Profile = a.fit.Profile.Name
	}
	return s
}

// identity is what the checkpoint is, in a few words.
func (a *audit) identity() string {
	switch {
	case a.opts.Profile == ProfileNone:
		return "structure only: --profile none"
	case a.Single && a.fit == nil:
		return "structure only: " + filepath.Base(a.path) + " audited alone"
	case a.fit == nil || a.fit.Profile == nil:
		return "structure only: no profile for " + a.family()
	case a.in == nil:
		return a.title() + ", sizes unknown"
	case a.in.Release != nil:
		return "official " + a.title() + a.sameBytes()
	}
	return a.title() + " of its own sizes"
}

// family is what the config calls the model.
func (a *audit) family() string {
	if a.config != nil {
		for _, path := range []string{"model_type", "text_config.model_type"} {
			if v, ok := a.config.Lookup(path); ok {
				if text, ok := v.Text(); ok && text != "" {
					return fmt.Sprintf("%q", text)
				}
			}
		}
	}
	return "this family"
}

// stats are the numbers of the report.
func (a *audit) stats() Stats {
	n := func(v int64) *int64 { return &v }
	s := Stats{Shards: n(0), MissingShards: n(0)}
	for _, f := range a.Files {
		if !f.Indexed {
			continue
		}
		*s.Shards++
		if f.Fault != nil && (f.Fault.Reason == checkpoint.Missing || f.Fault.Reason == checkpoint.Partial || f.Fault.Reason == checkpoint.Dangling) {
			*s.MissingShards++
		}
	}
	named := a.Index != nil && a.Index.Err == nil
	*s.Shards += int64(a.unnamed)
	*s.MissingShards += int64(a.unnamed)
	if a.headers() || named {
		s.Tensors = n(a.census.tensors)
		if a.in != nil {
			s.LanguageTensors, s.ExpertTensors = n(a.census.language), n(a.census.experts)
		}
	}
	if !a.headers() {
		if named && a.Index.HasTotalSize {
			s.TotalSize = n(a.Index.TotalSize)
		}
		return s
	}
	s.TotalSize, s.FileBytes = n(a.census.bytes), n(0)
	for _, f := range a.Files {
		if f.Indexed {
			*s.FileBytes += f.Size
		}
	}
	if a.in != nil {
		s.TextBytes = n(a.census.text)
	}
	return s
}
