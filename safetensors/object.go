package safetensors

import (
	"errors"
	"unicode"
	"unicode/utf8"

	"ckpt/dtype"
)

// metadataKey is the one key of a header that is no tensor.
const metadataKey = "__metadata__"

// object reads the whole header: one object, then nothing but spaces. False
// means that the grammar broke at s.lex.pos; all other problems are noted and
// passed.
func (s *Scanner) object() bool {
	l := &s.lex
	if len(l.buf) == 0 {
		return l.fail("it is empty")
	}
	if l.buf[0] != '{' {
		return l.fail("it has to begin with {")
	}
	l.pos++
	if l.peek() == '}' {
		l.pos++
		return s.padding()
	}
	for {
		if l.peek() != '"' {
			return l.fail("expected a name")
		}
		if !s.member() {
			return false
		}
		switch l.peek() {
		case ',':
			l.pos++
		case '}':
			l.pos++
			return s.padding()
		default:
			return l.fail("expected , or }")
		}
	}
}

// padding reads what follows the object.
func (s *Scanner) padding() bool {
	l := &s.lex
	for ; l.pos < len(l.buf); l.pos++ {
		if l.buf[l.pos] != ' ' {
			return l.fail("only spaces may follow the object")
		}
	}
	return true
}

// member reads a name and what belongs to it.
func (s *Scanner) member() bool {
	l := &s.lex
	at := l.pos
	name, plain, ok := l.str()
	if !ok {
		return false
	}
	s.entry.Name = name
	s.name = s.dup.place(name, at, l.pos)
	if s.dup.seen(s.name) {
		s.problem(Duplicate, at, true, "the name occurs twice")
		s.lost++ // two places for one name: neither is known
	}
	if string(name) == metadataKey {
		return l.expect(':') && s.metadata()
	}
	s.entry.Name = s.dup.name(s.name) // an escaped name has to outlive the entry's other strings
	if !plain && unsafeName(name) || len(name) == 0 || len(name) > MaxName {
		s.problem(UnsafeName, at, true, "unsafe name: %s", whyUnsafe(name))
	}
	if !s.compact() {
		if !l.expect(':') {
			return false
		}
		good, placed, ok := s.fields()
		if !ok {
			return false
		}
		if !good {
			s.halfKnown(at, placed)
			return true
		}
	}
	s.header.Tensors++
	s.check(at)
	return true
}

// halfKnown keeps the place of an entry of which something else is wrong.
// Where even that is unknown nothing can be said of holes and of the end.
func (s *Scanner) halfKnown(at int, placed bool) {
	s.header.Tensors++
	switch {
	case !placed:
		s.lost++
	case s.ordered(at):
		s.ends = append(s.ends, interval{s.entry.Begin, s.entry.End, s.name})
	}
}

// ordered says whether an entry ends behind its begin.
func (s *Scanner) ordered(at int) bool {
	if e := &s.entry; e.End < e.Begin {
		s.problem(BadOffsets, at, true, "data_offsets [%d, %d) are reversed", e.Begin, e.End)
		s.lost++
		return false
	}
	return true
}

// unsafeName says whether a name holds control characters.
func unsafeName(name []byte) bool {
	for len(name) > 0 {
		r, width := utf8.DecodeRune(name)
		if unicode.IsControl(r) {
			return true
		}
		name = name[width:]
	}
	return false
}

func whyUnsafe(name []byte) string {
	switch {
	case len(name) == 0:
		return "it is empty"
	case len(name) > MaxName:
		return "it is over 1,024 bytes"
	}
	return "it holds control characters"
}

// check judges an entry in itself, visits it and keeps its place for tile.
func (s *Scanner) check(at int) {
	e := &s.entry
	if !s.ordered(at) {
		return
	}
	want, err := e.DType.Size(e.Shape)
	switch {
	case errors.Is(err, dtype.ErrOverflow):
		s.problem(Overflow, at, true, "%v %v overflows 64 bits", e.DType, e.Shape)
	case errors.Is(err, dtype.ErrPartialByte):
		s.problem(PartialByte, at, true, "%v %v does not end on a byte", e.DType, e.Shape)
	case want != e.End-e.Begin:
		s.problem(SizeMismatch, at, true, "%v %v takes %d bytes, data_offsets [%d, %d) give it %d",
			e.DType, e.Shape, want, e.Begin, e.End, e.End-e.Begin)
	}
	s.ends = append(s.ends, interval{e.Begin, e.End, s.name})
	if (uint64(s.header.DataStart)+e.Begin)%alignTo != 0 && e.End > e.Begin {
		s.unaligned++
	}
	if s.visit != nil {
		s.visit(e)
	}
}

// metadata reads the value of __metadata__.
func (s *Scanner) metadata() bool {
	l := &s.lex
	if l.peek() != '{' {
		s.problem(BadMetadata, l.pos, false, "__metadata__ is not an object")
		s.lost++ // bytes may have been meant for it
		return l.skip(maxDepth)
	}
	l.pos++
	values := map[string]string{}
	s.header.Metadata = values
	if l.peek() == '}' {
		l.pos++
		return true
	}
	for {
		l.space()
		at := l.pos
		raw, _, ok := l.str()
		if !ok || !l.expect(':') {
			return false
		}
		key := string(raw)
		if _, twice := values[key]; twice {
			s.problem(Duplicate, at, false, "the metadata key %q occurs twice", key)
		}
		if l.peek() == '"' {
			value, _, ok := l.str()
			if !ok {
				return false
			}
			values[key] = string(value)
		} else {
			s.lost++
			s.problem(BadMetadata, l.pos, false, "the value of the metadata key %q is not a string", key)
			values[key] = ""
			if !l.skip(maxDepth) {
				return false
			}
		}
		if l.peek() == '}' {
			l.pos++
			return true
		}
		if !l.expect(',') {
			return false
		}
	}
}
