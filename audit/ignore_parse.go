package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	ckptfs "ckpt/internal/fs"
)

// maxIgnore bounds the bytes of an ignore list: some ten thousand entries, each
// written by a person with a reason.
const maxIgnore = 1 << 20

// ErrIgnore is matched by every error about the form of an ignore list.
var ErrIgnore = errors.New("bad ignore list")

// IgnoreError says which entry of an ignore list is wrong, and in what.
type IgnoreError struct {
	Entry int    // from 1, 0 for the list as a whole
	Field string // "" for the entry as a whole
	Msg   string
}

func (e *IgnoreError) Error() string {
	var place string
	if e.Entry > 0 {
		place = fmt.Sprintf("entry %d: ", e.Entry)
	}
	if e.Field != "" {
		place += e.Field + ": "
	}
	return "ignore list: " + place + e.Msg
}

// Is makes every IgnoreError match ErrIgnore.
func (e *IgnoreError) Is(target error) bool { return target == ErrIgnore }

// LoadIgnore reads an ignore list from a file.
func LoadIgnore(name string) ([]IgnoreRule, error) {
	data, err := ckptfs.ReadRegular(name, maxIgnore)
	if err != nil {
		return nil, fmt.Errorf("ignore list: %w", err)
	}
	rules, err := ParseIgnore(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rules, nil
}

// ParseIgnore reads an ignore list: a JSON array of objects with id, reason and
// until, and file and tensor where they narrow it. Unknown fields, duplicate
// fields, two entries for the same findings, globs that match no code and dates
// that do not exist are refused, each with an *IgnoreError: a rule that says
// something else than its author meant would hide an error.
func ParseIgnore(data []byte) ([]IgnoreRule, error) {
	if len(data) > maxIgnore {
		return nil, &IgnoreError{Msg: fmt.Sprintf("larger than %d bytes", maxIgnore)}
	}
	entries, err := parseEntries(data)
	if err != nil {
		return nil, err
	}
	rules := make([]IgnoreRule, 0, len(entries))
	seen := map[[3]string]int{}
	for i := range entries {
		rule, err := entries[i].rule(i + 1)
		if err != nil {
			return nil, err
		}
		key := [3]string{rule.ID, rule.File, rule.Tensor}
		if first := seen[key]; first > 0 {
			return nil, &IgnoreError{Entry: i + 1, Msg: fmt.Sprintf("says what entry %d says", first)}
		}
		seen[key] = i + 1
		rules = append(rules, rule)
	}
	return rules, nil
}

// ignoreEntry is an entry as it is written.
type ignoreEntry struct {
	ID     jsontext.Value `json:"id"`
	File   jsontext.Value `json:"file"`
	Tensor jsontext.Value `json:"tensor"`
	Reason jsontext.Value `json:"reason"`
	Until  jsontext.Value `json:"until"`
}

func parseEntries(data []byte) ([]ignoreEntry, error) {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	switch token, err := d.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil, &IgnoreError{Msg: "nothing in it; a list without entries is []"}
	case err != nil:
		return nil, jsonError(0, err)
	case token.Kind() != '[':
		return nil, &IgnoreError{Msg: "want a JSON array of entries"}
	}
	var entries []ignoreEntry
	for d.PeekKind() != ']' {
		var e ignoreEntry
		if kind := d.PeekKind(); kind != '{' && kind != 0 {
			return nil, &IgnoreError{Entry: len(entries) + 1, Msg: "want an object"}
		}
		if err := json.UnmarshalDecode(d, &e, json.RejectUnknownMembers(true)); err != nil {
			return nil, jsonError(len(entries)+1, err)
		}
		entries = append(entries, e)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, jsonError(0, err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &IgnoreError{Msg: "something follows the list"}
	}
	return entries, nil
}

// jsonError puts an error of the JSON reader into our words.
func jsonError(entry int, err error) error {
	e := &IgnoreError{Entry: entry}
	var pointer jsontext.Pointer
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		pointer, e.Msg = syntactic.JSONPointer, fmt.Sprintf("at byte %d: %v", syntactic.ByteOffset, syntactic.Err)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			e.Msg = "stands twice"
		}
	case errors.As(err, &semantic):
		pointer, e.Msg = semantic.JSONPointer, fmt.Sprint(semantic.Err)
		if errors.Is(err, json.ErrUnknownName) {
			e.Msg = "no such field: want id, file, tensor, reason, until"
		}
	default:
		e.Msg = err.Error()
	}
	if field := pointer.LastToken(); strings.Count(string(pointer), "/") > 1 {
		e.Field = fmt.Sprintf("%q", field)
	}
	return e
}

// rule checks entry number n.
func (e *ignoreEntry) rule(n int) (IgnoreRule, error) {
	var r IgnoreRule
	var until string
	fields := []struct {
		name     string
		value    jsontext.Value
		to       *string
		required bool
		check    func(string) string
	}{
		{"id", e.ID, &r.ID, true, badID},
		{"file", e.File, &r.File, false, badGlob},
		{"tensor", e.Tensor, &r.Tensor, false, badGlob},
		{"reason", e.Reason, &r.Reason, true, badReason},
		{"until", e.Until, &until, true, badDate},
	}
	for _, f := range fields {
		if f.value == nil {
			if f.required {
				return r, &IgnoreError{Entry: n, Field: f.name, Msg: "missing"}
			}
			continue
		}
		if f.value.Kind() != '"' || json.Unmarshal(f.value, f.to) != nil {
			return r, &IgnoreError{Entry: n, Field: f.name, Msg: "want a string"}
		}
		if msg := f.check(*f.to); msg != "" {
			return r, &IgnoreError{Entry: n, Field: f.name, Msg: msg}
		}
	}
	r.Until, _ = time.Parse(dateLayout, until)
	return r, nil
}

// badID says what is wrong with a glob of codes, "" for nothing; so do its kin.
func badID(glob string) string {
	if msg := badGlob(glob); msg != "" {
		return msg
	}
	for _, c := range Codes() {
		if globMatches(glob, c.ID) {
			return ""
		}
	}
	if near := Near(glob); len(near) > 0 {
		return fmt.Sprintf("no code %q; near: %s", glob, strings.Join(near, ", "))
	}
	return fmt.Sprintf("no code %q", glob)
}

func badGlob(glob string) string {
	if glob == "" {
		return "empty: leave it out or write *"
	}
	if _, err := path.Match(glob, ""); err != nil {
		return fmt.Sprintf("%q is no glob", glob)
	}
	return ""
}

func badReason(reason string) string {
	if strings.TrimSpace(reason) == "" {
		return "empty"
	}
	return ""
}

func badDate(date string) string {
	if _, err := time.Parse(dateLayout, date); err != nil {
		return fmt.Sprintf("%q is no date of the form YYYY-MM-DD", date)
	}
	return ""
}
