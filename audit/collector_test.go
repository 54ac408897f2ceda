package audit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// today is the day of all tests.
var today = time.Date(2026, 7, 29, 12, 0, 0, 0, time.UTC)

// clean is a collector in which every check was made and found nothing.
func clean(opts CollectorOptions) *Collector {
	if opts.Level == 0 {
		opts.Level = LevelHeaders.complete()
	}
	if opts.Now.IsZero() {
		opts.Now = today
	}
	c := NewCollector(opts)
	c.Checked("*")
	return c
}

var subject = Subject{Path: "k3", Format: FormatSafetensors}

func checkOf(t *testing.T, r *Report, id string) Check {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no check %s", id)
	}
	return r.Checks[i]
}

func TestCleanReportPasses(t *testing.T) {
	r := clean(CollectorOptions{}).Report(subject)
	if r.Verdict != Pass || r.ExitStatus() != 0 || len(r.Findings) != 0 {
		t.Errorf("verdict %v, exit %d, findings %v", r.Verdict, r.ExitStatus(), r.Findings)
	}
	if n := r.Summary.Passed + r.Summary.Skipped; n != len(Codes()) {
		t.Errorf("%d checks passed or were skipped, want %d", n, len(Codes()))
	}
	for id, reason := range map[string]string{"GG001": "speaks of gguf alone", "VA001": "decided at level values"} {
		if c := checkOf(t, r, id); c.Status != StatusSkip || c.Reason != reason || c.Gap {
			t.Errorf("%s: %+v", id, c)
		}
	}
}

func TestWhatWasNotCheckedIsNoPass(t *testing.T) {
	c := NewCollector(CollectorOptions{Level: LevelHeaders.complete(), Now: today})
	c.Checked("FS*", "SE*", "ST*", "IX*", "CF*", "QT*")
	r := c.Report(subject)
	if r.Verdict != Incomplete || r.ExitStatus() != 3 {
		t.Errorf("verdict %v", r.Verdict)
	}
	if c := checkOf(t, r, "MD001"); c.Status != StatusSkip || !c.Gap || c.Reason == "" {
		t.Errorf("MD001: %+v", c)
	}
}

func TestUnknownCodesPanic(t *testing.T) {
	for name, do := range map[string]func(*Collector){
		"add":     func(c *Collector) { c.Add(Finding{ID: "XX001"}) },
		"checked": func(c *Collector) { c.Checked("XX*") },
		"gap":     func(c *Collector) { c.Gap("", "no reason") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			do(NewCollector(CollectorOptions{}))
		})
	}
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name   string
		failOn Severity
		do     func(*Collector)
		want   Verdict
	}{
		{"info", 0, func(c *Collector) { c.Add(Finding{ID: "ST013"}) }, Pass},
		{"warning", 0, func(c *Collector) { c.Add(Finding{ID: "CF005"}) }, Pass},
		{"warning that fails", Warning, func(c *Collector) { c.Add(Finding{ID: "CF005"}) }, Fail},
		{"error", 0, func(c *Collector) { c.Add(Finding{ID: "FS002"}) }, Fail},
		{"raised severity", 0, func(c *Collector) { c.Add(Finding{ID: "FS018", Severity: Error}) }, Fail},
		{"lowered severity", Warning, func(c *Collector) { c.Add(Finding{ID: "FS018", Severity: Info}) }, Pass},
		{"gap", 0, func(c *Collector) { c.Gap("MD001", "config.json cannot be read") }, Incomplete},
		{"gap and warning", 0, func(c *Collector) { c.Gap("MD001", "x"); c.Add(Finding{ID: "CF005"}) }, Incomplete},
		{"gap and error", 0, func(c *Collector) { c.Gap("MD001", "x"); c.Add(Finding{ID: "FS011"}) }, Fail},
		{"skip", Warning, func(c *Collector) { c.Skip("MD*", "no profile for llama") }, Pass},
		{"waived", Warning, func(c *Collector) { c.Waive("MD*", "--profile none") }, Pass},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := clean(CollectorOptions{FailOn: test.failOn})
			test.do(c)
			if r := c.Report(subject); r.Verdict != test.want {
				t.Errorf("verdict %v, want %v", r.Verdict, test.want)
			}
		})
	}
}

