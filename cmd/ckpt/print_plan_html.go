package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"

	"ckpt/internal/ui"
	"ckpt/shard"
)

// planStyle is all the style that the page has. Light and dark follow the
// reader's own setting; the drawing stays on white.
const planStyle = `:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1240px;padding:0 1rem}
h1{font-size:1.4rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;text-align:left;border-bottom:1px solid #8884}td.n{white-space:nowrap}
th{font-weight:600}td.n,th.n{text-align:right}
.sum{display:grid;grid-template-columns:repeat(auto-fit,minmax(320px,1fr));gap:.8rem;margin:1rem 0}
.card{border:1px solid #8886;border-radius:8px;padding:.7rem 1rem}.card b{display:block;font-size:1.15rem;font-variant-numeric:tabular-nums}
.card span{opacity:.7;font-size:.9rem}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.5em;vertical-align:-.05em}
.yes{color:#228833;font-weight:600}.no{color:#cc3344;font-weight:600}
td:first-child.yes,td:first-child.no{width:3em}
.dense{font-size:.8rem}.dense td,.dense th{padding:.2rem .45rem}.dense td.n,.dense td.s{white-space:nowrap}
code{font-size:.92em}.wide{overflow-x:auto}svg{max-width:100%;height:auto;border-radius:8px}
`

// htmlPlan writes the page.
type htmlPlan struct {
	w    *bufio.Writer
	plan *shard.Plan
}

// writePlanHTML writes a page with all numbers of a plan and its drawing. It
// loads nothing and runs nothing.
func writePlanHTML(w io.Writer, p *shard.Plan) error {
	h := &htmlPlan{bufio.NewWriter(w), p}
	drawing, err := svgOnly(p)
	if err != nil {
		return err
	}
	h.printf("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n", h.text(planTitle(p)), planStyle)
	h.printf("<h1>%s</h1>\n<p><code>%s</code><br><code>%s</code></p>\n", h.text(planTitle(p)), h.text(p.Source.Path), h.text(p.Source.Fingerprint))
	h.cards()
	h.proof()
	h.groups()
	h.printf("<h2>Layout</h2>\n<div class=\"wide\">%s</div>\n", drawing)
	h.ranks()
	h.degrees()
	h.families()
	h.notes()
	h.printf("</body>\n</html>\n")
	return h.w.Flush()
}

func (h *htmlPlan) printf(format string, args ...any) { fmt.Fprintf(h.w, format, args...) }

func (h *htmlPlan) text(s string) string { return html.EscapeString(ui.Escape(s)) }

// name is the name of tensors, which may go on in the next line after each dot.
func (h *htmlPlan) name(s string) string {
	return "<code>" + strings.ReplaceAll(h.text(s), ".", ".<wbr>") + "</code>"
}

func (h *htmlPlan) cards() {
	t := &h.plan.Totals
	h.printf("<div class=\"sum\">\n")
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"bytes on the fullest rank", h.plan.Fullest().Bytes}, {"bytes on all ranks", t.Device}, {"bytes read, each once", t.Read},
		{"bytes replicated on every rank", t.Replicated}, {"bytes of padding a rank", t.Padding}, {"bytes skipped", t.Skipped},
	} {
		h.printf("<div class=\"card\"><b>%s</b>%s<br><span>%s</span></div>\n", ui.Count(c.n), c.name, ui.GiB(c.n))
	}
	h.printf("</div>\n")
}

func (h *htmlPlan) proof() {
	x := h.plan.Proof
	if x == nil {
		return
	}
	h.printf("<h2>Proof</h2>\n<table>\n")
	for _, l := range []struct {
		ok   bool
		text string
	}{
		{x.CoveredOnce, "every wanted byte is read once, all others are skipped"},
		{x.WrittenOnce, "every byte of every tensor on every rank is written once"},
		{x.EqualRanks, "the ranks of each stage hold equally many bytes"},
		{x.ScaleAligned, "no group of elements is parted from its scale"},
		{x.Totals, "the numbers of this page are those of the copy program"},
	} {
		word := map[bool]string{true: `<td class="yes">yes</td>`, false: `<td class="no">no</td>`}[l.ok]
		h.printf("<tr>%s<td>%s</td></tr>\n", word, l.text)
	}
	for _, f := range x.Faults {
		h.printf("<tr><td></td><td>%s</td></tr>\n", h.text(f))
	}
	h.printf("</table>\n")
}

