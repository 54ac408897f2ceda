package main

import (
	"github.com/spf13/cobra"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletion(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "print the completion script of a shell",
		Long: `Print the script that teaches a shell to complete ckpt's commands and flags.
Load it in the current shell, or put it where the shell finds it.`,
		GroupID:   groupOther,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if err := want("completion", args, "SHELL"); err != nil {
				return err
			}
			return oneOf("shell", args[0], shells...)
		},
		Example: `  source <(ckpt completion bash)
  ckpt completion zsh > "${fpath[1]}/_ckpt"
  ckpt completion fish > ~/.config/fish/completions/ckpt.fish`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitUsage)},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "zsh":
				return root.GenZshCompletion(std.out)
			case "fish":
				return root.GenFishCompletion(std.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(std.out)
			default:
				return root.GenBashCompletionV2(std.out, true)
			}
		},
	}
}
