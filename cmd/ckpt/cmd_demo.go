package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func newDemo(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "show audit, plan, estimate and load of a full-size Kimi K3, made on the spot",
		Long: `Make a Kimi K3 at its full size in a temporary directory, with the release's
headers and payloads that are holes (about 140 MB of disk), audit it, plan and
estimate it over eight devices, cut a small checkpoint from it and load that, damage
a file and audit again. Every command is shown as it runs, with its real output. The
directory is removed at the end, and when the demonstration is interrupted.`,
		GroupID:     groupMake,
		Args:        func(_ *cobra.Command, args []string) error { return want("demo", args) },
		Example:     "  ckpt demo\n  TMPDIR=/fast/disk ckpt demo",
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitFailed, exitUsage, exitNoRoom, exitInterrupted)},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), std) },
	}
}

// step is one command of the demonstration.
type step struct {
	says   string   // what it shows
	args   []string // nil damages a file
	status int      // with which it has to end
}

func runDemo(ctx context.Context, std streams) (err error) {
	dir, err := os.MkdirTemp("", "ckpt-demo-")
	if err != nil {
		return err
	}
	home, err := os.Getwd()
	if err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	defer func() { err = errors.Join(err, os.Chdir(home), os.RemoveAll(dir)) }()
	d := demo{std}
	d.prompt("A temporary directory, removed at the end.", "cd", dir)
	if err := os.Chdir(dir); err != nil {
		return err
	}
	return d.run(ctx, []step{
		{"A Kimi K3 at its full size: the release's 96 headers and its index, byte for byte.",
			[]string{"synth", "kimi-k3", "--full", "k3"}, exitDone},
		{"Is it the model that it says it is?", []string{"audit", "k3"}, exitDone},
		{"What are its experts?", []string{"ls", "k3", "--tensor", "*.w?.weight_*"}, exitDone},
		{"Which bytes go to which of eight devices?", []string{"plan", "--tp", "8", "k3"}, exitDone},
		{"Does it fit 288 GB each, with caches for 131,072 tokens?", []string{"estimate", "--tp", "8", "--context", "131072", "--device", "mi350x", "k3"}, exitDone},
		{"A small one to try things on.", []string{"slice", "k3", "first-4", "--layers", "4"}, exitDone},
		{"", []string{"audit", "first-4"}, exitDone},
		{"Stream it to eight devices that count and forget: holes read fast, so this is the speed of the loader.",
			[]string{"load", "--tp", "8", "--device", "null", "first-4"}, exitDone},
		{"One shard comes 301 MB short, as broken downloads leave it.", nil, exitDone},
		{"", []string{"audit", "k3"}, exitNo},
	})
}

type demo struct{ std streams }

// damage cuts the end off a file, as a download does that was broken off.
func (d demo) damage(says string) error {
	path := filepath.Join("k3", "model-00013-of-000096.safetensors")
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	const lost = 301_000_000
	d.prompt(says, "truncate", fmt.Sprintf("--size=-%d", lost), path)
	return os.Truncate(path, info.Size()-lost)
}

func (d demo) prompt(says string, words ...string) {
	style := d.std.style()
	if says != "" {
		fmt.Fprintf(d.std.out, "%s\n", style.Dim("# "+says))
	}
	fmt.Fprintf(d.std.out, "%s %s\n", style.Green("$"), style.Bold(shellWords(words...)))
}

func (d demo) run(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if s.args == nil {
			if err := d.damage(s.says); err != nil {
				return err
			}
			continue
		}
		d.prompt(s.says, append([]string{"ckpt"}, s.args...)...)
		err := execute(ctx, s.args, d.std)
		if ctx.Err() != nil {
			return context.Canceled
		}
		if got := exitCode(err); got != s.status {
			if err == nil {
				err = errors.New("ended well")
			}
			return fmt.Errorf("demo: %s: exit status %d, %d was expected: %w", strings.Join(s.args, " "), got, s.status, err)
		}
		if s.status != exitDone {
			fmt.Fprintf(d.std.out, "%s\n", d.std.style().Dim(fmt.Sprintf("(exit status %d)", s.status)))
		}
		if _, err := fmt.Fprintln(d.std.out); err != nil {
			return err
		}
	}
	return nil
}