func TestStatusOfChecks(t *testing.T) {
	c := clean(CollectorOptions{})
	c.Add(Finding{ID: "FS018"})
	c.Add(Finding{ID: "FS018", Severity: Error, Message: "more than half"})
	c.Add(Finding{ID: "FS013"})
	c.Add(Finding{ID: "ST013"})
	c.Gap("MD003", "b 10: no")
	c.Gap("MD003", "b 2: no")
	c.Gap("CF005", "cannot list")
	c.Add(Finding{ID: "CF005"})
	c.Gap("FS017", "no extents on tmpfs")
	c.Add(Finding{ID: "FS017"})
	c.Skip("IX*", "a single file")
	c.Add(Finding{ID: "IX003"})
	c.Waive("MD001", "--profile none")
	r := c.Report(subject)
	want := map[string]Check{
		"FS018": {Status: StatusFail},
		"FS013": {Status: StatusWarn},
		"ST013": {Status: StatusPass, Reason: "1 info"},
		"MD003": {Status: StatusSkip, Reason: "b 2: no; b 10: no", Gap: true},
		"CF005": {Status: StatusWarn, Reason: "cannot list", Gap: true},
		"FS017": {Status: StatusSkip, Reason: "no extents on tmpfs", Gap: true},
		"IX001": {Status: StatusSkip, Reason: "a single file"},
		"IX003": {Status: StatusFail},
		"MD001": {Status: StatusSkip, Reason: "--profile none"},
		"MD004": {Status: StatusPass},
	}
	for id, w := range want {
		got := checkOf(t, r, id)
		w.ID, w.Title = id, got.Title
		if got != w {
			t.Errorf("%s: %+v, want %+v", id, got, w)
		}
	}
	if diff := cmp.Diff([]string{"--profile none"}, r.Waived); diff != "" {
		t.Error(diff)
	}
	if s := r.Summary; s.Errors != 2 || s.Warnings != 3 || s.Infos != 2 || s.Gaps != 3 {
		t.Errorf("summary %+v", s)
	}
}

// missing is one of many identical findings.
func missing(layer, expert int) Finding {
	return Finding{
		ID: "MD001", File: fmt.Sprintf("model-%d.safetensors", layer),
		Tensor:  fmt.Sprintf("layers.%d.experts.%d.w1", layer, expert),
		Message: "of the profile, in no shard", Refetch: true,
	}
}

func TestIdenticalFindingsAreOneEntry(t *testing.T) {
	c := clean(CollectorOptions{})
	for layer := range 12 {
		for expert := range 12 {
			c.Add(missing(11-layer, expert))
		}
	}
	r := c.Report(subject)
	if len(r.Findings) != 1 || r.Summary.Errors != 144 {
		t.Fatalf("%d entries, %d errors", len(r.Findings), r.Summary.Errors)
	}
	f := r.Findings[0]
	if f.Count != 144 || f.Severity != Error || f.Tensor != "layers.0.experts.0.w1" || f.Message != "of the profile, in no shard" {
		t.Errorf("entry %+v", f)
	}
	var examples []string
	for _, e := range f.Examples {
		examples = append(examples, e.Tensor)
	}
	if diff := cmp.Diff([]string{"layers.0.experts.0.w1", "layers.0.experts.1.w1", "layers.0.experts.2.w1"}, examples); diff != "" {
		t.Error(diff)
	}
	if len(r.Refetch) != 12 || r.Refetch[2] != "model-2.safetensors" {
		t.Errorf("refetch %q", r.Refetch)
	}
}

