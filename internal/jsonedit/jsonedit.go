// Package jsonedit changes single values in a JSON text and leaves every other
// byte as it is: order, spelling of numbers, indentation. [Replace] takes the
// text and the new values by JSON pointer; [Find] shows where a value stands.
//
// Limits: the text is strict JSON (RFC 8259, UTF-8, no duplicate names), at
// most 10,000 levels deep. Values are replaced and never added or removed.
package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Edit is a new value for the place that a JSON pointer (RFC 6901) names.
type Edit struct {
	Pointer string
	Value   string // JSON text
}

// ErrAbsent: a pointer leads to nothing.
var ErrAbsent = errors.New("no such value")

var errSeveral = errors.New("more than one JSON value")

// span is where a value stands in its text.
type span struct{ begin, end int }

// Find gives the text of the value that a pointer names, and whether there is
// one. Errors are those of the JSON text.
func Find(text []byte, pointer string) (value []byte, ok bool, err error) {
	found, err := locate(text, []string{pointer})
	if err != nil {
		return nil, false, err
	}
	at, ok := found[pointer]
	return text[at.begin:at.end], ok, nil
}

// Replace puts new values in the place of old ones. Every pointer must lead to
// a value, and none into another's.
func Replace(text []byte, edits []Edit) ([]byte, error) {
	pointers := make([]string, len(edits))
	for i, e := range edits {
		pointers[i] = e.Pointer
	}
	found, err := locate(text, pointers)
	if err != nil {
		return nil, err
	}
	for _, p := range pointers {
		if _, ok := found[p]; !ok {
			return nil, fmt.Errorf("%s: %w", p, ErrAbsent)
		}
	}
	sorted := slices.SortedFunc(slices.Values(edits), func(a, b Edit) int {
		return found[a.Pointer].begin - found[b.Pointer].begin
	})
	var out []byte
	copied := 0
	for _, e := range sorted {
		at := found[e.Pointer]
		if at.begin < copied {
			return nil, fmt.Errorf("%s: lies within another value that is replaced", e.Pointer)
		}
		out = append(out, text[copied:at.begin]...)
		out = append(out, e.Value...)
		copied = at.end
	}
	return append(out, text[copied:]...), nil
}

// locate finds values by their pointers in one pass over the whole text.
func locate(text []byte, pointers []string) (map[string]span, error) {
	want := map[string]bool{}
	for _, p := range pointers {
		want[p] = true
	}
	found := map[string]span{}
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for values := 0; ; {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) && values == 1 {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if d.StackDepth() == 0 {
			values++
		}
		if values > 1 {
			return nil, errSeveral
		}
		end := int(d.InputOffset())
		pointer := string(d.StackPointer())
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 1 {
			continue // the name of a member, whose pointer is its value's
		}
		if !want[pointer] {
			continue
		}
		switch tok.Kind() {
		case '{', '[':
			found[pointer] = span{end - 1, end} // completed at its end
		case '}', ']':
			found[pointer] = span{found[pointer].begin, end}
		default:
			found[pointer] = span{end - len(tokenText(text[:end], tok)), end}
		}
	}
}

// tokenText is the scalar that text ends with.
func tokenText(text []byte, tok jsontext.Token) []byte {
	if tok.Kind() != '"' {
		at := bytes.LastIndexAny(text, " \t\r\n:,[{")
		return text[at+1:]
	}
	for at := len(text) - 2; ; at-- { // from the closing quote to the opening one
		if text[at] != '"' {
			continue
		}
		slashes := 0
		for at-slashes > 0 && text[at-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return text[at:]
		}
	}
}

// Array writes an array in the manner of old, an array of the same text: its
// elements one a line with old's indentation, or all on one line.
func Array(old []byte, elements []string) string {
	flat := "[" + strings.Join(elements, ", ") + "]"
	if len(old) < 2 || old[0] != '[' {
		return flat
	}
	open := len(old) - len(bytes.TrimLeft(old[1:], " \t\r\n"))
	inner := string(old[1:open])
	if open >= len(old)-1 || !strings.Contains(inner, "\n") || len(elements) == 0 {
		return flat
	}
	last := len(bytes.TrimRight(old[:len(old)-1], " \t\r\n"))
	return "[" + inner + strings.Join(elements, ","+inner) + string(old[last:])
}

// Elements are the texts of an array's elements.
func Elements(array []byte) ([]string, error) {
	var out []string
	d := jsontext.NewDecoder(bytes.NewReader(array))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil, errors.Join(err, errors.New("not an array"))
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, string(v))
	}
	return out, nil
}
