package main

import (
	"bufio"
	"fmt"
	"math"
	"strings"

	"ckpt/internal/ui"
	"ckpt/shard"
)

// estimatePrinter writes an estimate for people.
type estimatePrinter struct {
	w     *bufio.Writer
	style ui.Style
	e     *shard.Estimate
	opts  *estimateOptions
	width int
	quiet bool
}

func (p *estimatePrinter) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p *estimatePrinter) print() {
	if p.quiet {
		p.verdict()
		return
	}
	p.head()
	p.terms()
	p.bars()
	p.verdict()
	p.most()
	p.host()
	if p.opts.why {
		p.formulas()
		p.inputs()
	}
	p.notes()
}

// head says what is estimated, and how sizes and counts were read.
func (p *estimatePrinter) head() {
	e := p.e
	caches := ""
	if e.Caches != e.Profile {
		caches = ", caches as in " + e.Caches
	}
	p.line("%s  %s%s, %s, %s × %s, %s",
		p.style.Bold(shown(e.Source)), e.Profile, caches, p.ranks(), ui.Plural(e.Context, "token"), ui.Plural(e.Seqs, "sequence"), e.KVDType)
	if e.Device != nil {
		p.line("%s = %s (%s) a device", *e.Device, ui.Plural(*e.PerRank.Memory, "byte"), ui.GiB(*e.PerRank.Memory))
	}
	for _, echo := range p.opts.echoes {
		p.line("%s", echo)
	}
}

func (p *estimatePrinter) ranks() string {
	e := p.e
	text := fmt.Sprintf("TP %d", e.TP)
	if e.EP > 1 {
		text += fmt.Sprintf(", EP %d", e.EP)
	}
	if e.PP > 1 {
		text += fmt.Sprintf(", PP %d", e.PP)
	}
	if e.EP > 1 || e.PP > 1 {
		text += fmt.Sprintf(" (%s)", ui.Plural(e.Ranks, "device"))
	}
	return text
}

// term is a line of the table, and where it stands in the bar.
type term struct {
	name  string
	bytes int64
	kind  int // of segments
	note  string
}

// The kinds of segments of a bar.
const (
	barWeights = iota
	barCaches
	barStates
	barAssumed
	barFree
)

func terms(r *shard.PerRank) []term {
	return []term{
		{"weights", r.Weights, barWeights, ""}, {"padding", r.Padding, barWeights, ""},
		{"KV cache", r.KVCache, barCaches, ""}, {"MLA cache", r.MLACache, barCaches, ""},
		{"recurrent state", r.Recurrent, barStates, ""}, {"convolution state", r.Conv, barStates, ""},
		{"activations", r.Activations, barAssumed, "assumed"}, {"workspace", r.Workspace, barAssumed, "assumed"},
	}
}

// terms writes what the fullest rank holds. Caches that the model does not
// have are left out.
func (p *estimatePrinter) terms() {
	r := &p.e.PerRank
	t := ui.Table{Columns: ui.Columns{Right: "lrrrl", Indent: 2}}
	whole := r.Total
	of := "of total"
	if r.Memory != nil {
		whole, of = *r.Memory, "of memory"
	}
	row := func(name string, n int64, note string) {
		t.Row(name, ui.Count(n), ui.GB(n), share(n, whole), note)
	}
	t.Row("a rank", "bytes", "", of, "")
	for _, x := range terms(r) {
		if x.kind == barCaches && x.bytes == 0 || x.kind == barStates && x.bytes == 0 {
			continue
		}
		if x.name == "workspace" && p.opts.demand.Reserve.Set {
			x.note = "reserved as asked"
		}
		row(x.name, x.bytes, x.note)
	}
	row("total", r.Total, "")
	if r.Memory != nil {
		note := ""
		if u := p.opts.demand.MemUtil; u != 0 && u != shard.Whole {
			note = u.String() + " of it may be used"
		}
		row("memory", *r.Memory, note)
		row("headroom", *r.Headroom, "")
	}
	p.line("")
	t.Write(p.w)
}

