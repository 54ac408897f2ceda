package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ckpt/checkpoint"
	"ckpt/internal/fs"
	"ckpt/internal/ui"
	"ckpt/shard"
)

// readPlan reads a plan file and proves it: what the file says of that is not
// believed.
func readPlan(path string) (*shard.Plan, error) {
	f, _, err := fs.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := shard.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.Proof = p.Prove()
	return p, nil
}

func newPlanCheck(g *globals, std streams) *cobra.Command {
	var opts planCheckOptions
	cmd := &cobra.Command{
		Use:   "check FILE PATH",
		Short: "say whether a plan still fits its checkpoint",
		Long: `Say whether a plan that was kept still fits a checkpoint: the same files, sizes
and headers, wherever they lie now; prove the plan again; and plan again, to see
that the same comes out. A plan that was made with a profile of your own needs
that --profile here too.`,
		Example: `  ckpt plan check k3-tp8.json.zst /raid/weights/kimi-k3`,
		Annotations: map[string]string{exitStatus: `  0    it fits and is proven
  1    could not do it: a file that is no plan, an unreadable checkpoint
  2    usage
  3    it is stale, or wrong
  130  interrupted`},
		Args: func(_ *cobra.Command, args []string) error { return want("plan check", args, "FILE", "PATH") },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPlanCheck(cmd.Context(), g, args[0], args[1], opts, std)
		},
	}
	cmd.Flags().StringVar(&opts.profile, "profile", "", "plan again with this family: a `NAME`, a FILE or none; the plan's own where it is not said")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print one JSON document (ckpt.plan-check/v1)")
	return cmd
}

type planCheckOptions struct {
	profile string
	json    bool
}

// planCheck is the document of plan check.
type planCheck struct {
	Schema      string       `json:"schema"`
	Plan        string       `json:"plan"`
	Path        string       `json:"path"`
	Fresh       bool         `json:"fresh"`
	Differences []string     `json:"differences"`
	Proof       *shard.Proof `json:"proof"`
}

func runPlanCheck(ctx context.Context, g *globals, file, path string, opts planCheckOptions, std streams) error {
	p, err := readPlan(file)
	if err != nil {
		return err
	}
	meter := g.meter(std)
	c, err := checkpoint.Open(ctx, path, checkpoint.Options{Progress: perFile(meter, "reading headers")})
	meter.Stop()
	if err != nil {
		return openError(err, path)
	}
	doc := planCheck{"ckpt.plan-check/v1", file, path, true, []string{}, p.Proof}
	list, err := staleness(p, c, opts.profile, doc.Proof.OK())
	if err != nil {
		return err
	}
	doc.Fresh, doc.Differences = len(list) == 0, append(doc.Differences, list...)
	if opts.json {
		err = writeJSON(std.out, doc)
	} else {
		err = printPlanCheck(std, &doc)
	}
	if err == nil && (!doc.Fresh || !doc.Proof.OK()) {
		return errNo
	}
	return err
}

// staleness lists in what a checkpoint differs from the one that was planned, or,
// where the files are the same, what planning it again gives otherwise.
func staleness(p *shard.Plan, c *checkpoint.Checkpoint, profile string, proven bool) ([]string, error) {
	var stale *shard.StaleError
	if err := p.Check(c); errors.As(err, &stale) {
		return stale.Differences, nil
	} else if err != nil || !proven {
		return nil, err
	}
	named := profile != ""
	if !named {
		profile = p.Profile
	}
	if profile == shard.RulesName {
		profile = "none"
	}
	var differences []shard.Difference
	m, err := shard.Recognise(c, profile)
	switch {
	case errors.Is(err, shard.ErrProfile) && named:
		return nil, &usageError{err}
	case errors.Is(err, shard.ErrProfile):
		return nil, hint(err, "a plan is made again with the profile that it was made with: --profile FILE")
	case err == nil:
		differences, err = p.Replan(c, m)
	}
	var list []string
	if err != nil { // which is an answer: it was planned once
		list = append(list, "it cannot be planned again: "+err.Error())
	}
	for _, d := range differences {
		list = append(list, fmt.Sprintf("%s: the plan has %s, planning again gives %s", d.What, d.A, d.B))
	}
	return list, nil
}

func printPlanCheck(std streams, doc *planCheck) error {
	w, style := bufio.NewWriter(std.out), std.style()
	if doc.Fresh {
		fmt.Fprintf(w, "%s  the plan fits %s\n", style.Green("fresh"), shown(doc.Path))
	} else {
		fmt.Fprintf(w, "%s  the plan is not the one of %s\n", style.Red("stale"), shown(doc.Path))
	}
	const most = 5
	for i, d := range doc.Differences {
		if i == most {
			fmt.Fprintf(w, "  and %s more\n", ui.Count(len(doc.Differences)-most))
			break
		}
		fmt.Fprintf(w, "  %s\n", ui.Escape(d))
	}
	printProof(w, style, doc.Proof)
	return w.Flush()
}

