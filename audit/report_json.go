package audit

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// WriteJSON writes the report as one indented document with a line break at its
// end. Equal reports give equal bytes. Bytes of names that are not UTF-8 appear as
// U+FFFD, with the whole name in hex in a field beside; characters that could
// change what a terminal shows are written as \u escapes, which mean the same.
func (r *Report) WriteJSON(w io.Writer) error {
	return writeDocument(w, r.printable())
}

// writeDocument writes any value in the form of WriteJSON.
func writeDocument(w io.Writer, v any) error {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(append(escapeUnsafe(data), '\n'))
	return err
}

// printable is a copy of the report in which every text is UTF-8.
func (r *Report) printable() *Report {
	p := *r
	p.Path, p.PathHex = printableName(r.Path, r.PathHex)
	p.Profile, p.Identity = printableText(r.Profile), printableText(r.Identity)
	p.Checks = mapped(r.Checks, func(c Check) Check {
		c.Reason = printableText(c.Reason)
		return c
	})
	p.Refetch = mapped(r.Refetch, printableText)
	p.Waived, p.Notes = mapped(r.Waived, printableText), mapped(r.Notes, printableText)
	p.Findings = mapped(r.Findings, printableFinding)
	return &p
}

func printableFinding(f Finding) Finding {
	f.File, f.FileHex = printableName(f.File, f.FileHex)
	f.Tensor, f.TensorHex = printableName(f.Tensor, f.TensorHex)
	f.Expected, f.Actual = printableText(f.Expected), printableText(f.Actual)
	f.Message, f.Fix = printableText(f.Message), printableText(f.Fix)
	f.Examples = mapped(f.Examples, printableExample)
	return f
}

func printableExample(e Example) Example {
	e.File, e.FileHex = printableName(e.File, e.FileHex)
	e.Tensor, e.TensorHex = printableName(e.Tensor, e.TensorHex)
	e.Expected, e.Actual = printableText(e.Expected), printableText(e.Actual)
	e.Message, e.Fix = printableText(e.Message), printableText(e.Fix)
	return e
}

func mapped[T any](from []T, by func(T) T) []T {
	to := make([]T, len(from))
	for i, v := range from {
		to[i] = by(v)
	}
	return to
}

// printableName gives a name as UTF-8, and its bytes in hex where that is not the
// name itself. A report that was read from JSON brings the hex along.
func printableName(name, known string) (text, bytes string) {
	if utf8.ValidString(name) {
		return name, known
	}
	return printableText(name), hex.EncodeToString([]byte(name))
}

// printableText puts one U+FFFD for each byte that is not UTF-8.
func printableText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// escapeUnsafe writes characters of a JSON document that a terminal might obey
// (DEL, the C1 controls, the bidi controls, the line separators) as \u escapes.
// They occur within strings alone, and the other controls are escaped already.
func escapeUnsafe(document []byte) []byte {
	if !strings.ContainsFunc(string(document), unsafeRune) {
		return document
	}
	safe := make([]byte, 0, len(document)+64)
	for _, r := range string(document) {
		if unsafeRune(r) {
			safe = fmt.Appendf(safe, `\u%04x`, r)
		} else {
			safe = utf8.AppendRune(safe, r)
		}
	}
	return safe
}

func unsafeRune(r rune) bool {
	switch {
	case 0x7f <= r && r <= 0x9f, // DEL and C1
		r == 0x061c,                // Arabic letter mark
		0x200e <= r && r <= 0x200f, // left-to-right and right-to-left marks
		0x2028 <= r && r <= 0x202e, // line and paragraph separators, embeddings and overrides
		0x2066 <= r && r <= 0x2069: // isolates
		return true
	}
	return false
}
