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
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ckpt/internal/newfile"
	"ckpt/safetensors"
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

// plan is all of a checkpoint but its files.
type plan struct {
	opts   Options
	layout *layout
	config []byte
	shards []*shard
	result Result
}

func newPlan(family string, opts Options) (*plan, error) {
	l, err := layoutOf(family)
	if err != nil {
		return nil, err
	}
	p := &plan{opts: opts, layout: l}
	c, err := configOf(l.Config, opts)
	if err != nil {
		return nil, err
	}
	p.config = c.text
	if c.maxShard > 0 && l.MaxShard > 0 {
		l.MaxShard = c.maxShard
	}
	families, err := familiesOf(l.Profile, p.config)
	if err != nil {
		return nil, err
	}
	if l.Index != nil {
		l.Index.place(families)
	}
	if p.shards, err = l.shards(families); err != nil {
		return nil, err
	}
	p.result = Result{Family: family, Preset: c.preset, Layers: c.layers, Experts: c.experts, Files: len(p.shards)}
	for _, s := range p.shards {
		p.result.Tensors += len(s.tensors)
		for _, t := range s.tensors {
			p.result.TotalSize += t.family.bytes
		}
	}
	return p, nil
}

// write makes the files: weights side by side, then the config, the index and
// the marker.
func (p *plan) write(ctx context.Context, out *newfile.Directory) error {
	if err := p.writeShards(ctx, out); err != nil {
		return err
	}
	if err := out.Write("config.json", p.config); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.layout.Manifest != nil {
		if err := p.writeManifest(out); err != nil {
			return err
		}
	}
	if p.layout.Index != nil && len(p.shards) > 1 {
		if err := p.writeIndex(out); err != nil {
			return err
		}
	}
	return p.writeMarker(out)
}

func (p *plan) writeIndex(out *newfile.Directory) error {
	pairs, err := p.layout.indexed(p.shards)
	if err != nil {
		return err
	}
	if err := safetensors.WriteIndex(out.Path(IndexFile), p.result.TotalSize, pairs); err != nil {
		return err
	}
	out.Made(IndexFile)
	return nil
}

func (p *plan) writeShards(ctx context.Context, out *newfile.Directory) error {
	if p.opts.Progress != nil {
		p.opts.Progress.Start("writing", int64(len(p.shards)), "files")
		defer p.opts.Progress.Stop()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2 * runtime.GOMAXPROCS(0)) // half of them wait for the disk
	sizes := make([]int64, len(p.shards))
	for i, s := range p.shards {
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if sizes[i], err = p.writeShard(ctx, s, out.Path(s.name)); err != nil {
				return err
			}
			out.Made(s.name)
			if p.opts.Progress != nil {
				p.opts.Progress.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	for _, n := range sizes {
		p.result.FileBytes += n
	}
	return err
}

func (p *plan) writeShard(ctx context.Context, s *shard, path string) (int64, error) {
	l, err := safetensors.NewLayout(s.specs(), nil)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	create := safetensors.Create
	if p.opts.Full {
		create = safetensors.CreateSparse
	}
	w, err := create(path, l)
	if err != nil {
		return 0, err
	}
	defer w.Abort()
	if p.opts.Full {
		w.SkipAll()
	} else if err := p.fill(ctx, w, s); err != nil {
		return 0, err
	}
	return l.Size(), w.Commit()
}

// fill writes the contents of a shard's tensors.
func (p *plan) fill(ctx context.Context, w *safetensors.Writer, s *shard) error {
	for _, t := range s.tensors {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.WritePiece(t.name(), 0, contents(t, p.opts.Seed)); err != nil {
			return err
		}
	}
	return nil
}

// marker is the document of MarkerFile. It carries no time, host or path, so
// that equal work gives equal bytes.
type marker struct {
	Schema  string `json:"schema"`
	Family  string `json:"family"`
	Preset  string `json:"preset"`
	Seed    uint64 `json:"seed"`
	Layers  int    `json:"layers"`
	Experts int    `json:"experts"`
}

func (p *plan) writeMarker(out *newfile.Directory) error {
	m := marker{"ckpt.synth/v1", p.result.Family, p.result.Preset, p.opts.Seed, p.result.Layers, p.result.Experts}
	return writeJSON(out, MarkerFile, m)
}

// writeManifest lists the files in the place of an index.
func (p *plan) writeManifest(out *newfile.Directory) error {
	m := struct {
		Format  string   `json:"format"`
		Tensors int      `json:"tensor_count"`
		Bytes   int64    `json:"logical_bytes"`
		Files   []string `json:"files"`
	}{Format: p.layout.Manifest.Format, Tensors: p.result.Tensors, Bytes: p.result.TotalSize}
	for _, s := range p.shards {
		m.Files = append(m.Files, s.name)
	}
	return writeJSON(out, p.layout.Manifest.File, m)
}

func writeJSON(out *newfile.Directory, name string, v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return out.Write(name, append(text, '\n'))
}
