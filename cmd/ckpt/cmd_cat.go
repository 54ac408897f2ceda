package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/checkpoint"
	"ckpt/internal/fs"
	"ckpt/internal/ui"
)

type catOptions struct {
	places
	format string
	slice  string
}

func (o *catOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.format, "format", "raw", "write in this `form`: raw, text or npy")
	fs.StringVar(&o.slice, "slice", "", "a part only: a `range` for each dimension, 0:2,:,5")
	o.addSource(fs)
}

func newCat(std streams) *cobra.Command {
	var opts catOptions
	cmd := &cobra.Command{
		Use:   "cat PATH TENSOR",
		Short: "write one tensor, or a part of it, to the standard output",
		Long: `Write one tensor to the standard output: its bytes as they are stored, as text,
or as a NumPy array. Values are not decoded: in text and in npy, a type that
NumPy lacks stands as its bits (BF16 as u2, the 8-bit floats as u1, packed
4- and 6-bit types as the bytes that hold them); text shows BF16 as a number.

A slice has one range for each dimension, from the left: 5 keeps one place and
drops the dimension, 0:2 two of them, : all. What is read is what is wanted.`,
		GroupID: groupLook,
		Example: `  ckpt cat DIR model.norm.weight --format text
  ckpt cat DIR model.embed_tokens.weight --slice 0:4,:8 --format text
  ckpt cat DIR lm_head.weight --format npy > lm_head.npy`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitFailed, exitUsage, exitInterrupted)},
		Args:        func(_ *cobra.Command, args []string) error { return want("cat", opts.join(args), "PATH", "TENSOR") },
		RunE: func(cmd *cobra.Command, args []string) error {
			args = opts.join(args)
			return runCat(cmd.Context(), opts, args[0], args[1], std)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runCat(ctx context.Context, opts catOptions, path, name string, std streams) error {
	if err := oneOf("--format", opts.format, "raw", "text", "npy"); err != nil {
		return err
	}
	if opts.format != "text" && ui.IsTerminal(std.out) {
		return hint(usagef("bytes do no good to a terminal"), "redirect the output, or ask for --format text")
	}
	c, err := openCheckpoint(ctx, path, 0)
	if err != nil {
		return err
	}
	t, ok := c.Lookup(name)
	if !ok {
		return unknownTensor(c, name, path)
	}
	part, err := newSelection(t.DType, t.Shape, opts.slice)
	if err != nil {
		return &usageError{err}
	}
	f, _, err := fs.OpenRegular(t.File.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(std.out, 1<<18)
	in := source{ctx: ctx, file: f, tensor: t}
	switch opts.format {
	case "text":
		err = writeText(w, in, part)
	case "npy":
		err = writeNPY(w, in, part)
	default:
		err = in.copy(w, part)
	}
	return errors.Join(err, w.Flush())
}

// unknownTensor says which names are near to one that does not exist.
func unknownTensor(c *checkpoint.Checkpoint, name, path string) error {
	err := fmt.Errorf("%s: no tensor %q", path, name)
	all := func(yield func(string) bool) {
		for _, r := range records(c) {
			if !yield(c.Names.Name(r.Key)) {
				return
			}
		}
	}
	near := ui.Nearest(name, iter.Seq[string](all), 3)
	if len(near) == 0 {
		return hint(err, "ckpt ls %s lists the names", shellPath(path))
	}
	for i := len(near) - 1; i >= 0; i-- {
		err = hint(err, "near to it is %s", near[i])
	}
	return err
}

// source is a tensor that is read in pieces.
type source struct {
	ctx    context.Context
	file   *os.File
	tensor *checkpoint.Tensor
}

// pieceSize bounds what is read at a time.
const pieceSize = 1 << 20

// copy writes the bytes of the selection.
func (s source) copy(w io.Writer, part *selection) error {
	buf := make([]byte, min(pieceSize, max(1, part.run)))
	for off := range part.runs() {
		for done := int64(0); done < part.run; {
			if err := s.ctx.Err(); err != nil {
				return err
			}
			piece := buf[:min(int64(len(buf)), part.run-done)]
			if err := s.read(piece, off+done); err != nil {
				return err
			}
			if _, err := w.Write(piece); err != nil {
				return err
			}
			done += int64(len(piece))
		}
	}
	return nil
}

// read fills p from the byte off of the tensor.
func (s source) read(p []byte, off int64) error {
	if off < 0 || off > s.tensor.Size-int64(len(p)) {
		return fmt.Errorf("tensor %q: bytes %d to %d of %d", s.tensor.Name, off, off+int64(len(p)), s.tensor.Size)
	}
	n, err := s.file.ReadAt(p, s.tensor.Offset+off)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("tensor %q at byte %d of %s (%s): %w", s.tensor.Name, s.tensor.Offset+off+int64(n),
		s.file.Name(), fs.TypeOf(s.file.Name()), err)
}
