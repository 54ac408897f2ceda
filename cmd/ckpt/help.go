package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/internal/ui"
)

// exitStatus is the key under which a command keeps the last section of its
// help.
const exitStatus = "exit-status"

// help writes the help of a command: what it does, its flags, examples, and
// what its exit status says.
func help(out io.Writer, cmd *cobra.Command) {
	w := bufio.NewWriter(out)
	defer func() { _ = w.Flush() }() // cobra has no way for an error of its help
	fmt.Fprintln(w, strings.TrimSpace(cmd.Long))
	if cmd.HasParent() {
		section(w, "USAGE", "  "+strings.TrimSuffix(cmd.UseLine(), " [flags]")+" [flags]")
		section(w, "FLAGS", flags(cmd.LocalNonPersistentFlags()))
		section(w, "FLAGS OF EVERY COMMAND", flags(cmd.InheritedFlags()))
	} else {
		section(w, "USAGE", "  ckpt COMMAND [arguments] [flags]")
		for _, g := range cmd.Groups() {
			section(w, strings.ToUpper(g.Title), commands(cmd, g.ID))
		}
		section(w, "FLAGS OF EVERY COMMAND", flags(cmd.PersistentFlags()))
	}
	section(w, "EXAMPLES", cmd.Example)
	section(w, "EXIT STATUS", cmd.Annotations[exitStatus])
}

func section(w io.Writer, title, text string) {
	if text = strings.TrimRight(text, " \n"); text != "" {
		fmt.Fprintf(w, "\n%s\n%s\n", title, text)
	}
}

func flags(fs *pflag.FlagSet) string {
	text := fs.FlagUsagesWrapped(textWidth + 2)
	return strings.ReplaceAll(text, `--sarif FILE[="-"]`, `--sarif[=FILE]    `) // its value may be left out
}

// commands lists those of a group in the order in which they were added.
func commands(root *cobra.Command, group string) string {
	var t ui.Table
	t.Indent = 2
	for _, c := range root.Commands() {
		if c.GroupID == group && c.IsAvailableCommand() {
			t.Row(c.Name(), c.Short)
		}
	}
	var b strings.Builder
	t.Write(&b)
	return b.String()
}

// statuses is the last section of a help text.
func statuses(codes ...int) string {
	meaning := map[int]string{
		exitDone:        "  0    done, nothing found",
		exitFailed:      "  1    could not do it: unreadable input, input and output errors",
		exitUsage:       "  2    usage",
		exitNo:          "  3    done, and the answer is no",
		exitNoRoom:      "  4    does not fit on the disk or in memory",
		exitInterrupted: "  130  interrupted",
	}
	var lines []string
	for _, c := range codes {
		lines = append(lines, meaning[c])
	}
	return strings.Join(lines, "\n")
}
