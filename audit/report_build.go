package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Subject is what was audited.
type Subject struct {
	Path     string // as it was given
	Dir      string // to which the files of findings are relative, "" where that is Path
	Format   string // FormatSafetensors, FormatGGUF, or "" when neither was recognised
	Profile  string // name of the profile, "" for none
	Identity string // "official Kimi K3 release", "structure only: no profile for …"
	Stats    Stats
}

// Report makes the report of all that was added so far.
func (c *Collector) Report(s Subject) *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &Report{
		Schema: Schema, Path: s.Path, Dir: cmp.Or(s.Dir, s.Path), Format: s.Format, Profile: s.Profile, Identity: s.Identity,
		Level: c.opts.Level, FailOn: c.opts.FailOn, Stats: s.Stats,
		Checks:   make([]Check, 0, len(c.codes)),
		Refetch:  slices.SortedFunc(maps.Keys(c.refetch), compareNatural),
		Findings: c.findings(),
		Ignore:   make([]RuleUse, 0, len(c.rules)),
		Waived:   slices.SortedFunc(maps.Keys(c.waived), compareNatural),
	}
	for i := range c.codes {
		check := c.check(i, s.Format)
		r.Checks = append(r.Checks, check)
		r.Summary.add(&check, &c.states[i])
	}
	for i := range c.rules {
		r.Ignore = append(r.Ignore, c.rules[i].report(i))
	}
	r.Notes = c.allNotes(r.Ignore)
	r.Verdict = verdict(&r.Summary, c.opts.FailOn)
	return r
}

// findings makes the entries out of the groups.
func (c *Collector) findings() []Finding {
	all := make([]Finding, 0, len(c.groups))
	for _, g := range c.groups {
		f := g.finding
		f.Examples = slices.SortedFunc(slices.Values(g.examples), func(a, b Example) int {
			return compareExamples(&a, &b)
		})
		f.show(f.Examples[0])
		f.dropRepeatedFixes()
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Finding) int { return compareFindings(&a, &b) })
	return all
}

// check says how the check of a code ended.
func (c *Collector) check(i int, format string) Check {
	code, s := &c.codes[i], &c.states[i]
	check := Check{ID: code.ID, Title: code.Title, Status: s.status(), Reason: s.passReason()}
	unasked := c.unasked(code, format)
	switch {
	case len(s.gaps) > 0 && unasked == "":
		check.Gap, check.Reason = true, s.gaps.String()
	case s.found():
	case len(s.skips) > 0:
		check.Status, check.Reason = StatusSkip, s.skips.String()
	case unasked != "":
		check.Status, check.Reason = StatusSkip, unasked
	case !s.checked:
		check.Gap, check.Reason = true, "not checked"
	}
	if check.Gap && check.Status == StatusPass {
		check.Status = StatusSkip
	}
	return check
}

// unasked says why a code is not asked for at this format and level, "" when it is.
func (c *Collector) unasked(code *Code, format string) string {
	switch {
	case code.Format != "" && code.Format != format:
		return "speaks of " + code.Format + " alone"
	case !c.opts.Level.Has(code.Level):
		return "decided at level " + code.Level.String()
	}
	return ""
}

func (s *checkState) found() bool {
	return s.ignored+s.standing[Info]+s.standing[Warning]+s.standing[Error] > 0
}

// status is that of a check that was made.
func (s *checkState) status() Status {
	switch {
	case s.standing[Error] > 0:
		return StatusFail
	case s.standing[Warning] > 0:
		return StatusWarn
	}
	return StatusPass
}

// passReason names the findings in spite of which a check passed.
func (s *checkState) passReason() string {
	switch {
	case s.standing[Error]+s.standing[Warning] > 0:
		return ""
	case s.ignored > 0:
		return fmt.Sprintf("%s ignored", plural(int64(s.ignored), "finding"))
	case s.standing[Info] > 0:
		return plural(int64(s.standing[Info]), "info")
	}
	return ""
}

func (s *Summary) add(check *Check, state *checkState) {
	s.Errors += state.standing[Error]
	s.Warnings += state.standing[Warning]
	s.Infos += state.standing[Info]
	s.Ignored += state.ignored
	switch check.Status {
	case StatusPass:
		s.Passed++
	case StatusSkip:
		s.Skipped++
	}
	if check.Gap {
		s.Gaps++
	}
}

func verdict(s *Summary, failOn Severity) Verdict {
	switch {
	case s.Errors > 0,
		failOn <= Warning && s.Warnings > 0,
		failOn <= Info && s.Infos > 0:
		return Fail
	case s.Gaps > 0:
		return Incomplete
	}
	return Pass
}

// allNotes adds to the notes what the ignore list left to say.
func (c *Collector) allNotes(rules []RuleUse) []string {
	notes := slices.AppendSeq(make([]string, 0, len(c.notes)), maps.Keys(c.notes))
	slices.SortFunc(notes, compareNatural)
	for _, r := range rules {
		switch r.Status {
		case RuleExpired:
			notes = append(notes, fmt.Sprintf("ignore entry %d (%s, %s) expired on %s: %s",
				r.Entry, r.ID, r.Reason, r.Until, countedAgain(r.Matched)))
		case RuleUnmatched:
			notes = append(notes, fmt.Sprintf("ignore entry %d (%s, %s) matched nothing", r.Entry, r.ID, r.Reason))
		}
	}
	return notes
}

func countedAgain(n int) string {
	switch n {
	case 0:
		return "there is nothing left that it would ignore"
	case 1:
		return "1 finding counts again"
	}
	return thousands(int64(n)) + " findings count again"
}
