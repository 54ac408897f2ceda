package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ckpt/internal/ui"
	"ckpt/loader"
)

// storage says what was asked of the files and what the drive gave.
func (p *loadPrinter) storage() {
	p.heading("STORAGE")
	b, l, q := &p.r.Bytes, &p.r.Latency, &p.r.Reads
	disk := "not known"
	if b.Disk >= 0 {
		disk = fmt.Sprintf("%s, %.4f × the payload, by the drive's own count of all that anyone read", ui.Plural(b.Disk, "byte"), b.Drive)
	}
	read := fmt.Sprintf("%s, %.4f × the payload", ui.Plural(b.Requested, "byte"), b.Amplification)
	if b.Read < b.Requested {
		read += fmt.Sprintf("; %s at least from storage, the others lay in the page cache", ui.Count(b.Read))
	}
	p.rows(
		[2]string{"read", read},
		[2]string{"from the drive", disk},
		[2]string{"in memory", p.resident(&p.r.Cold)},
		[2]string{"requests", fmt.Sprintf("%s, p50 %s, p99 %s, longest %s; %s", ui.Count(q.Count), micros(l.P50), micros(l.P99), micros(l.Max), submitted(q.Retries))},
		[2]string{"files", p.files()},
	)
}

func submitted(retries int64) string {
	if retries == 0 {
		return "none submitted again"
	}
	return ui.Count(retries) + " submitted again"
}

// resident says what of the files lay in the page cache.
func (p *loadPrinter) resident(c *loader.ColdResult) string {
	if c.Before < 0 {
		return "not known how much of the files lay in the page cache"
	}
	word := "the page cache was left as it was"
	if c.Asked {
		word = "dropped from the page cache first"
	}
	return fmt.Sprintf("%s of the files before, %s after; %s", ui.Plural(c.Before, "byte"), ui.Count(max(c.After, 0)), word)
}

func micros(us float64) string {
	if us >= 1000 {
		return fmt.Sprintf("%.2f ms", us/1000)
	}
	return fmt.Sprintf("%.0f µs", us)
}

// files compares the rates of the files that were read.
func (p *loadPrinter) files() string {
	var rates []float64
	direct := 0
	for i := range p.r.Files {
		if p.r.Files[i].Bytes > 0 {
			rates = append(rates, p.r.Files[i].Rate)
		}
		if p.r.Files[i].Direct {
			direct++
		}
	}
	text := fmt.Sprintf("%s, %d of them directly", ui.Plural(len(p.r.Files), "file"), direct)
	if len(rates) > 1 {
		slices.Sort(rates)
		text += fmt.Sprintf("; slowest %s, median %s, fastest %s", gbps(rates[0]), gbps(rates[len(rates)/2]), gbps(rates[len(rates)-1]))
	}
	return text
}

// costs says what it took of the machine.
func (p *loadPrinter) costs() {
	p.heading("COST")
	c, x := &p.r.CPU, &p.r.Copies
	way := ui.Count(x.Count)
	if x.Rows > 0 {
		way += fmt.Sprintf(", %s of them of rows (%s%s)", ui.Count(x.Rows), x.Way, wayRates(x.WayRates))
	}
	if x.Assembled > 0 {
		way += fmt.Sprintf(", %s put together first", ui.Count(x.Assembled))
	}
	if x.Count > 0 {
		way += fmt.Sprintf(", %s on average", ui.GiB(p.r.Bytes.Device/x.Count))
	}
	p.rows(
		[2]string{"processor", fmt.Sprintf("%.3f s a GB: %s user, %s system", c.PerGB, seconds(c.User), seconds(c.System))},
		[2]string{"memory", fmt.Sprintf("%s at most, %s of it staging", ui.GiB(p.r.Memory.PeakRSS), ui.GiB(p.r.Memory.Pinned))},
		[2]string{"copies", way},
	)
}

