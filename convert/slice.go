package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"ckpt/checkpoint"
	"ckpt/internal/hfconfig"
	"ckpt/internal/names"
	"ckpt/internal/newfile"
	"ckpt/safetensors"
)

// SliceOptions say how a slice is made.
type SliceOptions struct {
	Jobs     int      // files at a time; 0 is one a processor
	Progress Progress // may be nil
}

// SliceResult says what was made.
type SliceResult struct {
	Layers, Of int // kept, of how many
	Files      int // weight files
	Tensors    int
	TotalSize  int64 // bytes of all tensors
	FileBytes  int64 // bytes of all weight files
	HoleBytes  int64 // of TotalSize, left as holes as in the source
	Companions []string
	Mended     []string // companions that count layers or files, and were changed
	Skipped    []string // other entries of the source, not copied
}

// Slice makes the checkpoint dst of the first layers of the model at src: all
// tensors of those layers and all that belong to no layer, byte for byte, in
// files of the same grouping; the config with fewer layers and otherwise
// unchanged; the companion files. A source with a fault is an error, as
// [checkpoint.Open] finds it.
func Slice(ctx context.Context, src, dst string, layers int, opts SliceOptions) (*SliceResult, error) {
	c, err := checkpoint.Open(ctx, src, checkpoint.Options{Headers: true, Sparse: true, Jobs: opts.Jobs})
	if err != nil {
		return nil, err
	}
	s, err := newSlice(c, layers, opts)
	if err != nil {
		return nil, err
	}
	if err := outside(c.Dir, dst); err != nil {
		return nil, err
	}
	out, err := newfile.MakeDir(dst)
	if err != nil {
		return nil, err
	}
	if err := s.write(ctx, out); err != nil {
		return nil, errors.Join(err, out.Discard())
	}
	return &s.result, nil
}

// LayersError says that a model does not have so many layers.
type LayersError struct{ Asked, Have int }

func (e *LayersError) Error() string {
	return fmt.Sprintf("%d layers asked for: the model has 1 to %d", e.Asked, e.Have)
}

// slice is a slice planned.
type slice struct {
	source  *checkpoint.Checkpoint
	opts    SliceOptions
	config  []byte
	stack   *stack
	files   []*sliceFile
	renamed map[string]string // weight files of the source
	result  SliceResult
}

// sliceFile is one weight file of the destination.
type sliceFile struct {
	source *checkpoint.File
	name   string
	kept   []checkpoint.Record // by offset
	layout *safetensors.Layout
}

func newSlice(c *checkpoint.Checkpoint, layers int, opts SliceOptions) (*slice, error) {
	if c.Format != checkpoint.Safetensors {
		return nil, &checkpoint.UnsupportedError{Feature: "slice of " + c.Format.String(), Need: "safetensors"}
	}
	if c.Config == nil || c.Config.Err != nil {
		var err error
		if c.Config != nil {
			err = c.Config.Err
		}
		return nil, configError(err)
	}
	s := &slice{source: c, opts: opts, renamed: map[string]string{}}
	var err error
	if s.result.Of, err = hfconfig.Layers(c.Config.Data); err != nil {
		return nil, err
	}
	if s.result.Layers = layers; layers < 1 || layers > s.result.Of {
		return nil, &LayersError{layers, s.result.Of}
	}
	if s.config, err = hfconfig.SetLayers(c.Config.Data, layers); err != nil {
		return nil, err
	}
	if s.stack, err = findStack(c, s.result.Of); err != nil {
		return nil, err
	}
	return s, s.planFiles()
}

// planFiles finds what is kept of each file and lays it out.
func (s *slice) planFiles() error {
	for _, f := range s.source.Files {
		if !f.Indexed {
			continue
		}
		kept := s.keep(f)
		if len(kept) > 0 || len(f.Records) == 0 {
			s.files = append(s.files, &sliceFile{source: f, kept: kept})
		}
	}
	sources := make([]string, len(s.files))
	for i, f := range s.files {
		sources[i] = f.source.Name
	}
	for i, name := range renumber(sources) {
		s.files[i].name = name
		s.renamed[sources[i]] = name
	}
	for _, f := range s.files {
		if err := f.plan(s.source); err != nil {
			return fmt.Errorf("%s: %w", f.source.Name, err)
		}
		s.result.Tensors += len(f.kept)
		s.result.FileBytes += f.layout.Size()
		s.result.TotalSize += f.layout.Size() - f.layout.DataStart()
	}
	s.result.Files = len(s.files)
	return nil
}

// keep is what the slice keeps of a file, in the order of the data.
func (s *slice) keep(f *checkpoint.File) []checkpoint.Record {
	var kept []checkpoint.Record
	for _, r := range f.Records {
		if s.keeps(r.Key) {
			kept = append(kept, r)
		}
	}
	slices.SortStableFunc(kept, func(a, b checkpoint.Record) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Size, b.Size))
	})
	return kept
}

func (s *slice) keeps(k names.Key) bool {
	layer, ok := s.stack.layer(k)
	return !ok || int64(layer) < int64(s.result.Layers)
}

func (f *sliceFile) plan(c *checkpoint.Checkpoint) (err error) {
	specs := make([]safetensors.Spec, len(f.kept))
	for i, r := range f.kept {
		spec := c.Spec(r.Spec)
		specs[i] = safetensors.Spec{Name: c.Names.Name(r.Key), DType: spec.DType, Shape: spec.Shape}
	}
	f.layout, err = safetensors.NewLayout(specs, &safetensors.LayoutOptions{Metadata: f.source.Header.Metadata})
	return err
}

// write makes the files of the slice, the index last.
func (s *slice) write(ctx context.Context, out *newfile.Directory) error {
	if err := s.checkSpace(out); err != nil {
		return err
	}
	if err := s.writeWeights(ctx, out); err != nil {
		return err
	}
	if err := s.copyCompanions(ctx, out); err != nil {
		return err
	}
	if err := out.Write(s.source.Config.Name, s.config); err != nil {
		return err
	}
	x := s.source.Index
	if x == nil {
		return nil
	}
	if err := safetensors.WriteIndex(out.Path(x.Name), s.result.TotalSize, s.indexed()); err != nil {
		return err
	}
	out.Made(x.Name)
	return nil
}

func (s *slice) writeWeights(ctx context.Context, out *newfile.Directory) error {
	if p := s.opts.Progress; p != nil {
		p.Start("copying", s.result.TotalSize, "bytes")
		defer p.Stop()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(max(s.opts.Jobs, 0), runtime.GOMAXPROCS(0)))
	holes := make([]int64, len(s.files))
	for i, f := range s.files {
		g.Go(func() (err error) {
			if holes[i], err = s.copyFile(ctx, f, out.Path(f.name)); err != nil {
				return fmt.Errorf("%s: %w", f.source.Name, err)
			}
			out.Made(f.name)
			return nil
		})
	}
	err := g.Wait()
	for _, n := range holes {
		s.result.HoleBytes += n
	}
	return err
}

// indexed is the source's weight map with what is kept, in its order.
func (s *slice) indexed() iter.Seq2[string, string] {
	x := s.source.Index
	return func(yield func(string, string) bool) {
		var buf []byte
		for _, e := range x.Entries {
			if !s.keeps(e.Key) {
				continue
			}
			buf = s.source.Names.Append(buf[:0], e.Key)
			if !yield(string(buf), s.renamed[x.Files[e.File]]) {
				return
			}
		}
	}
}