func TestGroupKeyOfTheCheck(t *testing.T) {
	c := clean(CollectorOptions{})
	c.Add(Finding{ID: "MD003", Group: "w1", Message: "one"})
	c.Add(Finding{ID: "MD003", Group: "w1", Message: "two"})
	c.Add(Finding{ID: "MD003", Group: "w2", Message: "one"})
	c.Add(Finding{ID: "MD003", Message: "w1"})
	c.Add(Finding{ID: "MD003", Severity: Warning, Group: "w1", Message: "one"})
	if r := c.Report(subject); len(r.Findings) != 4 || r.Findings[3].Severity != Warning {
		t.Errorf("findings %+v", r.Findings)
	}
}

func TestFindingThatStandsForSeveral(t *testing.T) {
	c := clean(CollectorOptions{})
	c.Add(Finding{ID: "QT001", Count: 43, Message: "no scale"})
	c.Add(Finding{ID: "QT001", Message: "no scale", Tensor: "b"})
	r := c.Report(subject)
	if r.Summary.Errors != 44 || r.Findings[0].Count != 44 || len(r.Findings[0].Examples) != 2 {
		t.Errorf("%+v", r.Findings)
	}
}

func TestFixesThatDifferStayWithTheirExamples(t *testing.T) {
	c := clean(CollectorOptions{})
	for _, name := range []string{"a", "b"} {
		c.Add(Finding{ID: "FS002", File: name, Message: "missing", Fix: "fetch " + name})
	}
	f := c.Report(subject).Findings[0]
	if f.Fix != "fetch a" || f.Examples[0].Fix != "" || f.Examples[1].Fix != "fetch b" {
		t.Errorf("%+v", f)
	}
}

func TestOrderOfFindings(t *testing.T) {
	c := clean(CollectorOptions{})
	add := func(id, file, tensor string, offset int64) {
		c.Add(Finding{ID: id, File: file, Tensor: tensor, Offset: At(offset), Group: fmt.Sprint(file, tensor, offset)})
	}
	add("ST013", "a", "", 0)
	add("MD001", "a10", "", 0)
	add("MD001", "a2", "t10", 5)
	add("MD001", "a2", "t2", 7)
	add("MD001", "a2", "t2", 6)
	add("FS013", "z", "", 0)
	add("FS002", "z", "", 0)
	var got []string
	for _, f := range c.Report(subject).Findings {
		got = append(got, fmt.Sprint(f.ID, " ", f.File, " ", f.Tensor, " ", *f.Offset))
	}
	want := []string{
		"FS002 z  0", "MD001 a2 t2 6", "MD001 a2 t2 7", "MD001 a2 t10 5", "MD001 a10  0", "FS013 z  0", "ST013 a  0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func findings() *rapid.Generator[Finding] {
	return rapid.Custom(func(t *rapid.T) Finding {
		f := Finding{
			ID:      rapid.SampledFrom([]string{"FS018", "MD001", "QT001", "ST013"}).Draw(t, "id"),
			File:    rapid.SampledFrom([]string{"", "a1", "a2", "a10"}).Draw(t, "file"),
			Tensor:  rapid.SampledFrom([]string{"", "t1", "t2", "t10"}).Draw(t, "tensor"),
			Message: rapid.SampledFrom([]string{"1 byte", "2 byte", "other"}).Draw(t, "message"),
			Actual:  rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "actual"),
			Refetch: rapid.Bool().Draw(t, "refetch"),
		}
		f.Severity = Severity(rapid.IntRange(0, int(Error)).Draw(t, "severity"))
		if rapid.Bool().Draw(t, "offset?") {
			f.Offset = At(int64(rapid.IntRange(0, 3).Draw(t, "offset")))
		}
		return f
	})
}

