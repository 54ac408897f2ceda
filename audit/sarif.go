package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// sarifBase is the uriBaseId that stands for the directory of the checkpoint.
const sarifBase = "CHECKPOINT"

// WriteSARIF writes the report in the form of SARIF 2.1.0 (OASIS, 27 March 2020):
// one run, a rule for every code, a result for every entry of the findings. The
// first example is the place of a result, the others are related places; ignored
// entries are suppressed. version is that of the program.
func (r *Report) WriteSARIF(w io.Writer, version string) error {
	p := r.printable()
	rules, index := sarifRules()
	run := sarifRun{
		Tool:        sarifTool{Driver: sarifDriver{Name: "ckpt", Version: version, Rules: rules}},
		Invocations: []sarifInvocation{p.sarifInvocation()},
		BaseIDs:     map[string]sarifArtifact{sarifBase: sarifDirectory(r.Dir)},
		ColumnKind:  "unicodeCodePoints",
		Results:     make([]sarifResult, 0, len(r.Findings)),
		Properties: map[string]any{
			"schema": r.Schema, "verdict": r.Verdict, "level": r.Level, "profile": p.Profile,
			"stats": r.Stats, "summary": r.Summary, "refetch": p.Refetch,
		},
	}
	for i := range r.Findings {
		run.Results = append(run.Results, sarifResultOf(&r.Findings[i], index))
	}
	return writeDocument(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// sarifRules makes a rule of every code, and says where each one stands.
func sarifRules() (rules []sarifRule, index map[string]int) {
	index = map[string]int{}
	for i, c := range Codes() {
		index[c.ID] = i
		rules = append(rules, sarifRule{
			ID:               c.ID,
			ShortDescription: sarifText{Text: c.Title},
			FullDescription:  sarifText{Text: c.Cause + " " + c.Consequence},
			Help: sarifText{
				Text:     c.Cure + "\n" + c.Command,
				Markdown: c.Cure + "\n\n    " + c.Command + "\n",
			},
			Configuration: sarifConfiguration{Level: sarifLevel(c.Severity)},
			Properties:    map[string]any{"level": c.Level},
		})
	}
	return rules, index
}

func sarifLevel(s Severity) string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "note"
}

func sarifResultOf(f *Finding, index map[string]int) sarifResult {
	p := printableFinding(*f)
	result := sarifResult{
		RuleID: f.ID, RuleIndex: index[f.ID], Level: sarifLevel(f.Severity),
		Message:         sarifMessage(sarifSentence(&p)),
		OccurrenceCount: f.Count,
		Fingerprints:    map[string]string{"ckptFinding/v1": f.fingerprint()},
		Properties:      map[string]any{"count": f.Count, "expected": p.Expected, "actual": p.Actual, "fix": p.Fix},
		Suppressions:    []sarifSuppression{},
	}
	for i := range f.Examples {
		location, ok := sarifLocationOf(&f.Examples[i])
		switch {
		case !ok:
		case i == 0:
			result.Locations = append(result.Locations, location)
		default:
			location.ID = i
			result.Related = append(result.Related, location)
		}
	}
	if f.Ignored != nil {
		result.Suppressions = append(result.Suppressions, sarifSuppression{
			Kind: "external", Status: "accepted",
			Justification: fmt.Sprintf("%s (until %s)", f.Ignored.Reason, f.Ignored.Until),
		})
	}
	return result
}

// sarifMessage makes a message of a text. Braces are doubled, since SARIF takes
// single ones for places to fill in.
func sarifMessage(text string) sarifText {
	return sarifText{Text: strings.NewReplacer("{", "{{", "}", "}}").Replace(text)}
}

// sarifSentence is a message that stands for itself: viewers show it alone.
func sarifSentence(f *Finding) string {
	text := f.Message
	if f.Expected != "" || f.Actual != "" {
		text += fmt.Sprintf(" (expected %s, actual %s)", orNothing(f.Expected), orNothing(f.Actual))
	}
	if f.Tensor != "" {
		text = f.Tensor + ": " + text
	}
	if f.Count > 1 {
		text += fmt.Sprintf(" [%s like this]", thousands(int64(f.Count)))
	}
	return text
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// fingerprint stays the same from one audit to the next while the finding does.
func (f *Finding) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.ID, f.File, f.Tensor, f.Group}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// sarifLocationOf gives the place of an example, false where it has none.
func sarifLocationOf(e *Example) (sarifLocation, bool) {
	var l sarifLocation
	if e.File != "" {
		l.Physical = &sarifPhysical{Artifact: sarifFile(e.File)}
		if e.Offset != nil && *e.Offset >= 0 {
			l.Physical.Region = &sarifRegion{ByteOffset: *e.Offset}
		}
	}
	if e.Tensor != "" {
		name := printableText(e.Tensor)
		l.Logical = []sarifLogical{{Name: name, FullName: name, Kind: "tensor"}}
	}
	return l, e.File != "" || e.Tensor != ""
}

// sarifFile says where a file is: in the checkpoint, or by its whole path.
func sarifFile(name string) sarifArtifact {
	if filepath.IsAbs(name) {
		return sarifArtifact{URI: "file:///" + relativeURI(strings.TrimLeft(filepath.ToSlash(name), "/"))}
	}
	return sarifArtifact{URI: relativeURI(name), BaseID: sarifBase}
}

// relativeURI percent-encodes a path. A colon is encoded too: it would make a
// scheme of what stands before it.
func relativeURI(name string) string {
	segments := strings.Split(filepath.ToSlash(name), "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(s), ":", "%3A")
	}
	return strings.Join(segments, "/")
}

// sarifDirectory says where the checkpoint is; of a relative path that is known
// to the caller alone.
func sarifDirectory(path string) sarifArtifact {
	a := sarifArtifact{Description: &sarifText{Text: "the directory of the checkpoint"}}
	if filepath.IsAbs(path) {
		a.URI = "file:///" + relativeURI(strings.Trim(filepath.ToSlash(path), "/")) + "/"
	}
	return a
}

// sarifInvocation says how the audit went, with what it could not check.
func (r *Report) sarifInvocation() sarifInvocation {
	in := sarifInvocation{
		Successful: r.Verdict != Incomplete,
		ExitCode:   r.ExitStatus(),
		ExitReason: r.VerdictLine(),
	}
	for _, c := range r.Gaps() {
		in.Notifications = append(in.Notifications, sarifNotification{
			Level: "warning", Message: sarifMessage("not checked: " + c.Title + ": " + c.Reason),
			Rule: &sarifReference{ID: c.ID},
		})
	}
	for _, note := range r.Notes {
		in.Notifications = append(in.Notifications, sarifNotification{Level: "note", Message: sarifMessage(note)})
	}
	return in
}
