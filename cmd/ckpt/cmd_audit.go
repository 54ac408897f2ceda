package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/audit"
	"ckpt/internal/newfile"
	"ckpt/internal/ui"
)

type auditOptions struct {
	places
	level    string
	metadata bool
	profile  string
	failOn   string
	ignore   string
	subset   string
	all      bool
	json     bool
	sarif    string
	jobs     int

	set    map[string]bool // flags that were given
	parsed audit.Options
}

// toStdout is the value of --sarif without one.
const toStdout = "-"

func (o *auditOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.level, "level", "headers", "go to this `level`: metadata (config and index) or headers (every file's size and header)")
	fs.BoolVar(&o.metadata, "metadata-only", false, "the same as --level metadata")
	fs.StringVar(&o.profile, "profile", "auto", "compare with this `family`: auto, a name, a file, or none")
	fs.StringVar(&o.failOn, "fail-on", "error", "fail from this `severity` on: error or warning")
	fs.StringVar(&o.ignore, "ignore", "", "findings that do not count: a JSON `file` of {id, file, tensor, reason, until}")
	fs.BoolVar(&o.all, "all", false, "show every instance of a finding, not the first three")
	fs.BoolVar(&o.json, "json", false, "print one JSON document (ckpt.audit/v1)")
	fs.StringVar(&o.sarif, "sarif", "", "print SARIF 2.1.0, or write it to =`FILE`")
	fs.Lookup("sarif").NoOptDefVal = toStdout
	fs.IntVarP(&o.jobs, "jobs", "j", 0, "files to read at the same time (0: as many as processors)")
	fs.StringVar(&o.subset, "subset", "", "")
	fs.MarkHidden("subset")
	o.addSource(fs)
}

func newAudit(g *globals, std streams) *cobra.Command {
	var opts auditOptions
	cmd := &cobra.Command{
		Use:     "audit PATH",
		Aliases: []string{"check"},
		Short:   "check a checkpoint in place, and say what is wrong with it",
		Long: `Check a checkpoint in place: its files, headers, index, config, and whether it
is the model that it says it is. PATH is a directory, an index, or any shard,
which stands for its set. Nothing is written, and no payload is read.

Every finding has a code that ckpt explain knows. The verdict is fail when an
error stands, incomplete when a check that was asked for could not be made,
else pass. Files that have to be fetched again come last, in one line.`,
		GroupID: groupLook,
		Example: `  ckpt audit /raid/weights/kimi-k3
  ckpt audit --metadata-only DIR        before the shards are there
  ckpt audit --fail-on warning --json DIR > audit.json
  ckpt audit --profile llama --ignore known.json DIR`,
		Annotations: map[string]string{exitStatus: `  0    the verdict is pass
  1    the report could not be written
  2    usage: an unknown profile or level, a list of ignored findings that
       does not parse
  3    the verdict is fail or incomplete; a path that does not exist is FS001
  130  interrupted`},
		Args: func(_ *cobra.Command, args []string) error {
			if args = opts.join(args); len(args) > 1 && opts.sarif == toStdout {
				return hint(usagef("audit takes PATH and was given %d arguments", len(args)), "a file for SARIF follows an equals sign: --sarif=%s", shellWords(args[0]))
			}
			return want("audit", args, "PATH")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.set = map[string]bool{}
			cmd.Flags().Visit(func(f *pflag.Flag) { opts.set[f.Name] = true })
			if err := opts.parse(); err != nil {
				return err
			}
			return runAudit(cmd.Context(), g, opts, opts.join(args)[0], std)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

// parse checks the flags and turns them into the options of the library.
func (o *auditOptions) parse() (err error) {
	for _, pair := range [][2]string{{"metadata-only", "level"}} {
		if err := exclusive(o.set, pair[0], pair[1]); err != nil {
			return err
		}
	}
	switch {
	case o.json && o.sarif == toStdout:
		return usagef("--json and --sarif both want the standard output; give --sarif=FILE")
	case o.set["sarif"] && o.sarif == "":
		return usagef("--sarif: the name of the file is empty")
	case o.set["subset"]:
		return usagef("--subset is for audits that read values, and this version does not read them yet")
	case o.jobs < 0:
		return checkJobs(o.jobs)
	}
	if err := o.parseLevel(); err != nil {
		return err
	}
	if err := oneOf("--fail-on", o.failOn, "error", "warning"); err != nil {
		return err
	}
	if o.parsed.FailOn, err = audit.ParseSeverity(o.failOn); err != nil {
		return &usageError{err}
	}
	if o.ignore != "" {
		if o.parsed.Ignore, err = audit.LoadIgnore(o.ignore); errors.Is(err, audit.ErrIgnore) {
			return &usageError{err}
		} else if err != nil {
			return err
		}
	}
	if o.profile, err = checkProfile(o.profile); err != nil {
		return err
	}
	o.parsed.Profile, o.parsed.All, o.parsed.Jobs, o.parsed.Now = o.profile, o.all, o.jobs, time.Now()
	return nil
}

func (o *auditOptions) parseLevel() (err error) {
	if o.metadata {
		o.level = "metadata"
	}
	if o.parsed.Level, err = audit.ParseLevel(o.level); err != nil {
		return &usageError{err}
	}
	if o.parsed.Level.Has(audit.LevelValues) || o.parsed.Level.Has(audit.LevelHash) {
		return hint(usagef("--level %s: this version does not read payloads yet", o.parsed.Level),
			"--level headers checks everything that can be known without them")
	}
	return nil
}

func runAudit(ctx context.Context, g *globals, opts auditOptions, path string, std streams) error {
	meter := g.meter(std)
	opts.parsed.Progress = perFile(meter, "reading headers")
	began := time.Now()
	r, err := audit.Run(ctx, path, opts.parsed)
	meter.Stop()
	if errors.Is(err, audit.ErrProfile) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	if opts.sarif != "" && opts.sarif != toStdout {
		write := func(w io.Writer) error { return r.WriteSARIF(w, version()) }
		if err := newfile.WriteFrom(opts.sarif, write); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return hint(err, "nothing is overwritten: rm %s", shellPath(opts.sarif))
			}
			return err
		}
	}
	w := bufio.NewWriter(std.out)
	switch {
	case opts.json:
		err = r.WriteJSON(w)
	case opts.sarif == toStdout:
		err = r.WriteSARIF(w, version())
	case g.quiet:
		_, err = fmt.Fprintln(w, auditVerdict(std.style(), r))
	default:
		p := auditPrinter{w: w, style: std.style(), report: r, path: path, all: opts.all, took: time.Since(began)}
		p.print()
	}
	if err = errors.Join(err, w.Flush()); err != nil && !isBrokenPipe(err) {
		return err
	}
	if r.ExitStatus() != exitDone {
		return errNo
	}
	return nil
}

// perFile shows a count of files that a library tells.
func perFile(meter *ui.Progress, what string) func(done, total int) {
	begun, last := false, 0
	return func(done, total int) {
		if !begun {
			begun = true
			meter.Start(what, int64(total), "files")
		}
		meter.Add(int64(done - last))
		last = done
	}
}

// isDirectory tells where files are fetched to: PATH itself or its parent.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
