package main

import (
	"bufio"
	"fmt"
	"strings"

	"ckpt/internal/ui"
	"ckpt/loader"
)

// print writes the report.
func (o *loadOptions) print(g *globals, std streams, doc *loadDocument) error {
	w := bufio.NewWriter(std.out)
	if o.json {
		if err := writeJSON(w, doc); err != nil {
			return err
		}
		return w.Flush()
	}
	p := loadPrinter{w: w, style: std.style(), doc: doc, r: doc.Result, opts: o}
	if g.quiet {
		p.verdict()
	} else {
		p.print()
	}
	return w.Flush()
}

// loadPrinter writes how a load went for people. Errors of the writer stay in it
// until it is flushed.
type loadPrinter struct {
	w     *bufio.Writer
	style ui.Style
	doc   *loadDocument
	r     *loader.Result
	opts  *loadOptions
}

func (p *loadPrinter) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p *loadPrinter) heading(text string) { p.line("\n%s", p.style.Bold(text)) }

// rows writes names and what they are, aligned.
func (p *loadPrinter) rows(list ...[2]string) {
	t := ui.Table{}
	t.Indent = 2
	for _, r := range list {
		if r[1] != "" {
			t.Row(p.style.Dim(r[0]), ui.Escape(r[1]))
		}
	}
	t.Write(p.w)
}

func (p *loadPrinter) print() {
	p.head()
	p.rate()
	p.time()
	p.waits()
	p.storage()
	p.costs()
	p.ranks()
	p.runs()
	p.compare()
	if p.opts.explain {
		p.choices()
	}
	p.notes()
	p.line("")
	p.verdict()
}

// head says what was loaded, where to, with what, and how sizes were read.
func (p *loadPrinter) head() {
	d, m := p.doc, p.doc.Machine
	p.line("%s  %s", p.style.Bold(shown(p.r.Source)), ui.Escape(fmt.Sprintf("%s, TP%d EP%d PP%d, %s layout, to %s", d.Plan.Profile, d.Plan.TP, d.Plan.EP, d.Plan.PP, d.Plan.Layout, p.r.Device)))
	for _, echo := range p.opts.echoes {
		p.line("%s", echo)
	}
	storage := m.FileSystem
	if m.Drive != "" {
		storage += " on " + strings.Join(strings.Fields(strings.Join([]string{m.Drive, bracketed(m.DriveKind, m.DriveModel)}, " ")), " ")
	}
	p.rows(
		[2]string{"command", shellWords(d.Command...)},
		[2]string{"version", "ckpt " + d.Version},
		[2]string{"machine", strings.TrimSpace(fmt.Sprintf("%s/%s %s, %d × %s, %s of memory", m.OS, m.Arch, m.Kernel, m.CPUs, m.CPU, ui.GiB(m.Memory)))},
		[2]string{"storage", storage},
		[2]string{"engine", p.engine()},
		[2]string{"staging", p.staging()},
	)
}

// bracketed joins what is known: (nvme, SAMSUNG …).
func bracketed(parts ...string) string {
	var known []string
	for _, x := range parts {
		if x != "" {
			known = append(known, x)
		}
	}
	if len(known) == 0 {
		return ""
	}
	return "(" + strings.Join(known, ", ") + ")"
}

func (p *loadPrinter) engine() string {
	e := &p.r.Engine
	how := "direct reads"
	if !e.Direct {
		how = "reads through the page cache"
	}
	depth := "as asked for"
	switch {
	case e.Tuned:
		depth = "found"
	case p.opts.load.Inflight == 0:
		depth = "too short a load to find the best"
	}
	text := fmt.Sprintf("%s, %s of up to %s, %s in flight (%s)", e.Name, how, ui.GiB(e.Block), ui.GiB(e.Inflight), depth)
	if e.Fixed {
		text += ", registered buffers"
	}
	for _, why := range []string{e.Reason, e.Buffered, e.FixedWhy} {
		if why != "" {
			text += "; " + why
		}
	}
	return text
}

