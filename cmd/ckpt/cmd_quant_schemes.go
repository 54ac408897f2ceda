package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ckpt/internal/ui"
	"ckpt/quant"
)

func newQuantSchemes(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "schemes [NAME]",
		Short: "list the schemes, or say all about one",
		Long: `List the schemes: the system of each, the release whose bytes it gives, and its
formats. With a name, say all about that one: the rule of the scale in each
format and its threshold, ties, zeros, what the ends of the range and NaN do,
layout and names of the tensors.`,
		Example: `  ckpt quant schemes
  ckpt quant schemes quark
  ckpt quant schemes --json | jq '.schemes[].name'`,
		Annotations: map[string]string{exitStatus: statuses(exitDone, exitUsage)},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, s := range quant.Schemes() {
				out = append(out, s.Name+"\t"+s.System)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return want("quant schemes", args, "NAME")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runQuantSchemes(args, asJSON, std) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document (ckpt.quant-schemes/v1)")
	return cmd
}

// quantSchemes is the document.
type quantSchemes struct {
	Schema  string        `json:"schema"`
	Schemes []quantScheme `json:"schemes"`
}

type quantScheme struct {
	Name    string        `json:"name"`
	System  string        `json:"system"`
	Release string        `json:"release"`
	Note    string        `json:"note"`
	Default []string      `json:"default_for"`
	Formats []quantRecipe `json:"formats"`
}

type quantRecipe struct {
	Format    string   `json:"format"`
	Rule      string   `json:"rule"`
	K         *int     `json:"k"`
	Threshold *float64 `json:"threshold"` // null: the rule has none
	Ties      string   `json:"ties"`
	Zero      int      `json:"zero_block"`
	Signs     string   `json:"minus_zero"`
	Ends      string   `json:"ends"`
	NonFinite string   `json:"non_finite"`
	Layout    string   `json:"layout"`
	Codes     string   `json:"codes"`
	Scales    string   `json:"scales"`
	Vectors   []string `json:"vectors"`
}

func describeScheme(s *quant.Scheme) quantScheme {
	d := quantScheme{Name: s.Name, System: s.System, Release: s.Release, Note: s.Doc, Default: []string{}}
	for _, r := range s.Recipes {
		if quant.DefaultScheme(r.Format) == s {
			d.Default = append(d.Default, r.Format.String())
		}
		info := r.Layout.Info()
		one := quantRecipe{
			Format: r.Format.String(), Rule: r.Rule.String(), Ties: r.Tie.String(), Zero: int(r.Zero), Signs: r.Signs.String(),
			Ends: r.Clamp, NonFinite: r.Input, Layout: info.Name, Codes: info.Codes, Scales: info.Scales,
			Vectors: append([]string{}, r.Rows...),
		}
		if r.Format == quant.NVFP4 {
			one.Rule = "maximum / 6 in units of the tensor's scale, to E4M3"
		} else if k, t := r.Rule.Threshold(r.Format.Element()); r.Rule != quant.MSE {
			one.K = &k
			if m := float64(t) / (1 << 23); m < 1 {
				one.Threshold = &m
			}
		}
		d.Formats = append(d.Formats, one)
	}
	return d
}

func runQuantSchemes(args []string, asJSON bool, std streams) error {
	chosen := quant.Schemes()
	if len(args) == 1 {
		s, err := schemeNamed(args[0])
		if err != nil {
			return err
		}
		chosen = []*quant.Scheme{s}
	}
	doc := quantSchemes{Schema: "ckpt.quant-schemes/v1"}
	for _, s := range chosen {
		doc.Schemes = append(doc.Schemes, describeScheme(s))
	}
	w := bufio.NewWriter(std.out)
	switch {
	case asJSON:
		if err := writeJSON(w, doc); err != nil {
			return err
		}
	case len(args) == 1:
		printScheme(w, std.style(), doc.Schemes[0])
	default:
		listSchemes(w, doc.Schemes)
	}
	return w.Flush()
}

// schemeNamed finds a scheme or says which was meant.
func schemeNamed(name string) (*quant.Scheme, error) {
	if s, ok := quant.SchemeNamed(name); ok {
		return s, nil
	}
	var names []string
	for _, s := range quant.Schemes() {
		names = append(names, s.Name)
	}
	err := usagef("no scheme %q", name)
	if near := ui.Nearest(name, slices.Values(names), 1); len(near) > 0 {
		return nil, hint(err, "did you mean %s? ckpt quant schemes lists all", near[0])
	}
	return nil, hint(err, "ckpt quant schemes lists all")
}

func listSchemes(w io.Writer, schemes []quantScheme) {
	var t ui.Table
	for _, s := range schemes {
		var formats []string
		for _, r := range s.Formats {
			formats = append(formats, r.Format)
		}
		name := strings.Join(formats, " ")
		if len(formats) > 4 {
			name = fmt.Sprintf("%s and %d more", formats[0], len(formats)-1)
		}
		t.Row(s.Name, s.System, s.Release, name)
	}
	t.Write(w) // the error stays in the buffer
}

func printScheme(w io.Writer, style ui.Style, s quantScheme) {
	fmt.Fprintf(w, "%s  %s, %s\n", style.Bold(s.Name), s.System, s.Release)
	for _, line := range ui.Wrap(s.Note, textWidth-2) {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if len(s.Default) > 0 {
		fmt.Fprintf(w, "  the default for %s\n", strings.Join(s.Default, ", "))
	}
	for _, r := range s.Formats {
		fmt.Fprintf(w, "\n%s\n", style.Bold(r.Format))
		t := ui.Table{Columns: ui.Columns{Indent: 2}}
		t.Row("scale", scaleText(r))
		t.Row("ties", r.Ties)
		t.Row("zero block", fmt.Sprintf("byte %d", r.Zero))
		t.Row("minus zero", r.Signs)
		t.Row("ends", r.Ends)
		t.Row("NaN, Inf", r.NonFinite+"; refused unless asked for")
		t.Row("layout", r.Layout)
		t.Row("tensors", strings.TrimSuffix(r.Codes+", "+r.Scales, ", "))
		for _, v := range r.Vectors {
			t.Row("vectors", v)
		}
		t.Write(w) // the error stays in the buffer
	}
}

// scaleText is the rule with its integer form.
func scaleText(r quantRecipe) string {
	switch {
	case r.K == nil:
		return r.Rule
	case r.Threshold == nil:
		return fmt.Sprintf("%s: max(0, e - %d)", r.Rule, *r.K)
	default:
		return fmt.Sprintf("%s: max(0, e - %d + (m >= %.7g))", r.Rule, *r.K, *r.Threshold)
	}
}
