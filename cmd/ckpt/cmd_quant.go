package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ckpt/internal/cpu"
)

func newQuant(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quant",
		Short: "say what quantization schemes mean and whether this build keeps to them",
		Long: `Systems that quantize agree on the format and on little else: the rule of the
scale, ties, zero, minus zero, the ends of the range. A scheme is one system in
one release.

  schemes      what each scheme means
  conformance  run the vectors that tell systems apart on this build
  bench        measure the kernels of this machine`,
		GroupID: groupOther,
		Example: `  ckpt quant schemes
  ckpt quant schemes compressed-tensors
  ckpt quant conformance
  ckpt quant bench`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitUsage, exitNo)},
		Args:        unknownOf("quant"),
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newQuantSchemes(std), newQuantConformance(std), newQuantBench(std))
	return cmd
}

// noteUnknownSets says what CKPT_DISABLE names in vain.
func noteUnknownSets(std streams) {
	for _, name := range cpu.Unknown() {
		fmt.Fprintf(std.err, "ckpt: %s names %q, which is neither avx2 nor avx512: it disables nothing\n", cpu.Variable, name)
	}
}

// unknownOf refuses a word that is no subcommand of a command.
func unknownOf(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return hint(usagef("unknown command %q for %s", args[0], name), "ckpt %s --help lists them", name)
	}
}
