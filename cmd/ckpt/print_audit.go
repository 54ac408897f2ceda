package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"ckpt/audit"
	"ckpt/internal/ui"
	"ckpt/model"
)

// auditPrinter writes a report for people. Errors of the writer stay in it
// until it is flushed.
type auditPrinter struct {
	w      io.Writer
	style  ui.Style
	report *audit.Report
	path   string
	all    bool // every instance and every code
	took   time.Duration
}

// nameWidth bounds the names of files and tensors in a line.
const nameWidth = 110

func (p *auditPrinter) print() {
	p.header()
	p.checks()
	for list := p.report.Findings; len(list) > 0; {
		n := alike(list)
		fmt.Fprintln(p.w)
		p.findings(list[:n])
		list = list[n:]
	}
	p.notes()
	p.refetch()
	fmt.Fprintf(p.w, "\n%s\n", auditVerdict(p.style, p.report))
}

func (p *auditPrinter) header() {
	r := p.report
	fmt.Fprintln(p.w, p.style.Bold(shown(r.Path)))
	var t ui.Table
	t.Indent = 2
	row := func(name, text string) {
		if text != "" {
			t.Row(p.style.Dim(name), ui.Escape(text))
		}
	}
	row("model", r.Identity)
	profile := r.Profile
	if profile == "" {
		profile = "none"
	}
	row("profile", profile)
	row("format", r.Format)
	row("files", p.files())
	row("tensors", p.tensors())
	row("payload", sizeOf(r.Stats.TotalSize))
	row("level", fmt.Sprintf("%s, %s", r.Level, ui.Duration(p.took)))
	t.Write(p.w)
}

func (p *auditPrinter) files() string {
	s := p.report.Stats
	if s.Shards == nil {
		return ""
	}
	text := ui.Count(*s.Shards)
	if s.FileBytes != nil {
		text += ", " + ui.Size(*s.FileBytes)
	}
	if s.MissingShards != nil && *s.MissingShards > 0 {
		text += ", " + ui.Count(*s.MissingShards) + " absent"
	}
	return text
}

func (p *auditPrinter) tensors() string {
	s := p.report.Stats
	if s.Tensors == nil {
		return ""
	}
	text := ui.Count(*s.Tensors)
	if s.LanguageTensors != nil && *s.LanguageTensors != *s.Tensors {
		text += ", " + ui.Count(*s.LanguageTensors) + " of the language model"
	}
	if s.ExpertTensors != nil && *s.ExpertTensors > 0 {
		text += ", " + ui.Count(*s.ExpertTensors) + " of experts"
	}
	return text
}

func sizeOf(n *int64) string {
	if n == nil {
		return ""
	}
	return ui.Size(*n)
}

// checks says how many checks ended how, and why some were not made.
func (p *auditPrinter) checks() {
	count := map[audit.Status]int{}
	for _, c := range p.report.Checks {
		count[c.Status]++
	}
	line := fmt.Sprintf("%d passed, %d warned, %d failed, %d skipped",
		count[audit.StatusPass], count[audit.StatusWarn], count[audit.StatusFail], count[audit.StatusSkip])
	fmt.Fprintf(p.w, "\n%s  %s\n", p.style.Bold("checks"), line)
	var t ui.Table
	t.Indent = 2
	for _, s := range skips(p.report.Checks) {
		word := p.style.Dim("skipped")
		if s.gap {
			word = p.style.Red("not made")
		}
		codes := s.codes()
		if ui.Width(codes) > codesWidth && !p.all {
			codes = ui.Plural(len(s.ids), "check")
		}
		t.Row(word, codes, ui.Escape(s.reason))
	}
	t.Write(p.w)
}

// codesWidth bounds a list of codes; a longer one is counted.
const codesWidth = 32

// skip is why some checks were not made.
type skip struct {
	reason string
	gap    bool
	ids    []string
	runs   []int // numbers of consecutive checks in ids
}

// skips groups the checks that were not made by their reasons.
func skips(checks []audit.Check) []*skip {
	var out []*skip
	byReason := map[string]*skip{}
	last := map[*skip]int{}
	for i, c := range checks {
		if c.Status != audit.StatusSkip && !c.Gap {
			continue
		}
		key := fmt.Sprint(c.Gap, c.Reason)
		s := byReason[key]
		if s == nil {
			s = &skip{reason: c.Reason, gap: c.Gap}
			byReason[key] = s
			out = append(out, s)
		}
		if n := len(s.runs); n > 0 && last[s] == i-1 && sameFamily(s.ids[len(s.ids)-1], c.ID) {
			s.runs[n-1]++
		} else {
			s.runs = append(s.runs, 1)
		}
		s.ids = append(s.ids, c.ID)
		last[s] = i
	}
	return out
}