// rendered is a report of the findings, added by several goroutines, as JSON.
func rendered(fs []Finding, opts CollectorOptions, workers int) string {
	c := clean(opts)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(fs); i += workers {
				c.Add(fs[i])
			}
		})
	}
	wg.Wait()
	var out bytes.Buffer
	if err := c.Report(subject).WriteJSON(&out); err != nil {
		panic(err)
	}
	return out.String()
}

func TestReportDoesNotDependOnTheOrderOfCalls(t *testing.T) {
	rules := []IgnoreRule{
		{ID: "MD*", Tensor: "t1*", Reason: "known", Until: today},
		{ID: "FS018", File: "a?", Reason: "known", Until: today},
	}
	rapid.Check(t, func(t *rapid.T) {
		fs := rapid.SliceOfN(findings(), 0, 60).Draw(t, "findings")
		opts := CollectorOptions{All: rapid.Bool().Draw(t, "all"), Ignore: rules}
		want := rendered(fs, opts, 1)
		shuffled := slices.Clone(fs)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := rendered(shuffled, opts, 4); got != want {
			t.Fatal(cmp.Diff(want, got))
		}
	})
}

func TestGroupsKeepTheFirstOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := rapid.SliceOfN(findings(), 1, 60).Draw(t, "findings")
		few, all := clean(CollectorOptions{}), clean(CollectorOptions{All: true})
		for _, f := range fs {
			few.Add(f)
			all.Add(f)
		}
		a, b := few.Report(subject), all.Report(subject)
		if len(a.Findings) != len(b.Findings) || a.Summary != b.Summary {
			t.Fatalf("%d entries, with all %d", len(a.Findings), len(b.Findings))
		}
		total := 0
		for i, f := range b.Findings {
			total += f.Count
			if f.Count != len(f.Examples) {
				t.Fatalf("count %d, examples %d", f.Count, len(f.Examples))
			}
			if diff := cmp.Diff(f.Examples[:min(3, f.Count)], a.Findings[i].Examples); diff != "" {
				t.Fatal(diff)
			}
		}
		if s := b.Summary; total != len(fs) || s.Errors+s.Warnings+s.Infos != total {
			t.Fatalf("%d findings counted of %d: %+v", total, len(fs), s)
		}
	})
}

func TestReasonsAreBounded(t *testing.T) {
	c := clean(CollectorOptions{})
	for i := range 100 {
		c.Gap("ST005", fmt.Sprintf("file %d is closed", 99-i))
	}
	check := checkOf(t, c.Report(subject), "ST005")
	if !strings.HasPrefix(check.Reason, "file 0 is closed; file 1 is") || !strings.HasSuffix(check.Reason, "; 97 more") {
		t.Errorf("reason %q", check.Reason)
	}
}

func BenchmarkAdd(b *testing.B) {
	c := clean(CollectorOptions{})
	all := make([]Finding, 1<<16)
	for i := range all {
		all[i] = missing(i%93, i/93)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Add(all[i%len(all)])
	}
}

func TestNotesStandOnce(t *testing.T) {
	c := clean(CollectorOptions{})
	for range 2 {
		c.Note("part 10 was renamed")
		c.Note("part 9 was renamed")
	}
	if diff := cmp.Diff([]string{"part 9 was renamed", "part 10 was renamed"}, c.Report(subject).Notes); diff != "" {
		t.Error(diff)
	}
	if !c.Level().Has(LevelHeaders) {
		t.Errorf("level %v", c.Level())
	}
}

func TestFormatThatWasNotRecognised(t *testing.T) {
	c := NewCollector(CollectorOptions{Level: LevelHeaders.complete(), Now: today})
	c.Add(Finding{ID: "FS001", Message: "no such directory"})
	c.Skip("*", "there is no checkpoint")
	r := c.Report(Subject{Path: "nowhere"})
	if r.Verdict != Fail || r.Summary.Passed != 0 || r.Summary.Gaps != 0 || r.Summary.Skipped != len(Codes())-1 {
		t.Errorf("verdict %v, summary %+v", r.Verdict, r.Summary)
	}
}
