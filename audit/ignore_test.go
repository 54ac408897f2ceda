package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func rules(t *testing.T, text string) []IgnoreRule {
	t.Helper()
	r, err := ParseIgnore([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestIgnoredFindingsStayListedAndDoNotCount(t *testing.T) {
	c := clean(CollectorOptions{FailOn: Warning, Ignore: rules(t,
		`[{"id": "CF005", "file": "tokenizer*", "reason": "served without text", "until": "2026-12-31"}]`)})
	c.Add(Finding{ID: "CF005", File: "tokenizer.json", Message: "missing", Refetch: true})
	r := c.Report(subject)
	if r.Verdict != Pass || r.Summary.Warnings != 0 || r.Summary.Ignored != 1 || len(r.Refetch) != 0 {
		t.Errorf("verdict %v, summary %+v, refetch %q", r.Verdict, r.Summary, r.Refetch)
	}
	if check := checkOf(t, r, "CF005"); check.Status != StatusPass || check.Reason != "1 finding ignored" {
		t.Errorf("check %+v", check)
	}
	want := &Ignored{Reason: "served without text", Until: "2026-12-31", Entry: 1}
	if diff := cmp.Diff(want, r.Findings[0].Ignored); diff != "" {
		t.Error(diff)
	}
	if r.Ignore[0].Status != RuleApplied || r.Ignore[0].Matched != 1 || len(r.Notes) != 0 {
		t.Errorf("rules %+v, notes %q", r.Ignore, r.Notes)
	}
}

func TestRuleSplitsAGroup(t *testing.T) {
	c := clean(CollectorOptions{Ignore: rules(t,
		`[{"id": "MD001", "tensor": "layers.1.*", "reason": "cut on purpose", "until": "2026-12-31"},
		  {"id": "MD*", "tensor": "layers.[12].*", "reason": "cut too", "until": "2026-12-31"}]`)})
	for layer := range 4 {
		for expert := range 5 {
			c.Add(missing(layer, expert))
		}
	}
	r := c.Report(subject)
	var got []string
	for _, f := range r.Findings {
		reason := "counts"
		if f.Ignored != nil {
			reason = f.Ignored.Reason
		}
		got = append(got, f.Tensor+" "+thousands(int64(f.Count))+" "+reason)
	}
	want := []string{
		"layers.0.experts.0.w1 10 counts",
		"layers.1.experts.0.w1 5 cut on purpose",
		"layers.2.experts.0.w1 5 cut too",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Verdict != Fail || r.Summary.Errors != 10 || r.Summary.Ignored != 10 {
		t.Errorf("verdict %v, summary %+v", r.Verdict, r.Summary)
	}
	if r.Ignore[1].Matched != 10 { // those of the first rule too
		t.Errorf("rules %+v", r.Ignore)
	}
}

func TestRuleExpiresAfterItsLastDay(t *testing.T) {
	list := rules(t, `[{"id": "FS013", "reason": "leftover", "until": "2026-07-29"}]`)
	tests := []struct {
		now     string
		ignored bool
	}{
		{"2026-01-01T00:00:00Z", true},
		{"2026-07-29T00:00:00Z", true},
		{"2026-07-29T23:59:59.999Z", true},
		{"2026-07-30T00:00:00Z", false},
		{"2026-07-30T01:30:00+02:00", true},  // 23:30 of the day before in UTC
		{"2026-07-29T20:00:00-05:00", false}, // 01:00 of the next day in UTC
	}
	for _, test := range tests {
		now, err := time.Parse(time.RFC3339, test.now)
		if err != nil {
			t.Fatal(err)
		}
		c := clean(CollectorOptions{Ignore: list, Now: now})
		c.Add(Finding{ID: "FS013", File: "old.safetensors"})
		r := c.Report(subject)
		if got := r.Summary.Ignored == 1; got != test.ignored || r.Summary.Warnings == 1 == got {
			t.Errorf("%s: ignored %v, want %v", test.now, got, test.ignored)
		}
		if got := r.Ignore[0].Status == RuleExpired; got == test.ignored {
			t.Errorf("%s: rule %+v", test.now, r.Ignore[0])
		}
		if got := len(r.Notes) == 1 && strings.Contains(r.Notes[0], "expired on 2026-07-29: 1 finding counts again"); got == test.ignored {
			t.Errorf("%s: notes %q", test.now, r.Notes)
		}
	}
}

func TestRuleInForceStandsInForAnExpiredOne(t *testing.T) {
	c := clean(CollectorOptions{Ignore: rules(t,
		`[{"id": "FS013", "reason": "old", "until": "2020-01-01"}, {"id": "FS0*", "reason": "new", "until": "2030-01-01"}]`)})
	c.Add(Finding{ID: "FS013"})
	if f := c.Report(subject).Findings[0]; f.Ignored == nil || f.Ignored.Entry != 2 {
		t.Errorf("%+v", f)
	}
}

func TestRuleThatMatchedNothingIsReported(t *testing.T) {
	c := clean(CollectorOptions{Ignore: rules(t,
		`[{"id": "FS013", "file": "old*", "reason": "leftover", "until": "2026-12-31"}]`)})
	c.Add(Finding{ID: "FS013", File: "new.safetensors"})
	r := c.Report(subject)
	if r.Ignore[0].Status != RuleUnmatched || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "matched nothing") {
		t.Errorf("rules %+v, notes %q", r.Ignore, r.Notes)
	}
	if r.Summary.Ignored != 0 || r.Summary.Warnings != 1 {
		t.Errorf("summary %+v", r.Summary)
	}
}

func TestGlobs(t *testing.T) {
	tests := []struct {
		glob, name string
		want       bool
	}{
		{"*", "", true},
		{"*", "a/b", true},
		{"a*", "a/b/c", true},
		{"a?b", "a/b", true},
		{"a.b", "axb", false},
		{"layers.[0-9].*", "layers.10.w", false},
		{`a\*`, "a*", true},
		{`a\*`, "ab", false},
		{"?", "é", true},
		{"*.w", "\xff.w", true},
		{"a", "A", false},
	}
	for _, test := range tests {
		if got := globMatches(test.glob, test.name); got != test.want {
			t.Errorf("%q on %q: %v", test.glob, test.name, got)
		}
	}
}
