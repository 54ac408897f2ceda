package synth

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"ckpt/internal/newfile"
	"ckpt/safetensors"
)

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