func wayRates(rates map[string]float64) string {
	var parts []string
	for _, way := range slices.Sorted(maps.Keys(rates)) {
		parts = append(parts, fmt.Sprintf("%s %s", way, gbps(rates[way])))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}

// mostRanks is how many ranks have a line of their own.
const mostRanks = 16

func (p *loadPrinter) ranks() {
	p.heading("RANKS")
	t := ui.Table{}
	t.Indent, t.Right = 2, "rlrrr"
	head := []string{"rank", "device", "bytes", "copies", "rate"}
	for i := range head {
		head[i] = p.style.Dim(head[i])
	}
	t.Row(head...)
	for i := range p.r.Ranks {
		if i == mostRanks {
			break
		}
		x := &p.r.Ranks[i]
		t.Row(fmt.Sprint(x.Rank), ui.Escape(x.Device), ui.Count(x.Bytes), ui.Count(x.Copies), gbps(x.Rate))
	}
	t.Write(p.w)
	if n := len(p.r.Ranks) - mostRanks; n > 0 {
		p.line("  and %s; --json has them", ui.Plural(n, "more rank"))
	}
}

// runs lists all of them, in their order.
func (p *loadPrinter) runs() {
	if len(p.r.Runs) < 2 {
		return
	}
	p.heading("RUNS")
	t := ui.Table{}
	t.Indent, t.Right = 2, "rrrrrrl"
	head := []string{"", "rate", "usable after", "p99", "CPU s/GB", "in memory before", "verification"}
	for i := range head {
		head[i] = p.style.Dim(head[i])
	}
	t.Row(head...)
	for i := range p.r.Runs {
		x := &p.r.Runs[i]
		before := "not known"
		if x.Cold.Before >= 0 {
			before = ui.Count(x.Cold.Before)
		}
		t.Row(fmt.Sprint(i+1), gbps(x.Rate), seconds(x.Seconds.Total), micros(x.Latency.P99), fmt.Sprintf("%.3f", x.CPU), before, x.Status)
	}
	t.Write(p.w)
	p.line("  %s", p.style.Dim("everything above is the median run by the time until usable"))
}

func (p *loadPrinter) compare() {
	c := p.doc.Compare
	if c == nil {
		return
	}
	p.heading("BESIDE FIO")
	var options []string
	for _, o := range [][2]string{{"rw", c.Pattern}, {"bs", c.Block}, {"iodepth", c.Depth}, {"ioengine", c.Engine}, {"direct", c.Direct}, {"iomem", c.Memory}} {
		if o[1] != "" {
			options = append(options, "--"+o[0]+"="+o[1])
		}
	}
	p.rows(
		[2]string{c.Tool, fmt.Sprintf("%s: %s in %s, %s", gbps(c.Rate), ui.Plural(c.Bytes, "byte"), ui.Plural(c.Jobs, "job"), strings.Join(options, " "))},
		[2]string{"", fmt.Sprintf("p50 %s, p99 %s", micros(c.P50), micros(c.P99))},
		[2]string{"this load", fmt.Sprintf("%.3f × its rate", c.Ratio)},
	)
}

// choices prints what was decided, and why.
func (p *loadPrinter) choices() {
	p.heading("CHOICES")
	e := &p.r.Engine
	list := append([]string{}, p.doc.DeviceReasons...)
	list = append(list, e.Ladder...)
	tuned := fmt.Sprintf("in flight: %s, as --inflight says", ui.GiB(e.Inflight))
	switch {
	case !e.Tuned && p.opts.load.Inflight == 0:
		tuned = fmt.Sprintf("in flight: %s at the end; the load was too short to find how much is best", ui.GiB(e.Inflight))
	case e.Tuned:
		tuned = fmt.Sprintf("in flight: %s, %s of %s; it grew until the rate did not", ui.GiB(e.Inflight), ui.Plural(e.Depth, "request"), ui.GiB(e.Block))
	}
	pages := fmt.Sprintf("staging: %s on %s pages", ui.GiB(p.r.Memory.Pinned), e.Pages)
	if e.PagesWhy != "" {
		pages += ": " + e.PagesWhy
	}
	list = append(list, tuned, pages)
	rows := fmt.Sprintf("rows: %s", p.r.Copies.Way)
	if rates := wayRates(p.r.Copies.WayRates); rates != "" {
		rows += ", the fastest of a short calibration" + rates
	}
	list = append(list, rows)
	list = append(list, fmt.Sprintf("verify: %s", p.r.Verify.Mode))
	for _, text := range list {
		for i, line := range ui.Wrap(ui.Escape(text), textWidth-4) {
			p.line("%s%s", map[bool]string{true: "  ", false: "    "}[i == 0], line)
		}
	}
}

func (p *loadPrinter) notes() {
	if len(p.r.Notes) == 0 {
		return
	}
	p.heading("NOTES")
	for _, n := range p.r.Notes {
		for i, line := range ui.Wrap(ui.Escape(n), textWidth-4) {
			p.line("%s%s", map[bool]string{true: "  ", false: "    "}[i == 0], line)
		}
	}
}

// mostMismatches is how many of what failed a person is shown.
const mostMismatches = 5

// verdict is the line that counts, last.
func (p *loadPrinter) verdict() {
	v := &p.r.Verify
	if v.Status == loader.StatusFailed {
		for i := range v.Failed {
			if i == mostMismatches {
				break
			}
			p.mismatch(&v.Failed[i])
		}
		p.line("%s  %s of %s hashed are not what they should be (%s, %s)", p.style.Red("FAILED"), ui.Count(v.Failures), p.hashed(), v.Algorithm, against(v))
		return
	}
	if p.r.Device == "null" {
		p.line("%s  %s in %s and kept nothing; %s", p.style.Green("READ"), ui.GB(p.r.Bytes.Payload), seconds(p.r.Seconds.Total), p.verified())
		return
	}
	p.line("%s  %s on %s, %s in %s; %s", p.style.Green("LOADED"), ui.Plural(len(p.r.Ranks), "rank"), ui.Escape(p.r.Device), ui.GB(p.r.Bytes.Device), seconds(p.r.Seconds.Total), p.verified())
}

func (p *loadPrinter) mismatch(m *loader.Mismatch) {
	where := m.File
	if m.Rank != nil {
		where = fmt.Sprintf("rank %d", *m.Rank)
	}
	if where != "" {
		where = fmt.Sprintf(" (%s at %s)", where, ui.Count(m.Offset))
	}
	p.line("  %s%s: %s, want %s", ui.Short(m.Name, nameWidth), ui.Escape(where), ui.Escape(m.Got), ui.Escape(m.Want))
}

// hashed says of what hashes were taken.
func (p *loadPrinter) hashed() string {
	v := &p.r.Verify
	text := ui.Plural(v.Tensors, "tensor")
	if v.Files > 0 {
		text += " and " + ui.Plural(v.Files, "file")
	}
	return text
}

func against(v *loader.VerifyResult) string {
	switch v.Reference {
	case loader.ReferenceRelease:
		return "against the release's list"
	case loader.ReferenceManifest:
		return "against the manifest"
	case loader.ReferenceReadBack:
		return "read back from the arenas"
	}
	return "against nothing"
}

// verified says what was checked against what, or that nothing was.
func (p *loadPrinter) verified() string {
	v := &p.r.Verify
	switch v.Status {
	case loader.StatusOK:
		text := fmt.Sprintf("%s of %s tensors are right, %s", v.Algorithm, ui.Count(v.Compared), against(v))
		if v.Compared == 0 {
			text = fmt.Sprintf("%s of %s is right, %s", v.Algorithm, ui.Plural(v.Files, "file"), against(v))
		}
		if rest := v.Tensors - v.Compared; rest > 0 && v.Compared > 0 {
			text += fmt.Sprintf("; %s had nothing to compare with", ui.Count(rest))
		}
		return text
	case loader.StatusRecorded:
		return fmt.Sprintf("%s of %s taken, there was nothing to compare with", v.Algorithm, p.hashed())
	}
	return "not verified"
}