func share(n, of int64) string {
	if of <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// verdict says whether it fits.
func (p *estimatePrinter) verdict() {
	r := &p.e.PerRank
	if !p.quiet {
		p.line("")
	}
	switch {
	case p.e.Fits == nil:
		p.line("%s a rank; --device or --memory says whether that fits", ui.Size(r.Total))
	case *p.e.Fits:
		p.line("%s: %s of headroom a rank", p.style.Green("fits"), ui.Size(*r.Headroom))
	default:
		p.line("%s: %s short a rank", p.style.Red("does not fit"), ui.Size(-*r.Headroom))
		if !p.quiet && p.e.Solved != shard.SolveTP {
			p.line("%s says how many ranks it takes", p.style.Cyan("--solve tp"))
		}
	}
}

// most says how much would fit.
func (p *estimatePrinter) most() {
	e := p.e
	if n := e.MaxContext; n != nil {
		bound := ""
		if *n == e.ConfigMax {
			bound = ", the config's own maximum"
		}
		p.line("most tokens for %s: %s%s", ui.Plural(e.Seqs, "sequence"), ui.Count(*n), bound)
	}
	if n := e.MaxSeqs; n != nil {
		p.line("most sequences of %s: %s", ui.Plural(e.Context, "token"), ui.Count(*n))
	}
	if e.Solved == shard.SolveTP && *e.Fits {
		p.line("least tensor parallelism that fits: %d", e.TP)
	}
}

func (p *estimatePrinter) host() {
	h := &p.e.Host
	p.line("host: %s of RAM while it loads (assumed), %s of files", ui.GiB(h.RAM), ui.Size(h.Disk))
	if d := p.e.LoadDuration(); d > 0 {
		p.line("shortest load: %s", ui.Duration(d))
	}
}

func (p *estimatePrinter) formulas() {
	p.line("\n%s", p.style.Bold("formulas"))
	for _, f := range p.e.Formulas {
		assumed := ""
		if f.Assumed {
			assumed = ", assumed"
		}
		p.line("  %s (%s%s)", f.Name, f.Term, assumed)
		p.line("    %s", f.Text)
		p.line("    %s = %s bytes", f.Values, ui.Count(f.Bytes))
		if note := strings.TrimPrefix(f.Note, "assumed: "); note != "" {
			p.line("    %s", p.style.Dim(note))
		}
	}
}

func (p *estimatePrinter) inputs() {
	p.line("\n%s", p.style.Bold("inputs"))
	t := ui.Table{Columns: ui.Columns{Right: "lrl", Indent: 2}}
	for _, in := range p.e.Inputs {
		value := fmt.Sprint(in.Value)
		switch v := in.Value.(type) {
		case int64:
			value = ui.Count(v)
		case []int64:
			value = fmt.Sprintf("%d values", len(v))
		}
		t.Row(in.Name, value, ui.Escape(in.Source))
	}
	t.Write(p.w)
}

func (p *estimatePrinter) notes() {
	for _, text := range append(p.e.Notes, p.e.Host.Problems...) {
		p.line("%s %s", p.style.Yellow("note:"), ui.Escape(text))
	}
}

// bars draws what a rank of each stage holds, stacked.
func (p *estimatePrinter) bars() {
	whole := int64(1)
	for i := range p.e.Stages {
		whole = max(whole, p.e.Stages[i].PerRank.Total)
	}
	if m := p.e.PerRank.Memory; m != nil {
		whole = max(whole, *m)
	}
	p.line("")
	var labels ui.Columns
	for i := range p.e.Stages {
		labels.Fit(rankLabel(&p.e.Stages[i]))
	}
	for i := range p.e.Stages {
		s := &p.e.Stages[i]
		label := strings.TrimSuffix(string(labels.Append(nil, rankLabel(s), "|")), "|\n")
		p.line("  %s%s", label, p.bar(&s.PerRank, whole, p.barWidth(ui.Width(label))))
	}
	p.line("  %s", p.legend())
}

func rankLabel(s *shard.Use) string {
	if s.Ranks == 1 {
		return fmt.Sprintf("rank %d", s.FirstRank)
	}
	return fmt.Sprintf("ranks %d-%d", s.FirstRank, s.FirstRank+s.Ranks-1)
}

func (p *estimatePrinter) barWidth(label int) int { return min(72, max(16, p.width-label-4)) }

// segments say how each kind looks, and what it is called.
var segments = [...]struct {
	glyph, name string
}{
	barWeights: {"█", "weights"}, barCaches: {"▓", "caches"}, barStates: {"▒", "states"}, barAssumed: {"░", "assumed"}, barFree: {"·", "free"},
}

func (p *estimatePrinter) paint(kind, n int) string {
	text := strings.Repeat(segments[kind].glyph, n)
	switch kind {
	case barWeights:
		return p.style.Cyan(text)
	case barCaches, barStates:
		return p.style.Green(text)
	case barAssumed:
		return p.style.Yellow(text)
	}
	return p.style.Dim(text)
}

// bar draws a rank to the scale of whole. Where it does not fit, a stroke
// stands where the memory ends.
func (p *estimatePrinter) bar(r *shard.PerRank, whole int64, width int) string {
	var kinds [barFree + 1]int64
	for _, x := range terms(r) {
		kinds[x.kind] += x.bytes
	}
	limit := -1
	if r.Memory != nil && r.Total > *r.Memory {
		limit = column(*r.Memory, whole, width)
	}
	kinds[barFree] = whole - r.Total
	var out strings.Builder
	sum, at := int64(0), 0
	for kind, n := range kinds {
		sum += n
		end := column(sum, whole, width)
		if at <= limit && limit < end {
			out.WriteString(p.paint(kind, limit-at) + p.style.Red("|"))
			at = limit + 1
		}
		out.WriteString(p.paint(kind, end-at))
		at = max(at, end)
	}
	return out.String()
}

// column is where n of whole stands in a bar.
func column(n, whole int64, width int) int {
	return int(math.Round(float64(n) / float64(whole) * float64(width)))
}

func (p *estimatePrinter) legend() string {
	var parts []string
	for kind, s := range segments {
		parts = append(parts, p.paint(kind, 1)+" "+s.name)
	}
	if r := p.e.PerRank; r.Memory != nil && r.Total > *r.Memory {
		parts = append(parts, p.style.Red("|")+" memory")
	}
	return strings.Join(parts, "  ")
}
