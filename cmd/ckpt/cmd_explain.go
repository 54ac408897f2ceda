package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ckpt/audit"
	"ckpt/internal/ui"
)

// textWidth is the width of running text.
const textWidth = 78

func newExplain(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "say what a code of an audit means and how to mend it",
		Long: `Say what one code of an audit means: how a checkpoint comes to be like that,
what happens to who uses it all the same, and what to do. Without a code, list
them all.`,
		GroupID: groupLook,
		Example: `  ckpt explain FS003
  ckpt explain`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitUsage)},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, c := range audit.Codes() {
				out = append(out, c.ID+"\t"+c.Title)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return want("explain", args, "CODE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runExplain(args, std) },
	}
}

func runExplain(args []string, std streams) error {
	w := bufio.NewWriter(std.out)
	if len(args) == 0 {
		listCodes(w, std.style())
		return w.Flush()
	}
	code, ok := audit.Explain(args[0])
	if !ok {
		err := usagef("no code %q", args[0])
		if near := audit.Near(args[0]); len(near) > 0 {
			return hint(err, "did you mean %s? ckpt explain lists all codes", strings.Join(near, ", "))
		}
		return hint(err, "ckpt explain lists all codes")
	}
	explain(w, std.style(), code)
	return w.Flush()
}

func listCodes(w io.Writer, style ui.Style) {
	var t ui.Table
	for _, c := range audit.Codes() {
		t.Row(c.ID, severity(style, c.Severity), c.Level.String(), c.Title)
	}
	t.Write(w) // the error stays in the buffer
}

func explain(w io.Writer, style ui.Style, c audit.Code) {
	fmt.Fprintf(w, "%s  %s  decided at level %s\n\n", style.Bold(c.ID), severity(style, c.Severity), c.Level)
	for _, line := range ui.Wrap(c.Title+c.Detail, textWidth-2) {
		fmt.Fprintf(w, "  %s\n", style.Bold(line))
	}
	for _, part := range []struct{ name, text string }{
		{"Cause", c.Cause},
		{"Consequence", c.Consequence},
		{"Cure", c.Cure},
	} {
		if part.text == "" {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", style.Bold(part.name))
		for _, line := range ui.Wrap(part.text, textWidth-2) {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	if c.Command != "" {
		fmt.Fprintf(w, "\n  %s\n", style.Cyan(c.Command))
	}
}

// severity is the word in its colour.
func severity(style ui.Style, s audit.Severity) string {
	switch s {
	case audit.Error:
		return style.Red("error")
	case audit.Warning:
		return style.Yellow("warning")
	default:
		return style.Cyan("info")
	}
}
