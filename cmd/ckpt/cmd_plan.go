package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/internal/newfile"
	"ckpt/internal/ui"
	"ckpt/shard"
)

type planOptions struct {
	planning
	rank      string
	out       string
	svg, html string
	families  bool
	widths    bool
	json      bool

	set map[string]bool
}

func (o *planOptions) addFlags(fs *pflag.FlagSet) {
	o.planning.addFlags(fs, "files to read at the same time")
	fs.StringVar(&o.rank, "rank", "", "list the tensors of these `ranks`: 3, 0-3, 0,4")
	fs.StringVarP(&o.out, "out", "o", "", "write the plan with its copy program to a new `FILE`, compressed if it ends in .zst")
	fs.StringVar(&o.svg, "svg", "", "draw the layout into a new `FILE`")
	fs.StringVar(&o.html, "html", "", "write a page with the layout and all numbers into a new `FILE`")
	fs.BoolVar(&o.families, "families", false, "show every family of tensors, not only the groups")
	fs.BoolVar(&o.widths, "degrees", false, "show which degrees work, and how wide the pieces of each axis are")
	fs.BoolVar(&o.json, "json", false, "print one JSON document (ckpt.plan/v1), without the copy program")
}

func newPlan(g *globals, std streams) *cobra.Command {
	var opts planOptions
	cmd := &cobra.Command{
		Use:   "plan PATH",
		Short: "say which bytes of a checkpoint go to which device, and prove it",
		Long: `Say which bytes of a checkpoint go to which device, and prove it: every wanted
byte is read once, every byte on every rank is written once, the ranks of a stage
are equal, and no group of elements is parted from its scale. Headers alone are
read, and nothing is written but what -o, --svg and --html name.

A family's profile says how its tensors are split; plain transformers without one
are split by the roles of their modules. What neither knows is an error.

Of a plan that was kept: ckpt plan check FILE PATH says whether it still fits the
checkpoint, ckpt plan show FILE prints it, ckpt plan diff A B compares two.`,
		GroupID: groupLook,
		Example: `  ckpt plan --tp 8 /raid/weights/kimi-k3
  ckpt plan --tp 8 -o k3-tp8.json.zst --html k3-tp8.html DIR
  ckpt plan --tp 8 --rank 3 --tensor '*.layers.5.*' DIR
  ckpt plan --tp 16 --ep 16 --pp 2 --json DIR | jq .ranks
  ckpt plan check k3-tp8.json.zst DIR`,
		Annotations: map[string]string{exitStatus: planStatuses},
		Args:        func(_ *cobra.Command, args []string) error { return want("plan", opts.join(args), "PATH") },
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.set = map[string]bool{}
			cmd.Flags().Visit(func(f *pflag.Flag) { opts.set[f.Name] = true })
			if err := opts.check(); err != nil {
				return err
			}
			return runPlan(cmd.Context(), g, &opts, opts.join(args)[0], std)
		},
	}
	opts.addFlags(cmd.Flags())
	cmd.AddCommand(newPlanCheck(g, std), newPlanShow(std), newPlanDiff(std))
	return cmd
}

const planStatuses = `  0    the plan is made and proven
  1    could not do it: an unreadable or incomplete checkpoint, tensors that no
       rule knows, a file that exists
  2    usage
  3    a degree that cannot be split; the reason and the degrees that work are
       printed
  130  interrupted`

// check reads the values of the flags.
func (o *planOptions) check() error {
	for _, f := range []struct{ name, value string }{{"out", o.out}, {"svg", o.svg}, {"html", o.html}} {
		if o.set[f.name] && f.value == "" {
			return usagef("--%s: the name of the file is empty", f.name)
		}
	}
	return o.planning.check(o.set)
}

func runPlan(ctx context.Context, g *globals, o *planOptions, path string, std streams) error {
	t, err := o.topology()
	if err != nil {
		return err
	}
	ranks, err := parseRanks("--rank", o.rank, t.Ranks())
	if err != nil {
		return err
	}
	if err := newDestinations(o.out, o.svg, o.html); err != nil {
		return err
	}
	c, err := o.open(ctx, g.meter(std), path)
	if err != nil {
		return err
	}
	_, p, err := o.make(c, t, path)
	if err != nil {
		return err
	}
	p.Proof = p.Prove()
	if err := o.write(p); err != nil {
		return err
	}
	w := bufio.NewWriter(std.out)
	switch {
	case o.json:
		err = writePlanJSON(w, p, ranks)
	case g.quiet && o.out != "":
		_, err = fmt.Fprintln(w, o.out)
	default:
		printer := planPrinter{w: w, style: std.style(), plan: p, families: o.families, widths: o.widths, width: ui.TerminalWidth(std.out, 100)}
		printer.print(ranks)
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if !p.Proof.OK() {
		return errNo
	}
	return nil
}

// write makes the files that the flags name.
func (o *planOptions) write(p *shard.Plan) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{o.out, func(w io.Writer) error { return p.Write(w, shard.Compressed(o.out)) }},
		{o.svg, func(w io.Writer) error { return writePlanSVG(w, p) }},
		{o.html, func(w io.Writer) error { return writePlanHTML(w, p) }},
	} {
		if f.name == "" {
			continue
		}
		if err := newfile.WriteFrom(f.name, f.write); err != nil {
			return notOver(err, f.name)
		}
	}
	return nil
}

// writePlanJSON prints the document without its program; of ranks that were
// asked for, with their tensors.
func writePlanJSON(w io.Writer, p *shard.Plan, ranks []int) error {
	doc := *p
	doc.Program = nil
	if len(ranks) == 0 {
		return writeJSON(w, &doc)
	}
	list := []*shard.Tensor{}
	for _, r := range ranks {
		for t := range p.Tensors(r) {
			list = append(list, t)
		}
	}
	node, err := p.Node(ranks)
	if err != nil {
		return err
	}
	return writeJSON(w, struct {
		*shard.Plan `json:",inline"`
		Node        *shard.Node     `json:"node"`
		Tensors     []*shard.Tensor `json:"tensors"`
	}{&doc, node, list})
}

// rankList writes ranks as parseRanks reads them, sorted: 0-3,6.
func rankList(ranks []int) string {
	ranks = slices.Compact(slices.Sorted(slices.Values(ranks)))
	var parts []string
	for i := 0; i < len(ranks); {
		k := i + 1
		for k < len(ranks) && ranks[k] == ranks[k-1]+1 {
			k++
		}
		part := strconv.Itoa(ranks[i])
		if k > i+1 {
			part += "-" + strconv.Itoa(ranks[k-1])
		}
		parts, i = append(parts, part), k
	}
	return strings.Join(parts, ",")
}
