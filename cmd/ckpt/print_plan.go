package main

import (
	"fmt"
	"io"
	"strings"

	"ckpt/internal/ui"
	"ckpt/shard"
)

// planPrinter writes a plan for people. Errors of the writer stay in it until it
// is flushed.
type planPrinter struct {
	w        io.Writer
	style    ui.Style
	plan     *shard.Plan
	families bool
	widths   bool
	width    int // columns
}

func (p *planPrinter) print(ranks []int) {
	p.header(ranks)
	p.groups()
	p.bars()
	if p.families {
		p.byFamily()
	}
	if p.widths {
		p.degrees()
	}
	p.skipped()
	if len(p.plan.Notes) > 0 {
		fmt.Fprintf(p.w, "\n%s\n", p.style.Bold("NOTES"))
		for _, n := range p.plan.Notes {
			for i, line := range ui.Wrap(ui.Escape(n), textWidth-4) {
				fmt.Fprintf(p.w, "%s%s\n", map[bool]string{true: "  ", false: "    "}[i == 0], line)
			}
		}
	}
	fmt.Fprintln(p.w)
	printProof(p.w, p.style, p.plan.Proof)
	if ranks != nil {
		fmt.Fprintln(p.w)
		printTensors(p.w, p.style, p.plan, ranks, nil)
	}
}

func (p *planPrinter) header(ranks []int) {
	x := p.plan
	fmt.Fprintln(p.w, p.style.Bold(shown(x.Source.Path)))
	var t ui.Table
	t.Indent = 2
	row := func(name, text string) { t.Row(p.style.Dim(name), ui.Escape(text)) }
	row("profile", profileName(x))
	row("topology", p.topology())
	row("layout", layoutName(x))
	row("source", fmt.Sprintf("%s, %s, %s", ui.Plural(len(x.Source.Files), "file"), ui.Plural(x.Totals.Tensors, "tensor"), ui.Size(x.Totals.Source)))
	row("read", fmt.Sprintf("%s, in %s", ui.Size(x.Totals.Read), ui.Plural(x.Totals.Extents, "extent")))
	full := x.Fullest()
	each := "each rank"
	if x.PP > 1 {
		each = "fullest rank"
	}
	row(each, fmt.Sprintf("%s, %s", ui.Size(full.Bytes), ui.Plural(full.Tensors, "tensor")))
	row("", fmt.Sprintf("%s of them replicated; padding %s", ui.Plural(x.Totals.Replicated, "byte"), ui.Plural(x.Totals.Padding, "byte")))
	row("all ranks", fmt.Sprintf("%s, %s more than one copy", ui.Size(x.Totals.Device), ui.GB(x.Totals.Repeated)))
	if ranks != nil {
		row("ranks "+rankList(ranks), nodeText(x, ranks))
	}
	t.Write(p.w)
}

// nodeText says what a machine with these ranks needs.
func nodeText(p *shard.Plan, ranks []int) string {
	n, err := p.Node(ranks)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("hold %s, for which %s are read", ui.Size(n.Device), ui.Size(n.Read))
}

func profileName(x *shard.Plan) string {
	if x.Profile == shard.RulesName {
		return "none fits: split by the roles of modules"
	}
	return x.Profile
}

func layoutName(x *shard.Plan) string {
	return fmt.Sprintf("%s, A_log %s", x.Layout, map[shard.ALog]string{shard.ALogStored: "as stored", shard.ALogHeads: "narrowed to heads"}[x.ALog])
}

func (p *planPrinter) topology() string {
	x := p.plan
	text := fmt.Sprintf("%v: %s", x.Topology(), ui.Plural(len(x.Ranks), "rank"))
	if x.PP > 1 {
		text += fmt.Sprintf(", %d stages balanced by bytes", x.PP)
	}
	return text
}

// marks stand for the groups in bars, so that bars need no colour.
const marks = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func mark(i int) string {
	if i < len(marks) {
		return marks[i : i+1]
	}
	return "?"
}

// groups is the table that is read at a glance.
func (p *planPrinter) groups() {
	var t ui.Table
	t.Indent, t.Right = 2, "llrrrrl"
	head := []string{"", "group", "in the checkpoint", "on a rank", "", "share", "action"}
	for i := range head {
		head[i] = p.style.Dim(head[i])
	}
	t.Row(head...)
	total := int64(0)
	full := p.fullestStage()
	for i := range p.plan.Groups {
		g := &p.plan.Groups[i]
		if g.Action == shard.Skip {
			continue
		}
		n := g.Stages[full]
		total += g.Total
		t.Row(p.colour(i, mark(i)), ui.Escape(g.Group), ui.Count(g.Total), ui.Count(n), ui.GiB(n), percent(n, p.plan.Stages[full].Bytes), actionWord(g.Action))
	}
	bytes := p.plan.Stages[full].Bytes
	t.Row("", p.style.Bold("total"), ui.Count(total), ui.Count(bytes), ui.GiB(bytes), "", "")
	fmt.Fprintf(p.w, "\n%s\n", p.style.Bold("BYTES"))
	t.Write(p.w)
}

// fullestStage is the stage whose ranks hold most.
func (p *planPrinter) fullestStage() int { return p.plan.Fullest().Stage }

