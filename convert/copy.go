package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"ckpt/checkpoint"
	ckptfs "ckpt/internal/fs"
	"ckpt/internal/newfile"
	"ckpt/safetensors"
)

// pieceLen is how much a job holds in memory.
const pieceLen = 8 << 20

// extent is a run of bytes of the source with its place in the destination.
type extent struct{ from, to, n int64 }

// extents are the runs of a file that are copied: tensors that follow each
// other in the source follow each other in the destination.
func (f *sliceFile) extents() []extent {
	var out []extent
	for i, t := range f.layout.Tensors() {
		from := f.kept[i].Offset
		if last := len(out) - 1; last >= 0 && out[last].from+out[last].n == from {
			out[last].n += t.Size
			continue
		}
		out = append(out, extent{from, t.Offset, t.Size})
	}
	return out
}

// checkSpace refuses to begin where the data, less the holes that stay holes,
// do not fit.
func (s *slice) checkSpace(out *newfile.Directory) error {
	v, unknown := ckptfs.Stat(out.Path(""))
	if unknown != nil {
		v.Free = math.MaxInt64 // writes will tell
	}
	need := int64(0)
	for _, f := range s.files {
		need += f.layout.Size()
		for _, e := range f.extents() {
			need -= overlap(f.source.Holes, e.from, e.n)
		}
	}
	if v.Free < need {
		return &safetensors.SpaceError{Path: out.Path(""), Need: need, Free: v.Free}
	}
	return nil
}

// overlap is how many bytes of [off, off+n) lie in the ranges.
func overlap(ranges []ckptfs.Range, off, n int64) int64 {
	sum := int64(0)
	for _, r := range ranges {
		sum += max(0, min(r.End(), off+n)-max(r.Off, off))
	}
	return sum
}

// copyFile writes one file and gives the bytes that it left as holes.
func (s *slice) copyFile(ctx context.Context, f *sliceFile, path string) (holes int64, err error) {
	src, info, err := ckptfs.OpenRegular(f.source.Path)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	if info.Size() != f.source.Size {
		return 0, errChanged
	}
	create := safetensors.Create
	if len(f.source.Holes) > 0 {
		create = safetensors.CreateSparse
	}
	w, err := create(path, f.layout)
	if err != nil {
		return 0, err
	}
	defer w.Abort()
	c := copier{src: src, w: w, sparse: ckptfs.Sparse(info), progress: s.opts.Progress}
	for _, e := range f.extents() {
		if err := c.copy(ctx, e); err != nil {
			return 0, err
		}
	}
	return c.holes, w.Commit()
}

var errChanged = errors.New("the file changed while it was read")

// copier copies runs of one file into another.
type copier struct {
	src      *os.File
	w        *safetensors.Writer
	sparse   bool // the source may have holes
	progress Progress
	buf      []byte
	holes    int64 // bytes left as holes
}

// copy copies a run; what is a hole in the source stays one.
func (c *copier) copy(ctx context.Context, e extent) error {
	var holes []ckptfs.Range
	if c.sparse {
		// Where holes cannot be told, they are copied as the zeros they read as.
		holes, _ = ckptfs.Holes(c.src, e.from, e.n)
	}
	at := e.from
	for _, h := range holes {
		if err := c.data(ctx, at, e.to+at-e.from, h.Off-at); err != nil {
			return err
		}
		if err := c.w.Skip(e.to+h.Off-e.from, h.Len); err != nil {
			return err
		}
		c.holes += h.Len
		c.add(h.Len)
		at = h.End()
	}
	return c.data(ctx, at, e.to+at-e.from, e.from+e.n-at)
}

// data copies n bytes in pieces.
func (c *copier) data(ctx context.Context, from, to, n int64) error {
	if c.buf == nil && n > 0 {
		c.buf = make([]byte, pieceLen)
	}
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece := c.buf[:min(n, pieceLen)]
		if got, err := c.src.ReadAt(piece, from); got < len(piece) {
			return fmt.Errorf("reading %d bytes at %d: %w", len(piece), from, short(err))
		}
		if _, err := c.w.WriteAt(piece, to); err != nil {
			return err
		}
		c.add(int64(len(piece)))
		from, to, n = from+int64(len(piece)), to+int64(len(piece)), n-int64(len(piece))
	}
	return nil
}

func short(err error) error {
	if errors.Is(err, io.EOF) {
		return errChanged
	}
	return err
}

func (c *copier) add(n int64) {
	if c.progress != nil {
		c.progress.Add(n)
	}
}

// copySmall copies a companion file, through the links of a cache.
func copySmall(ctx context.Context, e *checkpoint.Entry, from string, out *newfile.Directory) error {
	src, _, err := ckptfs.OpenRegular(from)
	if err != nil {
		return err
	}
	defer src.Close()
	err = newfile.WriteFrom(out.Path(e.Name), func(w io.Writer) error {
		buf := make([]byte, 1<<20)
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, err := src.Read(buf)
			if _, werr := w.Write(buf[:n]); werr != nil {
				return werr
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	if err == nil {
		out.Made(e.Name)
	}
	return err
}
