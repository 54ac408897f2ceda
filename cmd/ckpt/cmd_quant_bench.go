package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ckpt/internal/ui"
	"ckpt/quant"
)

func newQuantBench(std streams) *cobra.Command {
	var (
		opts   quant.BenchOptions
		mib    int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "measure the kernels of this machine against a copy of the same bytes",
		Long: `Measure every kernel of every implementation on this machine: GB (10^9 bytes) of
numbers a second, and the ratio to a copy of as many bytes, which runs in turns
with it. Of each the best run counts. CKPT_DISABLE=avx2 takes implementations
away.`,
		Example: `  ckpt quant bench
  ckpt quant bench --time 2s --mib 256
  CKPT_DISABLE=avx2 ckpt quant bench
  ckpt quant bench --json | jq '.results[] | select(.implementation == "avx2")'`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitFailed, exitUsage, exitInterrupted)},
		Args:        func(_ *cobra.Command, args []string) error { return want("quant bench", args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if mib < 1 || mib > 1<<14 {
				return usagef("--mib %d is not between 1 and 16384", mib)
			}
			if opts.Time < 0 || opts.Workers < 0 {
				return usagef("--time and --jobs are not negative")
			}
			opts.Bytes = mib << 20
			return runQuantBench(cmd, opts, asJSON, std)
		},
	}
	cmd.Flags().DurationVar(&opts.Time, "time", 300*time.Millisecond, "measure each for at least this `long`")
	cmd.Flags().IntVar(&mib, "mib", 64, "`MiB` of numbers")
	cmd.Flags().IntVarP(&opts.Workers, "jobs", "j", 0, "goroutines of the parallel lines (0: as many as processors)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document (ckpt.quant-bench/v1)")
	return cmd
}

// quantBench is the document.
type quantBench struct {
	Schema          string        `json:"schema"`
	Implementations []string      `json:"implementations"`
	Results         []benchResult `json:"results"`
}

type benchResult struct {
	Work           string  `json:"work"`
	Implementation string  `json:"implementation"`
	Workers        int     `json:"workers"`
	GBps           float64 `json:"gb_per_s"`
	Copy           float64 `json:"copy_gb_per_s"`
	Scaling        float64 `json:"times_one_worker,omitempty"`
	Ratio          float64 `json:"ratio"`
	Runs           int     `json:"runs"`
}

func runQuantBench(cmd *cobra.Command, opts quant.BenchOptions, asJSON bool, std streams) error {
	doc := quantBench{Schema: "ckpt.quant-bench/v1", Implementations: quant.Implementations(), Results: []benchResult{}}
	noteUnknownSets(std)
	err := quant.Benchmark(cmd.Context(), opts, func(r quant.BenchResult) {
		doc.Results = append(doc.Results, benchResult{
			Work: r.Work, Implementation: r.Implementation, Workers: r.Workers,
			GBps: r.GBps, Copy: r.Copy, Ratio: r.Ratio(), Runs: r.Runs, Scaling: r.Scaling,
		})
	})
	if err != nil {
		return err
	}
	w := bufio.NewWriter(std.out)
	if asJSON {
		if err := writeJSON(w, doc); err != nil {
			return err
		}
	} else {
		printBench(w, doc)
	}
	return w.Flush()
}

func printBench(w io.Writer, doc quantBench) {
	t := ui.Table{Columns: ui.Columns{Right: "llrrrr"}}
	t.Row("", "", "workers", "GB/s", "copy", "ratio")
	for _, r := range doc.Results {
		t.Row(r.Work, r.Implementation, strconv.Itoa(r.Workers), fmt.Sprintf("%.2f", r.GBps), fmt.Sprintf("%.2f", r.Copy), fmt.Sprintf("%.2f", r.Ratio))
	}
	t.Write(w) // the error stays in the buffer
}
