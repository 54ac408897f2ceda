package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/checkpoint"
	"ckpt/dtype"
	"ckpt/internal/ui"
)

type lsOptions struct {
	places
	all, shards, tree bool
	tensors           []string
	dtypes            []string
	sort              string
	json              bool
	jobs              int

	set map[string]bool
}

func (o *lsOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.all, "all", false, "list every tensor")
	fs.BoolVar(&o.shards, "shards", false, "list the files")
	fs.BoolVar(&o.tree, "tree", false, "show the names as a tree")
	fs.StringArrayVar(&o.tensors, "tensor", nil, "only tensors whose name matches `GLOB` or re:REGEX (may be repeated)")
	fs.StringSliceVar(&o.dtypes, "dtype", nil, "only tensors of this `type`: BF16, U8, … (may be repeated)")
	fs.StringVar(&o.sort, "sort", "", "in this `order`: name, offset or size")
	fs.BoolVar(&o.json, "json", false, "print one JSON document (ckpt.ls/v1)")
	fs.IntVarP(&o.jobs, "jobs", "j", 0, "files to read at the same time (0: as many as processors)")
	o.addSource(fs)
}

func newLs(std streams) *cobra.Command {
	var opts lsOptions
	cmd := &cobra.Command{
		Use:     "ls PATH",
		Aliases: []string{"list", "show", "inspect", "info", "dump"},
		Short:   "list what is in a checkpoint",
		Long: `List what is in a checkpoint: by default one line a family, the tensors whose
names differ in numbers only and which have type and shape in common. Names are
escaped for people and exact in JSON.`,
		GroupID: groupLook,
		Example: `  ckpt ls DIR
  ckpt ls --shards DIR
  ckpt ls --all --tensor '*.layers.3.*' --sort size DIR
  ckpt ls --dtype U8 --json DIR | jq .families`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitFailed, exitUsage, exitInterrupted)},
		Args:        func(_ *cobra.Command, args []string) error { return want("ls", opts.join(args), "PATH") },
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.set = map[string]bool{}
			cmd.Flags().Visit(func(f *pflag.Flag) { opts.set[f.Name] = true })
			return runLs(cmd.Context(), opts, opts.join(args)[0], std)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

// wanted makes the filter that the flags describe.
func (o *lsOptions) wanted() (*filter, error) {
	for _, pair := range [][2]string{{"all", "shards"}, {"all", "tree"}, {"shards", "tree"}, {"json", "tree"}, {"shards", "tensor"}, {"shards", "dtype"}} {
		if err := exclusive(o.set, pair[0], pair[1]); err != nil {
			return nil, err
		}
	}
	if o.set["sort"] {
		if err := oneOf("--sort", o.sort, "name", "offset", "size"); err != nil {
			return nil, err
		}
	}
	if err := checkJobs(o.jobs); err != nil {
		return nil, err
	}
	m, err := ui.NewMatcher(o.tensors)
	if err != nil {
		return nil, &usageError{err}
	}
	f := &filter{match: m}
	for _, name := range o.dtypes {
		d, ok := dtype.Parse(strings.ToUpper(name))
		if !ok {
			return nil, usagef("--dtype %q: no such type", name)
		}
		f.dtypes = append(f.dtypes, d)
	}
	return f, nil
}

func runLs(ctx context.Context, opts lsOptions, path string, std streams) error {
	wanted, err := opts.wanted()
	if err != nil {
		return err
	}
	c, err := openCheckpoint(ctx, path, opts.jobs)
	if err != nil {
		return err
	}
	wanted.names = c
	w := bufio.NewWriterSize(std.out, 1<<16)
	l := &lister{c: c, w: w, style: std.style(), opts: opts, wanted: wanted}
	if opts.json {
		err = l.json()
	} else {
		l.print()
	}
	return errors.Join(err, w.Flush())
}

// openCheckpoint opens a checkpoint for commands that need all of it.
func openCheckpoint(ctx context.Context, path string, jobs int) (*checkpoint.Checkpoint, error) {
	c, err := checkpoint.Open(ctx, path, checkpoint.Options{Jobs: jobs})
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, checkpoint.ErrNotFound):
		return nil, err
	default:
		return nil, hint(err, "ckpt audit %s says all that is wrong and how to mend it", shellPath(path))
	}
}

// filter says which tensors are wanted.
type filter struct {
	match  *ui.Matcher
	dtypes []dtype.Type
	names  *checkpoint.Checkpoint
	buf    []byte
}

func (f *filter) keep(_ *checkpoint.File, r *checkpoint.Record) bool {
	if len(f.dtypes) > 0 {
		found := false
		for _, d := range f.dtypes {
			found = found || d == f.names.Spec(r.Spec).DType
		}
		if !found {
			return false
		}
	}
	if f.match == nil {
		return true
	}
	f.buf = f.names.Names.Append(f.buf[:0], r.Key)
	return f.match.Match(f.buf)
}

// records yields the tensors of a checkpoint in the order of its files.
func records(c *checkpoint.Checkpoint) iter.Seq2[*checkpoint.File, *checkpoint.Record] {
	return func(yield func(*checkpoint.File, *checkpoint.Record) bool) {
		for _, f := range c.Files {
			if !f.Indexed {
				continue
			}
			for i := range f.Records {
				if !yield(f, &f.Records[i]) {
					return
				}
			}
		}
	}
}

// shapeText writes a shape: [3072, 1792], [] for rank 0.
func shapeText(shape []uint64) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = fmt.Sprint(n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