func newPlanShow(std streams) *cobra.Command {
	var opts struct {
		rank             string
		tensors          []string
		json             bool
		families, widths bool
	}
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "print a plan that was kept",
		Long: `Print a plan that was kept, or the tensors of its ranks: with their types, shapes,
places in the arena and where they come from.`,
		Example: `  ckpt plan show k3-tp8.json.zst
  ckpt plan show k3-tp8.json.zst --rank 3 --tensor 'blk.5.*'
  ckpt plan show k3-tp8.json.zst --rank 0-7 --tensor '*.ssm_a' --json`,
		Annotations: map[string]string{exitStatus: `  0    it is printed, and proven again
  1    could not do it: a file that is no plan
  2    usage
  3    it is printed, and it is wrong
  130  interrupted`},
		Args: func(_ *cobra.Command, args []string) error { return want("plan show", args, "FILE") },
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := readPlan(args[0])
			if err != nil {
				return err
			}
			match, err := ui.NewMatcher(opts.tensors)
			if err != nil {
				return &usageError{err}
			}
			if opts.rank == "" && match != nil {
				opts.rank = fmt.Sprintf("0-%d", len(p.Ranks)-1)
			}
			ranks, err := parseRanks("--rank", opts.rank, len(p.Ranks))
			if err != nil {
				return err
			}
			if match != nil && !anyTensor(p, ranks, match) {
				return usagef("--tensor: no tensor of these ranks matches")
			}
			w := bufio.NewWriter(std.out)
			switch {
			case opts.json && ranks == nil:
				err = writePlanJSON(w, p, nil)
			case opts.json:
				err = writeJSON(w, tensorsDocument(p, ranks, match))
			case ranks != nil:
				printTensors(w, std.style(), p, ranks, match)
			default:
				printer := planPrinter{w: w, style: std.style(), plan: p, families: opts.families, widths: opts.widths, width: ui.TerminalWidth(std.out, 100)}
				printer.print(nil)
			}
			if err := errors.Join(err, w.Flush()); err != nil || p.Proof.OK() {
				return err
			}
			return errNo
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&opts.rank, "rank", "", "list the tensors of these `ranks`: 3, 0-3, 0,4")
	fs.StringArrayVar(&opts.tensors, "tensor", nil, "only tensors whose name on the rank or in the checkpoint matches `GLOB` or re:REGEX")
	fs.BoolVar(&opts.families, "families", false, "show every family of tensors, not only the groups")
	fs.BoolVar(&opts.widths, "degrees", false, "show which degrees work, and how wide the pieces of each axis are")
	fs.BoolVar(&opts.json, "json", false, "print one JSON document (ckpt.plan/v1, or ckpt.plan-tensors/v1 with --rank or --tensor)")
	return cmd
}

// planTensors is the document of plan show with ranks.
type planTensors struct {
	Schema  string          `json:"schema"`
	Tensors []*shard.Tensor `json:"tensors"`
}

func tensorsDocument(p *shard.Plan, ranks []int, match *ui.Matcher) planTensors {
	doc := planTensors{"ckpt.plan-tensors/v1", []*shard.Tensor{}}
	for _, r := range ranks {
		for t := range p.Tensors(r) {
			if wantsTensor(t, match) {
				doc.Tensors = append(doc.Tensors, t)
			}
		}
	}
	return doc
}

// anyTensor says whether a rank has a tensor that matches.
func anyTensor(p *shard.Plan, ranks []int, match *ui.Matcher) bool {
	for _, r := range ranks {
		for t := range p.Tensors(r) {
			if wantsTensor(t, match) {
				return true
			}
		}
	}
	return false
}

// wantsTensor matches a tensor by its own name and by those of its sources.
func wantsTensor(t *shard.Tensor, match *ui.Matcher) bool {
	if match.Match([]byte(t.Name)) {
		return true
	}
	for i := range t.Sources {
		if match.Match([]byte(t.Sources[i].Name)) {
			return true
		}
	}
	return false
}

func newPlanDiff(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "diff A B",
		Short:   "say in what two plans differ",
		Long:    `Say in what two plans differ: what they are of, how they split it, what ranks hold, and where it lies.`,
		Example: `  ckpt plan diff tp8.json.zst tp16.json.zst`,
		Annotations: map[string]string{exitStatus: `  0    they place the same bytes alike
  1    could not do it: a file that is no plan
  2    usage
  3    they differ
  130  interrupted`},
		Args: func(_ *cobra.Command, args []string) error { return want("plan diff", args, "A", "B") },
		RunE: func(cmd *cobra.Command, args []string) error { return runPlanDiff(args[0], args[1], asJSON, std) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document (ckpt.plan-diff/v1)")
	return cmd
}

func runPlanDiff(nameA, nameB string, asJSON bool, std streams) error {
	a, err := readPlan(nameA)
	if err != nil {
		return err
	}
	b, err := readPlan(nameB)
	if err != nil {
		return err
	}
	list := shard.Diff(a, b)
	if asJSON {
		err = writeJSON(std.out, struct {
			Schema      string             `json:"schema"`
			Differences []shard.Difference `json:"differences"`
		}{"ckpt.plan-diff/v1", append([]shard.Difference{}, list...)})
	} else {
		err = printPlanDiff(std, nameA, nameB, list)
	}
	if err == nil && len(list) > 0 {
		return errNo
	}
	return err
}

func printPlanDiff(std streams, a, b string, list []shard.Difference) error {
	w, style := bufio.NewWriter(std.out), std.style()
	if len(list) == 0 {
		fmt.Fprintf(w, "%s and %s place the same bytes alike\n", shown(a), shown(b))
		return w.Flush()
	}
	for _, d := range list {
		fmt.Fprintf(w, "%s\n  %s %s\n  %s %s\n", style.Bold(ui.Escape(d.What)), style.Red("-"), ui.Escape(d.A), style.Green("+"), ui.Escape(d.B))
	}
	return w.Flush()
}