func (p *loadPrinter) staging() string {
	e := &p.r.Engine
	text := fmt.Sprintf("%s on %s pages", ui.GiB(p.r.Memory.Pinned), e.Pages)
	if e.Huge > 0 && e.Huge < p.r.Memory.Pinned {
		text += fmt.Sprintf(" (%s of it huge)", ui.GiB(e.Huge))
	}
	if e.PagesWhy != "" {
		text += ": " + e.PagesWhy
	}
	return text + ", " + ui.Plural(e.Workers, "worker")
}

func gbps(rate float64) string { return fmt.Sprintf("%.2f GB/s", rate) }

// seconds writes a time that was measured: it is not rounded to what people say.
func seconds(s float64) string { return fmt.Sprintf("%.3f s", s) }

// window is the time over which the rate is taken: from the first request to the
// last byte placed.
func (p *loadPrinter) window() float64 {
	if p.r.Rate <= 0 {
		return 0
	}
	return float64(p.r.Bytes.Payload) / p.r.Rate / 1e9
}

func (p *loadPrinter) rate() {
	p.heading("RATE")
	b := &p.r.Bytes
	t := ui.Table{}
	t.Indent, t.Right = 2, "rl"
	t.Row(p.style.Bold(gbps(p.r.Rate)), fmt.Sprintf("%s of payload in %s, from the first request to the last byte placed", ui.Size(b.Payload), seconds(p.window())))
	if c := p.r.Ceiling; c != nil {
		of := map[string]string{"null": "the same reads with nothing kept", "device": "copies to the device alone"}[c.Lowest]
		t.Row(gbps(c.Null), "the same reads with nothing kept, in this run")
		if c.Device > 0 {
			t.Row(gbps(c.Device), "copies to the device alone, in this run")
		}
		t.Row(fmt.Sprintf("%.1f %%", c.Percent), "of the lower of the two: "+of)
	}
	t.Write(p.w)
}

// timeWidth is how many columns the whole time has.
const timeWidth = 40

// time draws the phases to one scale.
func (p *loadPrinter) time() {
	p.heading("TIME")
	s := &p.r.Seconds
	t := ui.Table{}
	t.Indent, t.Right = 2, "lrl"
	at := 0.0
	row := func(name string, length float64) {
		t.Row(name, seconds(length), p.phase(at, length, s.Total))
		at += length
	}
	row("open", s.Open)
	row("plan", s.Plan)
	row("allocate", s.Alloc)
	row("to the first byte", max(0, s.FirstByte-at))
	row("to the last, placed", max(0, s.LastByte-s.FirstByte))
	row("verify", s.Verify)
	t.Row(p.style.Bold("usable"), p.style.Bold(seconds(s.Total)), p.style.Dim("after the start"))
	t.Write(p.w)
}

// phase is a bar from a time on, as long as it took.
func (p *loadPrinter) phase(at, length, total float64) string {
	if total <= 0 {
		return ""
	}
	from := min(int(at/total*timeWidth+0.5), timeWidth)
	to := min(int((at+length)/total*timeWidth+0.5), timeWidth)
	return strings.Repeat(" ", from) + p.style.Cyan(strings.Repeat("=", max(0, to-from)))
}

// waits says what the reader waited for.
func (p *loadPrinter) waits() {
	p.heading("THE READER WAITED FOR")
	s := &p.r.Stalls
	whole := p.window()
	t := ui.Table{}
	t.Indent, t.Right = 2, "lrrl"
	row := func(name string, sec float64, says string) {
		share := ""
		if whole > 0 {
			share = fmt.Sprintf("%.1f %%", 100*sec/whole)
		}
		t.Row(name, seconds(sec), share, p.style.Dim(says))
	}
	row("storage", s.Storage, "with as much in flight as it may have")
	row("copies", s.Copy, "no slot was free: most waited to be copied")
	row("hashes", s.Hash, "no slot was free: most waited to be hashed")
	row("itself", s.Planner, "opening files and making requests")
	row("the end", s.Drain, "nothing left to read")
	t.Write(p.w)
}
