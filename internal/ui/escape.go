package ui

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes a name from a file fit to be shown to a person: control
// characters, escape sequences, characters that turn the direction of writing
// or have no width, and bytes that are not UTF-8 appear as \x1b, \u202e and
// the like. Everything else, a backslash included, stays as it is, so that
// escaping twice changes nothing.
func Escape(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case visible(r):
			b.WriteString(s[i : i+n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// clean is the quick answer for names of printable ASCII, which nearly all are.
func clean(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// visible reports whether a rune can be seen and stays in its place. Go's
// print class leaves out controls, format characters (bidi, zero width, tags)
// and spaces other than U+0020; a few letters of it have no glyph.
func visible(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, // fillers of Hangul
		0x2800,         // blank of Braille
		0x17b4, 0x17b5, // inherent vowels of Khmer
		0x034f: // grapheme joiner
		return false
	}
	if r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef { // variation selectors
		return false
	}
	return unicode.IsPrint(r)
}

// Short escapes a name and cuts it in the middle where it is wider than max
// columns: a header may hold a name of megabytes.
func Short(s string, maxWidth int) string {
	if len(s) > 8*maxWidth { // escapes make at most six bytes of one
		s = s[:4*maxWidth] + "…" + s[len(s)-4*maxWidth:]
	}
	s = Escape(s)
	if Width(s) <= maxWidth {
		return s
	}
	runes := []rune(s)
	head, tail := 0, len(runes)
	width := 1 // the ellipsis
	for head < tail {
		w := runeWidth(runes[head])
		if width+w > maxWidth/2 {
			break
		}
		width += w
		head++
	}
	for tail > head {
		w := runeWidth(runes[tail-1])
		if width+w > maxWidth {
			break
		}
		width += w
		tail--
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}
