package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(std streams) *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "print the version of this program",
		GroupID:     groupOther,
		Args:        func(_ *cobra.Command, args []string) error { return want("version", args) },
		Example:     "  ckpt version",
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitUsage)},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runVersion(cmd.Context(), std) },
	}
}

func runVersion(_ context.Context, std streams) error {
	_, err := fmt.Fprint(std.out, versionLine())
	return err
}

func versionLine() string {
	return fmt.Sprintf("ckpt %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// version is what the build recorded: the module's version, and the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "devel" {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
