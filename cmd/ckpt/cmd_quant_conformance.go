package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"ckpt/internal/cpu"
	"ckpt/internal/ui"
	"ckpt/quant"
)

func newQuantConformance(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "run the vectors that tell systems apart on this build",
		Long: `Run the conformance vectors on this build and this machine: blocks that tell one
system from another, with the bytes each gives. Every scheme must give its
system's bytes, by the kernel that this processor would use and by the plain
reference, in runs that mix the vectors; what comes out is decoded by both. Last
come the kernels on blocks of their own, held to the reference. Rows marked "run" come from running the
system itself, the others were derived from its source. CKPT_DISABLE=avx2 takes
implementations away.`,
		Example: `  ckpt quant conformance
  ckpt quant conformance --json | jq '.rows[] | select(.passed < .cases)'`,
		Annotations: map[string]string{exitStatus: `  0    every scheme gives its system's bytes
` + statuses(exitFailed, exitUsage) + `
  3    some do not
` + statuses(exitNoRoom)},
		Args: func(_ *cobra.Command, args []string) error { return want("quant conformance", args) },
		RunE: func(*cobra.Command, []string) error { return runQuantConformance(asJSON, std) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document (ckpt.quant-conformance/v1)")
	return cmd
}

// quantConformance is the document.
type quantConformance struct {
	Schema string           `json:"schema"`
	Passed int              `json:"passed"`
	Cases  int              `json:"cases"`
	Rows   []conformanceRow `json:"rows"`
}

type conformanceRow struct {
	Scheme    string   `json:"scheme"`
	Format    string   `json:"format,omitempty"`
	Row       string   `json:"row"`
	Source    string   `json:"source"` // run, derived, or reference: our own
	Passed    int      `json:"passed"`
	Cases     int      `json:"cases"`
	Undefined int      `json:"undefined"`
	Failures  []string `json:"failures"`
}

func runQuantConformance(asJSON bool, std streams) error {
	noteUnknownSets(std)
	all, err := quant.CheckConformance()
	if err != nil {
		return err
	}
	doc := quantConformance{Schema: "ckpt.quant-conformance/v1"}
	for _, c := range all {
		row := conformanceRow{
			Scheme: c.Scheme, Row: c.Row, Source: "derived", Passed: c.Passed, Cases: c.Cases, Undefined: c.Undefined,
			Failures: append([]string{}, c.Failures...),
		}
		if c.Format != 0 {
			row.Format = c.Format.String()
		}
		switch {
		case c.Confirmed:
			row.Source = "run"
		case c.Scheme == quant.Implementations()[0]:
			row.Source = "reference"
		}
		doc.Passed, doc.Cases = doc.Passed+c.Passed, doc.Cases+c.Cases
		doc.Rows = append(doc.Rows, row)
	}
	w := bufio.NewWriter(std.out)
	if asJSON {
		if err := writeJSON(w, doc); err != nil {
			return err
		}
	} else {
		printConformance(w, std.style(), doc)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if doc.Passed < doc.Cases {
		return errNo
	}
	return nil
}

// kernelsRun names the kernels that were held to the vectors, and those that
// were not.
func kernelsRun() string {
	run := quant.Implementations()[0]
	if slices.Contains(quant.Implementations(), cpu.AVX512.String()) || slices.Contains(cpu.Disabled(), cpu.AVX512) {
		return run
	}
	return run + "; avx512 not run: not on this processor, or not in this build"
}

func printConformance(w io.Writer, style ui.Style, doc quantConformance) {
	t := ui.Table{Columns: ui.Columns{Right: "llr"}}
	for _, r := range doc.Rows {
		undefined := ""
		if r.Undefined > 0 {
			undefined = fmt.Sprintf("%d undefined", r.Undefined)
		}
		t.Row(r.Scheme, r.Format, fmt.Sprintf("%d/%d", r.Passed, r.Cases), r.Source, r.Row, undefined)
	}
	t.Write(w) // the error stays in the buffer
	for _, r := range doc.Rows {
		for _, f := range r.Failures {
			fmt.Fprintf(w, "%s %s %s: %s\n", style.Red("differs:"), r.Scheme, r.Format, f)
		}
	}
	fmt.Fprintf(w, "\nkernels: %s\n", kernelsRun())
	fmt.Fprintf(w, "%d of %d cases pass\n", doc.Passed, doc.Cases)
}
