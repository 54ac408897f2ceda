package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/internal/newfile"
	"ckpt/internal/synth"
	"ckpt/internal/ui"
)

type synthOptions struct {
	places
	full    bool
	preset  string
	layers  int
	experts int
	seed    uint64
}

// defaultPreset is made where neither --full nor --preset is given.
const defaultPreset = "mini"

func (o *synthOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.full, "full", false, "at the release's real size; payloads are holes and take no disk")
	fs.StringVar(&o.preset, "preset", "", "a small one with real contents and the same rules, by `name` (default \"mini\")")
	fs.IntVar(&o.layers, "layers", 0, "this many layers (0: as many as the config has)")
	fs.IntVar(&o.experts, "experts", 0, "this many experts a layer (0: as many as the config has)")
	fs.Uint64Var(&o.seed, "seed", 0, "of the contents of a preset")
	o.addDestination(fs)
}

func newSynth(g *globals, std streams) *cobra.Command {
	var opts synthOptions
	cmd := &cobra.Command{
		Use:   "synth FAMILY DST",
		Short: "make a checkpoint of a family without its weights",
		Long: `Make a checkpoint of a family in a new directory, to try tools on: with --full
the release's headers, index and config, byte for byte, and payloads that are
holes; else a small one with real contents that keeps all the rules.
The families are ` + strings.Join(synth.Families(), ", ") + `.

The directory is marked by ckpt-synth.json, so that an audit expects the holes.`,
		GroupID: groupMake,
		Example: `  ckpt synth kimi-k3 --full /tmp/k3
  ckpt synth kimi-k3 /tmp/mini
  ckpt synth llama --preset mini-tied --seed 7 /tmp/llama`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitFailed, exitUsage, exitNoRoom, exitInterrupted)},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return synth.Families(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		Args: func(_ *cobra.Command, args []string) error { return want("synth", opts.join(args), "FAMILY", "DST") },
		RunE: func(cmd *cobra.Command, args []string) error {
			args = opts.join(args)
			return runSynth(cmd.Context(), g, opts, args[0], args[1], std)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func (o *synthOptions) check(family string) error {
	families := synth.Families()
	if err := oneOf("family", family, families...); err != nil {
		return err
	}
	if o.full && o.preset != "" {
		return usagef("--full and --preset exclude each other")
	}
	if !o.full && o.preset == "" {
		o.preset = defaultPreset
	}
	if !o.full {
		return oneOf("--preset", o.preset, synth.Presets(family)...)
	}
	return nil
}

func runSynth(ctx context.Context, g *globals, opts synthOptions, family, dst string, std streams) error {
	if err := opts.check(family); err != nil {
		return err
	}
	meter := g.meter(std)
	r, err := synth.Synth(ctx, family, dst, synth.Options{
		Full: opts.full, Preset: opts.preset, Layers: opts.layers, Experts: opts.experts,
		Seed: opts.seed, Progress: meter,
	})
	meter.Stop()
	if err != nil {
		return madeError(err, dst)
	}
	if g.quiet {
		_, err = fmt.Fprintln(std.out, dst)
		return err
	}
	kind := "preset " + r.Preset
	if opts.full {
		kind = "full size, payloads are holes"
	}
	_, err = fmt.Fprintf(std.out, "%s  %s (%s), %s, %s, %s\n", std.style().Bold(shown(dst)), r.Family, kind,
		ui.Plural(r.Files, "file"), ui.Plural(r.Tensors, "tensor"), ui.Size(r.TotalSize))
	return err
}

// madeError words why a new checkpoint could not be made at dst.
func madeError(err error, dst string) error {
	var option *synth.OptionError
	switch {
	case errors.As(err, &option):
		return &usageError{err}
	case errors.Is(err, newfile.ErrNotEmpty), errors.Is(err, fs.ErrExist):
		return hint(err, "nothing is overwritten; give a directory that does not exist or is empty")
	case errors.Is(err, fs.ErrNotExist):
		return hint(err, "mkdir -p %s first", shellPath(parent(dst)))
	}
	return err
}