func sameFamily(a, b string) bool { return a[:2] == b[:2] }

// codes writes consecutive codes as a range: GG001–GG016.
func (s *skip) codes() string {
	var parts []string
	ids := s.ids
	for _, n := range s.runs {
		switch n {
		case 1:
			parts = append(parts, ids[0])
		case 2:
			parts = append(parts, ids[0], ids[1])
		default:
			parts = append(parts, ids[0]+"–"+ids[n-1])
		}
		ids = ids[n:]
	}
	return strings.Join(parts, " ")
}

// alike is how many findings from the first on have its code and severity: a
// person reads them under one heading.
func alike(list []audit.Finding) int {
	n := 1
	for n < len(list) && list[n].ID == list[0].ID && list[n].Severity == list[0].Severity &&
		(list[n].Ignored == nil) == (list[0].Ignored == nil) {
		n++
	}
	return n
}

// findings writes groups of one code: where and what for some of them, and the
// cure of the first.
func (p *auditPrinter) findings(list []audit.Finding) {
	first := &list[0]
	total := 0
	for i := range list {
		total += list[i].Count
	}
	p.heading(first, total)
	examples := p.choose(list)
	p.examples(examples)
	if more := total - len(examples); more > 0 {
		fmt.Fprintf(p.w, "         %s\n", p.style.Dim(fmt.Sprintf("and %s more (--all)", ui.Count(more))))
	}
	if first.Ignored != nil {
		p.paragraph(p.style.Dim("ignored"), first.Ignored.Reason+", until "+first.Ignored.Until)
		return
	}
	p.cure(first.Fix)
}

func (p *auditPrinter) heading(f *audit.Finding, total int) {
	title := ""
	if c, ok := audit.Explain(f.ID); ok {
		title = c.Title
	}
	word := severity(p.style, f.Severity)
	if f.Ignored != nil {
		word = p.style.Dim("ignored")
	}
	word += strings.Repeat(" ", max(0, len("warning")+2-ui.Width(word)))
	count := ""
	if total > 1 {
		count = p.style.Dim("  × " + ui.Count(total))
	}
	fmt.Fprintf(p.w, "%s%s  %s%s\n", word, p.style.Bold(f.ID), title, count)
}

// shownExamples is how many instances stand under a heading.
const shownExamples = 3

// choose takes the instances to show: all where all are wanted, those of a
// single group, else one of each group.
func (p *auditPrinter) choose(list []audit.Finding) []audit.Example {
	var out []audit.Example
	for i := range list {
		switch {
		case p.all || len(list) == 1:
			out = append(out, list[i].Examples...)
		case len(list[i].Examples) > 0 && len(out) < shownExamples:
			out = append(out, list[i].Examples[0])
		}
	}
	return out
}

// lineWidth is how wide a place with its message may be to stand in one line.
const lineWidth = 110

// examples writes where, and what. They are aligned where all fit in lines.
func (p *auditPrinter) examples(list []audit.Example) {
	t := ui.Table{Columns: ui.Columns{Indent: 9}}
	for i := range list {
		place, message := placeOf(&list[i]), messageOf(&list[i])
		switch {
		case place == "":
			t.Row(message)
		case message == "":
			t.Row(place)
		default:
			t.Row(place, message)
		}
	}
	var b strings.Builder
	t.Write(&b)
	for line := range strings.Lines(b.String()) {
		if ui.Width(strings.TrimSuffix(line, "\n")) > lineWidth {
			p.longExamples(list)
			return
		}
	}
	fmt.Fprint(p.w, b.String())
}

func (p *auditPrinter) longExamples(list []audit.Example) {
	for i := range list {
		indent := "         "
		if place := placeOf(&list[i]); place != "" {
			fmt.Fprintf(p.w, "%s%s\n", indent, place)
			indent += "  "
		}
		for _, line := range ui.Wrap(messageOf(&list[i]), lineWidth-len(indent)) {
			fmt.Fprintf(p.w, "%s%s\n", indent, line)
		}
	}
}

func placeOf(e *audit.Example) string {
	var place []string
	if e.File != "" {
		place = append(place, ui.Short(e.File, nameWidth))
	}
	if e.Tensor != "" {
		place = append(place, ui.Short(e.Tensor, nameWidth))
	}
	if e.Offset != nil {
		place = append(place, "at byte "+ui.Count(*e.Offset))
	}
	return strings.Join(place, "  ")
}

