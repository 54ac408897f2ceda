package safetensors

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// lexer walks over strict JSON (RFC 8259) that is known to be UTF-8. Its
// methods leave pos behind what they read; on a fault they return false and
// leave pos on the first byte that is wrong, with the reason in fault.
type lexer struct {
	buf     []byte
	pos     int
	fault   string
	decoded []byte // holds strings whose escapes were undone
}

// maxDepth bounds the nesting of values that nobody wants. The reference
// reader's JSON library stops at 128 too.
const maxDepth = 128

func (l *lexer) fail(reason string) bool {
	l.fault = reason
	return false
}

// space skips white space between tokens.
func (l *lexer) space() {
	for l.pos < len(l.buf) {
		switch l.buf[l.pos] {
		case ' ', '\n', '\r', '\t':
			l.pos++
		default:
			return
		}
	}
}

// peek is the next byte after white space, or 0 at the end.
func (l *lexer) peek() byte {
	l.space()
	if l.pos == len(l.buf) {
		return 0
	}
	return l.buf[l.pos]
}

// expect reads one byte of punctuation after white space.
func (l *lexer) expect(c byte) bool {
	if l.peek() != c {
		if l.pos == len(l.buf) {
			return l.fail("the JSON ends early")
		}
		return l.fail("expected " + string(rune(c)))
	}
	l.pos++
	return true
}

// literal consumes s if it stands next, to the letter.
func (l *lexer) literal(s string) bool {
	if len(l.buf)-l.pos < len(s) || string(l.buf[l.pos:l.pos+len(s)]) != s {
		return false
	}
	l.pos += len(s)
	return true
}

// Constants for looking at eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, with its high bit, each of the eight bytes in x that ends a
// run of plain string bytes: a quote, a back-slash or a control character. The
// lowest mark is exact; marks above it may be false, so callers use it alone.
func special(x uint64) uint64 {
	quote := x ^ ones*'"'
	slash := x ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*' ')&^x) & highs
}

// str reads a string, quotes included. The result aliases the buffer, or
// l.decoded where there were escapes. plain is false where the string holds a
// byte beyond ASCII, an escape or DEL: where it may hold what is unsafe.
func (l *lexer) str() (s []byte, plain, ok bool) {
	if l.pos == len(l.buf) || l.buf[l.pos] != '"' {
		return nil, false, l.fail("expected a string")
	}
	l.pos++
	start := l.pos
	odd := uint64(0)
	for l.pos+8 <= len(l.buf) {
		x := binary.LittleEndian.Uint64(l.buf[l.pos:])
		mark := special(x)
		if mark == 0 {
			odd |= x | (x + ones)
			l.pos += 8
			continue
		}
		width := bits.TrailingZeros64(mark) &^ 7
		x &= 1<<width - 1
		odd |= x | (x + ones)
		l.pos += width / 8
		break
	}
	plain = odd&highs == 0
	return l.strEnd(start, plain)
}

// strEnd finishes str a byte at a time: at most eight bytes, or an escape.
func (l *lexer) strEnd(start int, plain bool) ([]byte, bool, bool) {
	for ; l.pos < len(l.buf); l.pos++ {
		switch c := l.buf[l.pos]; {
		case c == '"':
			l.pos++
			return l.buf[start : l.pos-1], plain, true
		case c == '\\':
			return l.unescape(start)
		case c < ' ':
			return nil, false, l.fail("control character in a string")
		case c >= 0x7f:
			plain = false
		}
	}
	return nil, false, l.fail("the JSON ends in a string")
}

// unescape reads the rest of a string that has an escape at pos.
func (l *lexer) unescape(start int) ([]byte, bool, bool) {
	out := append(l.decoded[:0], l.buf[start:l.pos]...)
	for l.pos < len(l.buf) {
		switch c := l.buf[l.pos]; {
		case c == '"':
			l.pos++
			l.decoded = out
			return out, false, true
		case c == '\\':
			r, ok := l.escape()
			if !ok {
				return nil, false, false
			}
			out = utf8.AppendRune(out, r)
		case c < ' ':
			return nil, false, l.fail("control character in a string")
		default:
			out = append(out, c)
			l.pos++
		}
	}
	return nil, false, l.fail("the JSON ends in a string")
}

// escape reads one escape, or the two of a surrogate pair.
func (l *lexer) escape() (rune, bool) {
	if l.pos+1 == len(l.buf) {
		return 0, l.fail("the JSON ends in an escape")
	}
	switch l.buf[l.pos+1] {
	case '"', '\\', '/':
		l.pos += 2
		return rune(l.buf[l.pos-1]), true
	case 'b':
		l.pos += 2
		return '\b', true
	case 'f':
		l.pos += 2
		return '\f', true
	case 'n':
		l.pos += 2
		return '\n', true
	case 'r':
		l.pos += 2
		return '\r', true
	case 't':
		l.pos += 2
		return '\t', true
	case 'u':
		return l.unicode()
	}
	return 0, l.fail("unknown escape")
}

// unicode reads \uXXXX; a surrogate has to be half of a pair.
func (l *lexer) unicode() (rune, bool) {
	r, ok := hex4(l.buf[l.pos:])
	if !ok {
		return 0, l.fail(`\u without four hexadecimal digits`)
	}
	if !utf16.IsSurrogate(r) {
		l.pos += 6
		return r, true
	}
	low, ok := hex4(l.buf[min(l.pos+6, len(l.buf)):])
	if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
		l.pos += 12
		return pair, true
	}
	return 0, l.fail("half of a surrogate pair")
}

// hex4 reads the \uXXXX that s begins with.
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range s[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// number reads a JSON number and returns its text.
func (l *lexer) number() ([]byte, bool) {
	start := l.pos
	l.literal("-")
	switch {
	case l.literal("0"):
	case !l.digits():
		return nil, l.fail("expected a value")
	}
	if l.literal(".") && !l.digits() {
		return nil, l.fail("digit expected after the point")
	}
	if l.literal("e") || l.literal("E") {
		if !l.literal("-") {
			l.literal("+")
		}
		if !l.digits() {
			return nil, l.fail("digit expected in the exponent")
		}
	}
	return l.buf[start:l.pos], true
}

func (l *lexer) digits() bool {
	start := l.pos
	for l.pos < len(l.buf) && l.buf[l.pos]-'0' <= 9 {
		l.pos++
	}
	return l.pos > start
}

// skip reads any value of at most depth more levels.
func (l *lexer) skip(depth int) bool {
	switch c := l.peek(); c {
	case '"':
		_, _, ok := l.str()
		return ok
	case '{', '[':
		if depth == 0 {
			return l.fail("nested too deeply")
		}
		return l.skipMembers(c+2, depth-1)
	case 't', 'f', 'n':
		if l.literal("true") || l.literal("false") || l.literal("null") {
			return true
		}
		return l.fail("expected a value")
	default:
		_, ok := l.number()
		return ok
	}
}

// skipMembers reads an array or object from its bracket to its end: '{' and
// '[' have their counterparts two places on.
func (l *lexer) skipMembers(end byte, depth int) bool {
	l.pos++
	if l.peek() == end {
		l.pos++
		return true
	}
	for {
		if end == '}' {
			l.space()
			if _, _, ok := l.str(); !ok || !l.expect(':') {
				return false
			}
		}
		if !l.skip(depth) {
			return false
		}
		if l.peek() == end {
			l.pos++
			return true
		}
		if !l.expect(',') {
			return false
		}
	}
}
