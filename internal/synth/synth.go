// Package synth makes checkpoints without a model: [Synth] writes a family's
// headers, index and config exactly as a release has them, with payloads that
// are holes (full size) or small and real (presets).
//
// # What is exact
//
// A full-size kimi-k3 has the official 96 headers, index and config.json, byte
// for byte: names, types and shapes come from the family's profile in package
// model, the order of tensors, files and index entries from layouts/, the
// config from configs/. Presets are lists of changes to that config.
//
// # Contents
//
// A preset's numbers depend on the seed and the tensor's name alone, are made
// without floating-point steps that processors may fuse, and so are the same
// bytes everywhere. Companion files (tokenizer, code) are not made.
//
// # Failure
//
// Files appear whole, the index and the marker last; on an error everything
// that was made is removed again.
package synth

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"ckpt/internal/newfile"
)

//go:embed layouts configs presets
var data embed.FS

// MarkerFile marks a directory as made by this package; audits then expect
// holes.
const MarkerFile = "ckpt-synth.json"

// IndexFile is the name of a safetensors index.
const IndexFile = "model.safetensors.index.json"

// Progress hears how far the work is. Add may be called from several
// goroutines.
type Progress interface {
	Start(what string, total int64, unit string)
	Add(n int64)
	Stop()
}

// Options say what to make of a family.
type Options struct {
	Full     bool     // the real size, payloads as holes
	Preset   string   // or a small one with contents: "mini", …
	Layers   int      // 0: as many as the config has
	Experts  int      // likewise
	Seed     uint64   // of the contents
	Progress Progress // may be nil
}

// Result says what was made.
type Result struct {
	Family, Preset  string
	Layers, Experts int // experts are 0 where the family has none
	Files           int // weight files
	Tensors         int
	TotalSize       int64 // bytes of all tensors
	FileBytes       int64 // bytes of all weight files, holes included
}

// OptionError is a request that makes no sense: an unknown family or preset, a
// number out of bounds.
type OptionError struct{ Msg string }

func (e *OptionError) Error() string { return e.Msg }

func optionError(format string, args ...any) error {
	return &OptionError{fmt.Sprintf(format, args...)}
}

// Families are the names that Synth takes.
func Families() []string {
	entries, _ := data.ReadDir("layouts") // embedded: cannot fail
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".json"))
	}
	return out
}

// Synth makes a checkpoint of family in the directory dst, which must not
// exist or be empty.
func Synth(ctx context.Context, family, dst string, opts Options) (*Result, error) {
	p, err := newPlan(family, opts)
	if err != nil {
		return nil, err
	}
	out, err := newfile.MakeDir(dst)
	if err != nil {
		return nil, err
	}
	if err := p.write(ctx, out); err != nil {
		return nil, errors.Join(err, out.Discard())
	}
	return &p.result, nil
}