// messageOf is the message, with what was expected and what is there where the
// line does not say either.
func messageOf(e *audit.Example) string {
	text := ui.Escape(e.Message)
	if e.Expected == "" || e.Actual == "" || e.Actual == "absent" {
		return text
	}
	said := strings.ReplaceAll(e.Message, ",", "") + " " + e.File + " " + e.Tensor
	for _, part := range []string{e.Expected, e.Actual} {
		part = strings.ReplaceAll(part, ",", "")
		if n := digits(part); strings.Contains(said, part) || n > 3 && strings.Contains(said, part[:n]) {
			return text
		}
	}
	return text + " (expected " + ui.Short(e.Expected, nameWidth) + ", actual " + ui.Short(e.Actual, nameWidth) + ")"
}

// splitCommand parts a cure from the command that ends it, so that the command
// stands in a line of its own and can be copied.
func splitCommand(fix string) (text, command string) {
	for _, program := range []string{"hf ", "ckpt ", "namei ", "rm ", "mv ", "ls "} {
		if strings.HasPrefix(fix, program) {
			return "", fix
		}
		if text, command, ok := strings.Cut(fix, ": "+program); ok {
			return text + ":", program + command
		}
	}
	return fix, ""
}

// cure writes what to do, and a command in a line of its own.
func (p *auditPrinter) cure(fix string) {
	text, command := splitCommand(fix)
	word := p.style.Green("cure")
	if text == "" {
		fmt.Fprintf(p.w, "         %s  %s\n", word, p.style.Cyan(ui.Escape(command)))
		return
	}
	p.paragraph(word, text)
	if command != "" {
		fmt.Fprintf(p.w, "               %s\n", p.style.Cyan(ui.Escape(command)))
	}
}

// paragraph writes a word and the text that it introduces, wrapped behind it.
func (p *auditPrinter) paragraph(word, text string) {
	indent := strings.Repeat(" ", 9+ui.Width(word)+2)
	lines := ui.Wrap(ui.Escape(text), lineWidth-len(indent))
	if len(lines) == 0 {
		lines = []string{""}
	}
	for i, line := range lines {
		if i == 0 {
			fmt.Fprintln(p.w, strings.TrimRight("         "+word+"  "+line, " "))
			continue
		}
		fmt.Fprintf(p.w, "%s%s\n", indent, line)
	}
}

func (p *auditPrinter) notes() {
	for i, n := range p.report.Notes {
		if i == 0 {
			fmt.Fprintln(p.w)
		}
		p.paragraph(p.style.Dim("note"), n)
	}
}

// refetch writes the command that fetches what is damaged, in one line.
func (p *auditPrinter) refetch() {
	files := p.report.Refetch
	if len(files) == 0 {
		return
	}
	dir := p.path
	if !isDirectory(dir) {
		dir = filepath.Dir(dir)
	}
	fmt.Fprintf(p.w, "\n%s\n", p.style.Bold("fetch again"))
	if repo := p.repository(files); repo != "" {
		words := append([]string{"hf", "download", repo}, files...)
		fmt.Fprintf(p.w, "  %s\n", p.style.Cyan(ui.Escape(shellWords(append(words, "--local-dir", dir, "--force-download")...))))
		return
	}
	fmt.Fprintf(p.w, "  %s\n", p.style.Cyan(ui.Escape(shellWords(files...))))
}

// repository is where the files come from, where that is certain: the profile
// has a release, and the weight files are the release's by name, or by number
// where none is among them.
func (p *auditPrinter) repository(files []string) string {
	profile, ok := model.Named(p.report.Profile)
	if !ok || profile.Release == nil {
		return ""
	}
	weights := 0
	for _, f := range files {
		if !strings.HasSuffix(f, ".safetensors") {
			continue
		}
		if _, ok := profile.Release.File(f); !ok {
			return ""
		}
		weights++
	}
	if n := p.report.Stats.Shards; weights == 0 && (n == nil || *n != profile.Release.Totals.Files) {
		return ""
	}
	return profile.Release.Repo
}

// auditVerdict is the closing line.
func auditVerdict(style ui.Style, r *audit.Report) string {
	line := ui.Escape(r.VerdictLine())
	switch r.Verdict {
	case audit.Pass:
		return style.Green(line)
	case audit.Incomplete:
		return style.Yellow(line)
	default:
		return style.Red(line)
	}
}
