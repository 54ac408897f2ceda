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

// palette colours the groups: dark enough for white paper, told apart by people
// who do not see red and green apart, as far as a dozen can be.
var palette = [...]string{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#332288", "#44aa99", "#885500", "#777777", "#ee8866", "#99aa00"}

func paint(i int) string { return palette[i%len(palette)] }

// Sizes of the drawing, in its own units.
const (
	svgMargin = 24
	svgLabel  = 500 // of the names of families
	svgName   = 84  // characters of a name, as wide as svgLabel less a gap
	svgRow    = 16
	svgBar    = 22
	svgText   = 12
	svgWidth  = 1200
	// mostColumns is how many ranks are drawn; more are drawn a stage.
	mostColumns = 64
)

// svgPlan draws a plan.
type svgPlan struct {
	w    *bufio.Writer
	plan *shard.Plan
	y    int
}

// writePlanSVG draws what every rank holds: bars of the groups, and families by
// ranks. The file needs nothing else to be seen.
func writePlanSVG(w io.Writer, p *shard.Plan) error {
	b := bufio.NewWriter(w)
	s := &svgPlan{w: b, plan: p}
	s.draw()
	return b.Flush()
}

// lane is a rank of the drawing, or all ranks of a stage where there are many.
type lane struct {
	stage, rank int
	label       string
}

func (s *svgPlan) lanes() []lane {
	var list []lane
	for _, st := range s.plan.Stages {
		if len(s.plan.Ranks) > mostColumns {
			list = append(list, lane{st.Stage, 0, rankRange(st.First, st.First+st.Ranks-1)})
			continue
		}
		for r := range st.Ranks {
			list = append(list, lane{st.Stage, r, fmt.Sprint(st.First + r)})
		}
	}
	return list
}

func (s *svgPlan) families() []int {
	var list []int
	for i := range s.plan.Families {
		if s.plan.Families[i].Action != shard.Skip {
			list = append(list, i)
		}
	}
	return list
}

// painted lists the groups that ranks hold.
func (s *svgPlan) painted() []int {
	var list []int
	for i := range s.plan.Groups {
		if s.plan.Groups[i].Action != shard.Skip {
			list = append(list, i)
		}
	}
	return list
}

func (s *svgPlan) height(columns []lane) int {
	return 2*svgMargin + 126 + len(columns)*svgBar + (len(s.painted())+3)/4*20 + len(s.families())*svgRow
}

func (s *svgPlan) draw() {
	columns := s.lanes()
	h := s.height(columns)
	fmt.Fprintf(s.w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="%d" role="img">`+"\n", svgWidth, h, svgWidth, h, svgText)
	fmt.Fprintf(s.w, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", svgEscape(planTitle(s.plan)))
	s.y = svgMargin + 14
	s.text(svgMargin, s.y, `font-size="18" font-weight="600"`, planTitle(s.plan))
	s.y += 22
	full := s.plan.Fullest()
	s.text(svgMargin, s.y, `fill="#555555"`, fmt.Sprintf("%s on the fullest rank, %s of them replicated; %s read once", ui.Size(full.Bytes), ui.Plural(s.plan.Totals.Replicated, "byte"), ui.Size(s.plan.Totals.Read)))
	s.y += 24
	s.bars(columns)
	s.legend()
	s.grid(columns)
	fmt.Fprintln(s.w, "</svg>")
}

func planTitle(p *shard.Plan) string {
	return fmt.Sprintf("%s, %v, %s layout", profileName(p), p.Topology(), p.Layout)
}

func svgEscape(text string) string { return html.EscapeString(ui.Escape(text)) }

func (s *svgPlan) text(x, y int, attributes, text string) {
	fmt.Fprintf(s.w, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, attributes, svgEscape(text))
}

// bars draws one bar a rank, to one scale.
func (s *svgPlan) bars(columns []lane) {
	full := max(s.plan.Fullest().Bytes, 1)
	const left, right = svgMargin + 70, 100
	width := float64(svgWidth - left - svgMargin - right)
	for _, c := range columns {
		s.text(svgMargin, s.y+15, `fill="#333333"`, "rank "+c.label)
		x := float64(left)
		for i := range s.plan.Groups {
			g := &s.plan.Groups[i]
			if g.Action == shard.Skip || g.Stages[c.stage] == 0 {
				continue
			}
			w := float64(g.Stages[c.stage]) / float64(full) * width
			fmt.Fprintf(s.w, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"><title>%s: %s</title></rect>`+"\n",
				x, s.y, w, svgBar-4, paint(i), svgEscape(g.Group), svgEscape(ui.Size(g.Stages[c.stage])))
			x += w
		}
		s.text(int(x)+8, s.y+15, `fill="#333333"`, ui.GiB(s.plan.Stages[c.stage].Bytes))
		s.y += svgBar
	}
	s.y += 18
}