func (h *htmlPlan) groups() {
	full := h.plan.Fullest().Stage
	h.printf("<h2>Bytes by group</h2>\n<table>\n<tr><th>group</th><th class=\"n\">in the checkpoint</th><th class=\"n\">on the fullest rank</th><th class=\"n\">size</th><th class=\"n\">share</th><th>action</th></tr>\n")
	for i := range h.plan.Groups {
		g := &h.plan.Groups[i]
		if g.Action == shard.Skip {
			h.printf("<tr><td>%s</td><td class=\"n\">%s</td><td class=\"n\">0</td><td></td><td></td><td>skipped</td></tr>\n", h.text(g.Group), ui.Count(g.Total))
			continue
		}
		n := g.Stages[full]
		h.printf("<tr><td><span class=\"key\" style=\"background:%s\"></span>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td></tr>\n",
			paint(i), h.text(g.Group), ui.Count(g.Total), ui.Count(n), ui.GiB(n), percent(n, h.plan.Stages[full].Bytes), actionWord(g.Action))
	}
	h.printf("</table>\n")
}

func (h *htmlPlan) ranks() {
	h.printf("<h2>Ranks</h2>\n<table>\n<tr><th class=\"n\">rank</th><th class=\"n\">stage</th><th>layers</th><th class=\"n\">bytes</th><th class=\"n\">size</th><th class=\"n\">padding</th><th class=\"n\">tensors</th></tr>\n")
	for _, r := range h.plan.Ranks {
		s := &h.plan.Stages[r.Stage]
		h.printf("<tr><td class=\"n\">%d</td><td class=\"n\">%d</td><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
			r.Rank, r.Stage, rankRange(s.FirstLayer, max(s.FirstLayer, s.EndLayer-1)), ui.Count(r.Bytes), ui.GiB(r.Bytes), ui.Count(r.Padding), ui.Count(r.Tensors))
	}
	h.printf("</table>\n")
}

func (h *htmlPlan) degrees() {
	h.printf("<h2>Degrees</h2>\n<p>The width of the pieces of each split axis, as stored, and the largest power of two that divides it.</p>\n<div class=\"wide\"><table class=\"dense\">\n<tr><th>axis</th><th class=\"n\">size</th>")
	for _, d := range h.plan.Degrees {
		class := "yes"
		if !d.Works {
			class = "no"
		}
		h.printf("<th class=\"n\"><span class=\"%s\" title=\"%s\">TP%d</span></th>", class, h.text(d.Reason), d.TP)
	}
	h.printf("<th>of</th></tr>\n")
	for i := range h.plan.Axes {
		a := &h.plan.Axes[i]
		h.printf("<tr><td>%s</td><td class=\"n\">%s</td>", map[bool]string{true: "columns", false: "rows"}[a.Inner], ui.Count(a.Size))
		for _, x := range a.Widths {
			if x.Size == 0 {
				h.printf("<td class=\"n no\">no</td>")
			} else {
				h.printf("<td class=\"n\">%s / %s</td>", ui.Count(x.Size), ui.Count(x.Align))
			}
		}
		h.printf("<td>%s</td></tr>\n", h.name(a.Pattern))
	}
	h.printf("</table></div>\n")
}

func (h *htmlPlan) families() {
	h.printf("<h2>Families</h2>\n<div class=\"wide\"><table class=\"dense\">\n<tr><th>family</th><th>on the ranks</th><th class=\"n\">tensors</th><th>dtype</th><th>shape</th><th>action</th><th class=\"n\">bytes</th><th class=\"n\">on a rank</th></tr>\n")
	for i := range h.plan.Families {
		f := &h.plan.Families[i]
		action := string(f.Action)
		switch {
		case f.Action == shard.Skip:
			action = "skip: " + f.Reason
		case f.Axis != nil && f.Action == shard.Split:
			action = fmt.Sprintf("split on axis %d, %d parts", *f.Axis, f.Parts)
		}
		names := ""
		for k, n := range f.Names {
			if k > 0 {
				names += "<br>"
			}
			names += h.name(n)
		}
		h.printf("<tr><td>%s</td><td>%s</td><td class=\"n\">%s</td><td>%s</td><td class=\"s\">%s</td><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
			h.name(f.Pattern), names, ui.Count(f.Count), f.DType, fmt.Sprint(f.Shape), h.text(action), ui.Count(f.Total), ui.Count(f.PerRank))
	}
	h.printf("</table></div>\n")
}

func (h *htmlPlan) notes() {
	if len(h.plan.Notes) == 0 {
		return
	}
	h.printf("<h2>Notes</h2>\n<ul>\n")
	for _, n := range h.plan.Notes {
		h.printf("<li>%s</li>\n", h.text(n))
	}
	h.printf("</ul>\n")
}