func percent(n, of int64) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

func actionWord(a shard.Action) string {
	switch a {
	case shard.Split:
		return "split"
	case shard.Replicate:
		return "replicated"
	case shard.Mixed:
		return "split, partly replicated"
	}
	return string(a)
}

func (p *planPrinter) colour(i int, text string) string {
	switch i % 4 {
	case 0:
		return p.style.Cyan(text)
	case 1:
		return p.style.Green(text)
	case 2:
		return p.style.Yellow(text)
	}
	return p.style.Bold(text)
}

// mostBars is how many ranks have a bar of their own.
const mostBars = 16

// bars draws what a rank holds, a letter for each group, to one scale.
func (p *planPrinter) bars() {
	fmt.Fprintf(p.w, "\n%s\n", p.style.Bold("RANKS"))
	full := p.plan.Fullest().Bytes
	width := max(20, min(p.width, 120)-36)
	var t ui.Table
	t.Indent, t.Right = 2, "rlr"
	for s := range p.plan.Stages {
		stage := &p.plan.Stages[s]
		first, last := stage.First, stage.First+stage.Ranks-1
		if len(p.plan.Ranks) <= mostBars {
			for r := first; r <= last; r++ {
				t.Row(fmt.Sprint(r), p.bar(s, full, width), ui.GiB(stage.Bytes))
			}
			continue
		}
		t.Row(rankRange(first, last), p.bar(s, full, width), ui.GiB(stage.Bytes))
	}
	t.Write(p.w)
	if p.plan.PP > 1 {
		p.stages()
	}
}

func rankRange(first, last int) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// bar is as long as the bytes of a rank; each group has its share, rounded so
// that the whole fits.
func (p *planPrinter) bar(stage int, full int64, width int) string {
	var b strings.Builder
	sum, drawn := int64(0), 0
	for i := range p.plan.Groups {
		g := &p.plan.Groups[i]
		if g.Action == shard.Skip || full == 0 {
			continue
		}
		sum += g.Stages[stage]
		end := int((float64(sum)/float64(full))*float64(width) + 0.5)
		b.WriteString(p.colour(i, strings.Repeat(mark(i), max(0, end-drawn))))
		drawn = max(drawn, end)
	}
	return b.String()
}

func (p *planPrinter) stages() {
	var t ui.Table
	t.Indent, t.Right = 2, "llrrr"
	t.Row(p.style.Dim("ranks"), p.style.Dim("layers"), p.style.Dim("bytes"), p.style.Dim("padding"), p.style.Dim("tensors"))
	for i := range p.plan.Stages {
		s := &p.plan.Stages[i]
		t.Row(rankRange(s.First, s.First+s.Ranks-1), rankRange(s.FirstLayer, max(s.FirstLayer, s.EndLayer-1)), ui.Count(s.Bytes), ui.Count(s.Arena-s.Bytes), ui.Count(s.Tensors))
	}
	fmt.Fprintln(p.w)
	t.Write(p.w)
}

// skipped lists what is not wanted.
func (p *planPrinter) skipped() {
	var t ui.Table
	t.Indent, t.Right = 2, "lrrl"
	for _, s := range skippedFamilies(p.plan) {
		t.Row(ui.Escape(s.group), ui.Plural(s.count, "tensor"), ui.Plural(s.bytes, "byte"), ui.Escape(s.reason))
	}
	if t.Len() == 0 {
		return
	}
	fmt.Fprintf(p.w, "\n%s  %s\n", p.style.Bold("SKIPPED"), ui.Size(p.plan.Totals.Skipped))
	t.Write(p.w)
}

// skippedGroup sums skipped families of one reason.
type skippedGroup struct {
	group, reason string
	count, bytes  int64
}

func skippedFamilies(x *shard.Plan) []*skippedGroup {
	var list []*skippedGroup
	known := map[string]*skippedGroup{}
	for i := range x.Families {
		f := &x.Families[i]
		if f.Action != shard.Skip {
			continue
		}
		key := f.Group + "\x00" + f.Reason
		s := known[key]
		if s == nil {
			s = &skippedGroup{group: f.Group, reason: f.Reason}
			known[key] = s
			list = append(list, s)
		}
		s.count += f.Count
		s.bytes += f.Total
	}
	return list
}

// printProof prints what was proven, and what was not.
func printProof(w io.Writer, style ui.Style, proof *shard.Proof) {
	if proof == nil {
		return
	}
	fmt.Fprintln(w, style.Bold("PROOF"))
	for _, l := range []struct {
		ok   bool
		text string
	}{
		{proof.CoveredOnce, "every wanted byte is read once, all others are skipped"},
		{proof.WrittenOnce, "every byte of every tensor on every rank is written once"},
		{proof.EqualRanks, "the ranks of each stage hold equally many bytes"},
		{proof.ScaleAligned, "no group of elements is parted from its scale"},
		{proof.Totals, "the numbers above are those of the copy program"},
	} {
		word := style.Green("yes")
		if !l.ok {
			word = style.Red("NO ")
		}
		fmt.Fprintf(w, "  %s  %s\n", word, l.text)
	}
	for _, f := range proof.Faults {
		fmt.Fprintf(w, "       %s\n", ui.Escape(f))
	}
}
