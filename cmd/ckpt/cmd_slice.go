package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/checkpoint"
	"ckpt/convert"
	"ckpt/internal/ui"
	"ckpt/safetensors"
)

type sliceOptions struct {
	places
	layers int
	jobs   int
}

func (o *sliceOptions) addFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.layers, "layers", 0, "how many layers, from the first (required)")
	fs.IntVarP(&o.jobs, "jobs", "j", 0, "files to copy at the same time (0: as many as processors)")
	o.addSource(fs)
	o.addDestination(fs)
}

func newSlice(g *globals, std streams) *cobra.Command {
	var opts sliceOptions
	cmd := &cobra.Command{
		Use:   "slice PATH DST --layers N",
		Short: "make a small checkpoint of the first layers",
		Long: `Make a small checkpoint of the first layers of a large one in a new directory:
their tensors and all that belong to no layer, byte for byte, with a config that
says how many layers there are. Engines load it as they would load the whole.`,
		GroupID: groupMake,
		Example: `  ckpt slice /raid/weights/kimi-k3 /tmp/first-4 --layers 4
  ckpt slice -q DIR small --layers 1`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitFailed, exitUsage, exitNoRoom, exitInterrupted)},
		Args:        func(_ *cobra.Command, args []string) error { return want("slice", opts.join(args), "PATH", "DST") },
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !cmd.Flags().Changed("layers"):
				return hint(usagef("slice: --layers is missing"), "ckpt slice PATH DST --layers 4")
			case opts.layers < 1:
				return usagef("--layers %d: from 1 up", opts.layers)
			case opts.jobs < 0:
				return checkJobs(opts.jobs)
			}
			args = opts.join(args)
			return runSlice(cmd.Context(), g, opts, args[0], args[1], std)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func runSlice(ctx context.Context, g *globals, opts sliceOptions, src, dst string, std streams) error {
	meter := g.meter(std)
	r, err := convert.Slice(ctx, src, dst, opts.layers, convert.SliceOptions{Jobs: opts.jobs, Progress: meter})
	meter.Stop()
	if err != nil {
		return sliceError(err, src, dst)
	}
	if g.quiet {
		_, err = fmt.Fprintln(std.out, dst)
		return err
	}
	style := std.style()
	fmt.Fprintf(std.err, "%s", skippedNote(r))
	_, err = fmt.Fprintf(std.out, "%s  the first %d of %d layers, %s, %s, %s\n", style.Bold(shown(dst)), r.Layers, r.Of,
		ui.Plural(r.Files, "file"), ui.Plural(r.Tensors, "tensor"), ui.Size(r.TotalSize))
	return err
}

// skippedNote says what of the source is not in the slice.
func skippedNote(r *convert.SliceResult) string {
	if len(r.Skipped) == 0 {
		return ""
	}
	return "ckpt: not copied: " + ui.Escape(strings.Join(r.Skipped, ", ")) + "\n"
}

func sliceError(err error, src, dst string) error {
	var place *convert.DestinationError
	var fault *checkpoint.Fault
	switch {
	case errors.As(err, &place):
		return hint(err, "give a directory that does not exist, outside of the source")
	case errors.As(err, &fault), errors.Is(err, safetensors.ErrFormat):
		return hint(err, "ckpt audit %s says all that is wrong and how to mend it", shellPath(src))
	}
	return madeError(err, dst)
}
