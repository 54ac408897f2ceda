package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/internal/ui"
)

// Groups of the commands in the help.
const (
	groupLook  = "look"
	groupLoad  = "load"
	groupMake  = "make"
	groupOther = "other"
)

// globals are the flags of every command.
type globals struct {
	quiet    bool
	progress string
	mode     ui.Mode
}

func (g *globals) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&g.progress, "progress", "auto", "show progress in this `form`: auto, plain, json or none")
	fs.BoolVarP(&g.quiet, "quiet", "q", false, "print only the result")
	fs.Bool("no-mmap", true, "nothing is ever mapped")
	fs.MarkHidden("no-mmap")
}

// meter makes the progress display that the flags ask for.
func (g *globals) meter(std streams) *ui.Progress {
	if g.quiet {
		return nil
	}
	return ui.NewProgress(std.err, g.mode)
}

func newRoot(std streams) *cobra.Command {
	g := new(globals)
	root := &cobra.Command{
		Use:   "ckpt",
		Short: "a toolkit for checkpoints of very large models",
		Long: `ckpt looks into checkpoints of very large language models: it audits them in
place, lists what is in them, plans which bytes go to which device, estimates
whether they fit, and makes small ones to try things on. It reads headers, never
maps files, and writes only where it is told to.`,
		Example: `  ckpt audit /raid/weights/kimi-k3
  ckpt plan --tp 8 /raid/weights/kimi-k3
  ckpt estimate --tp 8 --device mi350x /raid/weights/kimi-k3
  ckpt demo`,
		Annotations:       map[string]string{exitStatus: statuses(exitDone, exitFailed, exitUsage, exitNo, exitNoRoom, exitInterrupted)},
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			if g.mode, err = ui.ParseMode(g.progress); err != nil {
				return &usageError{err}
			}
			return nil
		},
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.Version = version()
	root.SetVersionTemplate(versionLine())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { help(std.out, cmd) })
	root.SetFlagErrorFunc(flagError)
	root.SetGlobalNormalizationFunc(normalize)
	g.addFlags(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: groupLook, Title: "Look into a checkpoint"},
		&cobra.Group{ID: groupLoad, Title: "Load a checkpoint"},
		&cobra.Group{ID: groupMake, Title: "Make a small one"},
		&cobra.Group{ID: groupOther, Title: "This machine and this program"},
	)
	root.AddCommand(
		newAudit(g, std), newExplain(std), newLs(std), newCat(std), newPlan(g, std), newEstimate(g, std), newLoad(g, std),
		newSynth(g, std), newSlice(g, std), newDemo(std),
		newDoctor(std), newQuant(std), newVersion(std), newCompletion(std),
	)
	root.SetHelpCommand(newHelp(std))
	return root
}

// newHelp makes help COMMAND, which people type and no help lists.
func newHelp(std streams) *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), args)
			}
			help(std.out, about)
			return nil
		},
	}
}

// unknownCommand refuses a word that is no command and says which was meant.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := usagef("unknown command %q", args[0])
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if near := nearest(args[0], names); near != "" {
		return hint(err, "did you mean %q? ckpt --help lists the commands", "ckpt "+near)
	}
	return hint(err, "ckpt --help lists the commands")
}
