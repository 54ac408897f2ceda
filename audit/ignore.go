package audit

import (
	"path"
	"strings"
	"time"
)

// IgnoreRule is one entry of an ignore list: the findings that its globs match
// stay listed and do not count, up to and with its last day.
//
// In a glob * stands for any run of characters, ? for one, [a-z] for one of a
// set, and a back-slash takes the next character as it is. An empty File or
// Tensor matches everything, a finding that speaks of no file or tensor included.
type IgnoreRule struct {
	ID, File, Tensor string
	Reason           string
	Until            time.Time // the last day on which it holds, 00:00 UTC of it
}

// dateLayout is how a day is written.
const dateLayout = time.DateOnly

// Expired reports whether the last day of the rule is over at now. Days are
// counted in UTC, so that a rule ends everywhere at once.
func (r *IgnoreRule) Expired(now time.Time) bool {
	return !now.UTC().Before(r.Until.AddDate(0, 0, 1))
}

func (r *IgnoreRule) matches(f *Finding) bool {
	return globMatches(r.ID, f.ID) &&
		(r.File == "" || globMatches(r.File, f.File)) &&
		(r.Tensor == "" || globMatches(r.Tensor, f.Tensor))
}

// globMatches is path.Match with a slash that is a character like any other.
func globMatches(glob, name string) bool {
	if glob == "*" || glob == name {
		return true
	}
	ok, err := path.Match(strings.ReplaceAll(glob, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// RuleStatus is what became of an ignore rule.
type RuleStatus string

// What can become of a rule.
const (
	RuleApplied   RuleStatus = "applied"
	RuleExpired   RuleStatus = "expired"   // its findings count
	RuleUnmatched RuleStatus = "unmatched" // there was nothing to ignore
)

// RuleUse says what an ignore rule did in this audit.
type RuleUse struct {
	Entry   int        `json:"entry"` // of the ignore list, from 1
	ID      string     `json:"id"`
	File    string     `json:"file"`
	Tensor  string     `json:"tensor"`
	Reason  string     `json:"reason"`
	Until   string     `json:"until"`
	Status  RuleStatus `json:"status"`
	Matched int        `json:"matched"` // instances, by an expired rule too
}

// ruleUse is a rule at work.
type ruleUse struct {
	rule    IgnoreRule
	expired bool
	matched int
}

func ruleUses(rules []IgnoreRule, now time.Time) []ruleUse {
	uses := make([]ruleUse, len(rules))
	for i, r := range rules {
		uses[i] = ruleUse{rule: r, expired: r.Expired(now)}
	}
	return uses
}

func (u *ruleUse) ignored(index int) *Ignored {
	return &Ignored{Reason: u.rule.Reason, Until: u.rule.Until.Format(dateLayout), Entry: index + 1}
}

func (u *ruleUse) report(index int) RuleUse {
	r := RuleUse{
		Entry: index + 1, ID: u.rule.ID, File: u.rule.File, Tensor: u.rule.Tensor,
		Reason: u.rule.Reason, Until: u.rule.Until.Format(dateLayout),
		Status: RuleApplied, Matched: u.matched,
	}
	switch {
	case u.expired:
		r.Status = RuleExpired
	case u.matched == 0:
		r.Status = RuleUnmatched
	}
	return r
}