func (s *svgPlan) legend() {
	stage := s.plan.Fullest().Stage
	for n, i := range s.painted() {
		g := &s.plan.Groups[i]
		x, y := svgMargin+n%4*290, s.y+n/4*20
		fmt.Fprintf(s.w, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/>`+"\n", x, y, paint(i))
		s.text(x+18, y+11, `fill="#333333"`, g.Group+", "+ui.GiB(g.Stages[stage]))
	}
	s.y += (len(s.painted())+3)/4*20 + 22
}

// grid draws families by ranks: which slice of each a rank holds; a full cell is
// a tensor that the rank holds whole.
func (s *svgPlan) grid(columns []lane) {
	const left = svgMargin + svgLabel
	s.text(svgMargin, s.y, `fill="#555555"`, "Which part of each family a rank holds; a full cell is all that its stage has of it.")
	s.y += 26
	width := float64(svgWidth-left-svgMargin) / float64(max(len(columns), 1))
	for i, c := range columns {
		label := c.label
		if width >= 50 {
			label = "rank " + label
		}
		s.text(left+int(width*float64(i)+width/2), s.y-6, `text-anchor="middle" fill="#555555" font-size="10"`, label)
	}
	groups := map[string]int{}
	for _, i := range s.painted() {
		groups[s.plan.Groups[i].Group] = i
	}
	for _, i := range s.families() {
		f := &s.plan.Families[i]
		s.text(svgMargin, s.y+svgRow-5, `font-family="monospace" font-size="9.5" fill="#333333"`, ui.Short(f.Pattern, svgName))
		for k, c := range columns {
			if f.Stages[c.stage] > 0 {
				s.cell(f, c, paint(groups[f.Group]), float64(left)+width*float64(k), width-2)
			}
		}
		s.y += svgRow
	}
}

// cell draws what a rank holds of a family.
func (s *svgPlan) cell(f *shard.Family, c lane, colour string, x, width float64) {
	from, share := slice(f, s.plan, c)
	fmt.Fprintf(s.w, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="#eeeeee"/>`, x, s.y+1, width, svgRow-3)
	fmt.Fprintf(s.w, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"><title>%s: %s on rank %s, %s</title></rect>`+"\n",
		x+width*from, s.y+1, width*share, svgRow-3, colour, svgEscape(f.Pattern), svgEscape(ui.Size(f.Stages[c.stage])), c.label, string(f.Action))
}

// slice is where the part of a rank lies in its family, from 0 to 1. All ranks
// of a stage together hold all of it.
func slice(f *shard.Family, p *shard.Plan, c lane) (from, share float64) {
	if f.Parts <= 1 || len(p.Ranks) > mostColumns {
		return 0, 1
	}
	share = 1 / float64(f.Parts)
	ranks := p.Topology().StageRanks()
	return float64(c.rank*f.Parts/ranks) * share, share
}

// svgOnly is the drawing as a string, for pages.
func svgOnly(p *shard.Plan) (string, error) {
	var b strings.Builder
	err := writePlanSVG(&b, p)
	return b.String(), err
}
