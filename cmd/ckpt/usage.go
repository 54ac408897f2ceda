package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/internal/ui"
)

// aliases are long flags of other tools and the name that ours has.
var aliases = map[string]string{
	"model": "path",

	"output": "out", "outfile": "out", "output-dir": "out", "export-path": "out", "local-dir": "out",

	"threads": "jobs", "max-workers": "jobs",

	"ctx-size": "context", "max-model-len": "context", "context-length": "context", "num-ctx": "context",
	"parallel": "seqs", "max-num-seqs": "seqs",
	"kv-cache-dtype": "kv-dtype", "cache-type-k": "kv-dtype", "cache-type-v": "kv-dtype",
	"tensor-parallel-size": "tp", "tp-size": "tp", "tensor-parallel": "tp",
	"pipeline-parallel-size": "pp", "pp-size": "pp", "pipeline-parallel": "pp",
	"expert-parallel-size": "ep", "ep-size": "ep", "expert-parallel": "ep",
	"gpu-memory-utilization": "mem-util", "mem-fraction-static": "mem-util",

	"json-output": "json", "json-pretty": "json",
}

// normalize makes _ and - the same in long flags and knows aliases.
func normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	if ours, ok := aliases[name]; ok {
		name = ours
	}
	return pflag.NormalizedName(name)
}

// flagError words what the flag parser found, with the flag that was meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && errors.As(err, new(*strconv.NumError)) {
		err = wholeNumber(invalid)
	}
	if !errors.As(err, &unknown) {
		return hint(&usageError{err}, "%s --help lists the flags", cmd.CommandPath())
	}
	typed := unknown.GetSpecifiedName()
	dashes := "--"
	if unknown.GetSpecifiedShortnames() != "" {
		dashes = "-"
	}
	usage := usagef("unknown flag %s%s", dashes, typed)
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := nearest(typed, names); near != "" && dashes == "--" {
		return hint(usage, "did you mean --%s? %s --help lists the flags", near, cmd.CommandPath())
	}
	return hint(usage, "%s --help lists the flags", cmd.CommandPath())
}

// wholeNumber words that a value is no number, or one beyond all counts.
func wholeNumber(e *pflag.InvalidValueError) error {
	why := "want a whole number"
	if errors.Is(e, strconv.ErrRange) {
		why = "the number is too large"
	}
	return fmt.Errorf("--%s %q: %s", e.GetFlag().Name, e.GetValue(), why)
}

// nearest is the one of names that was probably meant, or nothing.
func nearest(typed string, names []string) string {
	if near := ui.Nearest(typed, slices.Values(names), 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// places are the source and the destination of a command: positional, or by
// the flags that other tools have for them.
type places struct {
	src, dst string
}

func (p *places) addSource(fs *pflag.FlagSet) {
	fs.StringVarP(&p.src, "path", "m", "", "the source, as other tools name it")
	fs.MarkHidden("path")
}

func (p *places) addDestination(fs *pflag.FlagSet) {
	fs.StringVarP(&p.dst, "out", "o", "", "the destination, as other tools name it")
	fs.MarkHidden("out")
}

// join puts the source before the arguments and the destination behind them.
func (p *places) join(args []string) []string {
	if p.src != "" {
		args = append([]string{p.src}, args...)
	}
	if p.dst != "" {
		args = append(slices.Clip(args), p.dst)
	}
	return args
}

// want checks that the arguments are as many as their names and not empty.
func want(cmd string, args []string, names ...string) error {
	if len(args) < len(names) {
		return hint(usagef("%s: %s is missing", cmd, names[len(args)]),
			"ckpt %s %s", cmd, strings.Join(names, " "))
	}
	switch {
	case len(args) > len(names) && len(names) == 0:
		return usagef("%s takes no arguments", cmd)
	case len(args) > len(names):
		return hint(usagef("%s takes %s and was given %d arguments", cmd, strings.Join(names, " and "), len(args)),
			"the shell replaces * by all the names that match; give %s itself", what(names))
	}
	for i, a := range args {
		if a == "" {
			return usagef("%s: %s is empty", cmd, names[i])
		}
	}
	return nil
}

// what is the thing to give in place of a pattern.
func what(names []string) string {
	if len(names) == 1 && names[0] == "PATH" {
		return "the directory"
	}
	return "each name"
}

// checkJobs refuses a number of jobs that is none.
func checkJobs(n int) error {
	if n < 0 {
		return usagef("--jobs %d: from 0 up", n)
	}
	return nil
}

// oneOf refuses a value that is not in the list.
func oneOf(what, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	err := usagef("%s %q: one of %s", what, value, strings.Join(allowed, ", "))
	if near := nearest(value, allowed); near != "" {
		return hint(err, "did you mean %s?", near)
	}
	return err
}

// exclusive refuses two flags that contradict each other.
func exclusive(set map[string]bool, a, b string) error {
	if set[a] && set[b] {
		return &usageError{fmt.Errorf("--%s and --%s exclude each other", a, b)}
	}
	return nil
}
