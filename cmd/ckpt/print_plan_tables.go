package main

import (
	"fmt"
	"io"
	"strings"

	"ckpt/internal/ui"
	"ckpt/shard"
)

// byFamily lists every family that is not skipped.
func (p *planPrinter) byFamily() {
	var t ui.Table
	t.Indent, t.Right = 2, "rllrlrl"
	head := []string{"count", "dtype", "shape", "on a rank", "action", "parts × copies", "family"}
	for i := range head {
		head[i] = p.style.Dim(head[i])
	}
	t.Row(head...)
	for i := range p.plan.Families {
		f := &p.plan.Families[i]
		if f.Action == shard.Skip {
			continue
		}
		action := "replicated"
		if f.Action == shard.Split {
			action = "split"
			if f.Axis != nil {
				action += fmt.Sprintf(" on %d", *f.Axis)
			}
		}
		t.Row(ui.Count(f.Count), f.DType, fmt.Sprint(f.Shape), ui.Count(f.PerRank), action, fmt.Sprintf("%d × %d", f.Parts, f.Copies), ui.Short(f.Pattern, nameWidth))
	}
	fmt.Fprintf(p.w, "\n%s\n", p.style.Bold("FAMILIES"))
	t.Write(p.w)
}

// degrees shows which degrees work, and how wide the pieces of each axis are:
// the width, and the largest power of two of which it is a multiple.
func (p *planPrinter) degrees() {
	fmt.Fprintf(p.w, "\n%s\n", p.style.Bold("DEGREES"))
	var t ui.Table
	t.Indent = 2
	for _, d := range p.plan.Degrees {
		word := p.style.Green("works")
		if !d.Works {
			word = p.style.Red("refused")
		}
		t.Row(fmt.Sprintf("TP%d", d.TP), word, ui.Escape(d.Reason))
	}
	t.Write(p.w)
	var w ui.Table
	w.Indent, w.Right = 2, "lrr"+strings.Repeat("r", len(p.plan.Degrees))
	head := []string{p.style.Dim("axis"), p.style.Dim("size"), p.style.Dim("group")}
	for _, d := range p.plan.Degrees {
		head = append(head, p.style.Dim(fmt.Sprintf("TP%d", d.TP)))
	}
	w.Row(append(head, p.style.Dim("of"))...)
	for i := range p.plan.Axes {
		a := &p.plan.Axes[i]
		name := "rows"
		if a.Inner {
			name = "columns"
		}
		row := []string{name, ui.Count(a.Size), groupSize(a.Group)}
		for _, x := range a.Widths {
			row = append(row, p.pieceWidth(a, x))
		}
		of := ui.Short(a.Pattern, nameWidth)
		if a.Families > 1 {
			of += fmt.Sprintf(" and %d more", a.Families-1)
		}
		w.Row(append(row, of)...)
	}
	fmt.Fprintln(p.w)
	w.Write(p.w)
	fmt.Fprintf(p.w, "  %s\n", p.style.Dim("width of a piece as stored, and after the slash the largest power of two that divides it where that is below 128"))
}

func groupSize(n int64) string {
	if n == 1 {
		return ""
	}
	return ui.Count(n)
}

// kernelAlign is the multiple that tiled kernels want of the pieces of an inner
// axis.
const kernelAlign = 128

func (p *planPrinter) pieceWidth(a *shard.Axis, x shard.Width) string {
	switch {
	case x.Size == 0:
		return p.style.Red("no")
	case a.Inner && x.Align < kernelAlign:
		return p.style.Yellow(fmt.Sprintf("%s/%d", ui.Count(x.Size), x.Align))
	}
	return ui.Count(x.Size)
}

// printTensors lists the tensors of ranks.
func printTensors(w io.Writer, style ui.Style, p *shard.Plan, ranks []int, match *ui.Matcher) {
	c := ui.Columns{Right: "rrrllll"}
	head := []string{"rank", "arena offset", "bytes", "dtype", "shape", "range", "tensor"}
	for i := range head {
		head[i] = style.Dim(head[i])
	}
	lines := [][]string{head}
	c.Fit(head...)
	for _, r := range ranks {
		for t := range p.Tensors(r) {
			if !wantsTensor(t, match) {
				continue
			}
			line := []string{fmt.Sprint(r), ui.Count(t.Offset), ui.Count(t.Bytes), t.DType, fmt.Sprint(t.Shape), rangeOf(t), tensorName(t)}
			c.Fit(line...)
			lines = append(lines, line)
		}
	}
	var buf []byte
	for _, l := range lines {
		buf = c.Append(buf[:0], l...)
		fmt.Fprintf(w, "%s", buf)
	}
}

func rangeOf(t *shard.Tensor) string {
	switch {
	case t.Axis == nil:
		return "whole"
	case len(t.Range) != 2:
		return fmt.Sprintf("axis %d", *t.Axis)
	}
	return fmt.Sprintf("axis %d: %d-%d of %d", *t.Axis, t.Range[0], t.Range[1], t.Global[*t.Axis])
}

// tensorName is the name on the rank and, where that is another, in the
// checkpoint.
func tensorName(t *shard.Tensor) string {
	name := ui.Short(t.Name, nameWidth)
	from := ""
	switch {
	case len(t.Sources) > 1:
		from = fmt.Sprintf("%s and %d more", ui.Short(t.Sources[0].Name, nameWidth), len(t.Sources)-1)
	case len(t.Sources) == 1 && t.Sources[0].Name != t.Name:
		from = ui.Short(t.Sources[0].Name, nameWidth)
	}
	if t.Transform != "" {
		from = t.Transform + " of " + from
	}
	if from == "" {
		return name
	}
	return name + "  ← " + from
}
