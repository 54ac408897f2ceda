package safetensors

import (
	"bytes"
	"math"
	"slices"

	"ckpt/dtype"
)

// compact reads an entry, from the colon on, that is written without white
// space and in the order in which the reference serializer writes it. Where
// one is not, or is wrong, it goes back to the colon and leaves it to fields.
//
//	:{"dtype":"BF16","shape":[7168,128],"data_offsets":[0,1835008]}
func (s *Scanner) compact() bool {
	l := &s.lex
	start := l.pos
	if l.literal(`:{"dtype":"`) && s.compactType() && l.literal(`","shape":[`) && s.compactShape() &&
		l.literal(`],"data_offsets":[`) && l.plainInteger(&s.entry.Begin) && l.literal(",") &&
		l.plainInteger(&s.entry.End) && l.literal("]}") {
		return true
	}
	l.pos = start
	return false
}

func (s *Scanner) compactType() bool {
	l := &s.lex
	const longest = len("F8_E5M2FNUZ")
	for end := l.pos; end < len(l.buf) && end <= l.pos+longest; end++ {
		if l.buf[end] == '"' {
			t, ok := dtype.ParseBytes(l.buf[l.pos:end])
			s.entry.DType, l.pos = t, end
			return ok
		}
	}
	return false
}

func (s *Scanner) compactShape() bool {
	l := &s.lex
	s.entry.Shape = s.entry.Shape[:0]
	if l.pos < len(l.buf) && l.buf[l.pos] == ']' {
		return true
	}
	for {
		var d uint64
		if !l.plainInteger(&d) {
			return false
		}
		s.entry.Shape = append(l.room(s.entry.Shape), d)
		if !l.literal(",") {
			return true
		}
	}
}

// room makes room in a shape that has become unusual at once, by counting what
// is to come, so that growing does not copy it again and again.
func (l *lexer) room(shape []uint64) []uint64 {
	const unusual = 64
	if len(shape) != unusual {
		return shape
	}
	rest := l.buf[l.pos:]
	if end := bytes.IndexByte(rest, ']'); end >= 0 {
		rest = rest[:end]
	}
	return slices.Grow(shape, bytes.Count(rest, []byte{','})+2)
}

// plainInteger reads digits and nothing else: no sign, no leading zero, at
// most MaxInteger.
func (l *lexer) plainInteger(v *uint64) bool {
	const digits = 16 // of 2^53
	start, n := l.pos, uint64(0)
	for l.pos < len(l.buf) && l.buf[l.pos]-'0' <= 9 {
		n = n*10 + uint64(l.buf[l.pos]-'0')
		l.pos++
		if l.pos-start > digits {
			return false
		}
	}
	*v = n
	return l.pos > start && n <= MaxInteger && (l.buf[start] != '0' || l.pos == start+1)
}

// field is one of the three that an entry has.
type field uint8

const (
	fieldDType field = 1 << iota
	fieldShape
	fieldOffsets
	extraField
	allFields = fieldDType | fieldShape | fieldOffsets
)

// fields reads an entry of any spelling. good says that the entry is usable,
// placed that its offsets at least are; ok is false where the grammar broke.
func (s *Scanner) fields() (good, placed, ok bool) {
	l := &s.lex
	if l.peek() != '{' {
		s.problem(Syntax, l.pos, true, "the entry is not an object")
		return false, false, l.skip(maxDepth)
	}
	at := l.pos
	l.pos++
	var have, right field
	if l.peek() == '}' {
		l.pos++
	} else {
		for more := true; more; {
			if more, ok = s.field(&have, &right); !ok {
				return false, false, false
			}
		}
	}
	for _, f := range [...]struct {
		field
		name string
	}{{fieldDType, "dtype"}, {fieldShape, "shape"}, {fieldOffsets, "data_offsets"}} {
		if have&f.field == 0 {
			s.problem(Syntax, at, true, "the entry has no %s", f.name)
		}
	}
	return right == allFields, right&fieldOffsets != 0, true
}

// field reads one field and what ends it: more is false after the last. It adds
// the field to have, and to right if its value has the right form; a field that
// the specification lacks makes the entry unusable through the extra bit.
func (s *Scanner) field(have, right *field) (more, ok bool) {
	l := &s.lex
	l.space()
	at := l.pos
	key, _, ok := l.str()
	if !ok {
		return false, false
	}
	f := fieldOf(key)
	switch {
	case f == 0:
		s.problem(Syntax, at, true, "the entry has an unknown field %q", key)
	case *have&f != 0:
		s.problem(Duplicate, at, true, "the field %q occurs twice", key)
	}
	*have |= f
	if !l.expect(':') {
		return false, false
	}
	l.space()
	fits, ok := s.value(f)
	if !ok {
		return false, false
	}
	switch {
	case f == 0:
		*right |= extraField
	case fits:
		*right |= f
	default:
		*right &^= f
	}
	if l.peek() == '}' {
		l.pos++
		return false, true
	}
	return true, l.expect(',')
}

func fieldOf(key []byte) field {
	switch string(key) {
	case "dtype":
		return fieldDType
	case "shape":
		return fieldShape
	case "data_offsets":
		return fieldOffsets
	}
	return 0
}

// value reads the value of a field; right says that it has the field's form.
func (s *Scanner) value(f field) (right, ok bool) {
	switch f {
	case fieldDType:
		return s.dtypeValue()
	case fieldShape:
		s.entry.Shape, right, ok = s.integers(s.entry.Shape[:0], "shape", math.MaxInt)
		return right, ok
	case fieldOffsets:
		var room [2]uint64
		at := s.lex.pos
		offsets, right, ok := s.integers(room[:0], "data_offsets", len(room))
		if right && len(offsets) != len(room) {
			s.problem(Syntax, at, true, "data_offsets needs two numbers and has %d", len(offsets))
			right = false
		}
		s.entry.Begin, s.entry.End = room[0], room[1]
		return right, ok
	}
	return true, s.lex.skip(maxDepth)
}

func (s *Scanner) dtypeValue() (right, ok bool) {
	l := &s.lex
	at := l.pos
	if l.peek() != '"' {
		s.problem(Syntax, at, true, "dtype is not a string")
		return false, l.skip(maxDepth)
	}
	name, _, ok := l.str()
	if !ok {
		return false, false
	}
	if s.entry.DType, right = dtype.ParseBytes(name); !right {
		s.problem(UnknownDType, at, true, "unknown dtype %q", name)
	}
	return right, true
}

// integers reads an array of at most most integers from 0 to MaxInteger. Once
// something is wrong the rest is read for its grammar alone.
func (s *Scanner) integers(dst []uint64, field string, most int) (out []uint64, right, ok bool) {
	l := &s.lex
	at := l.pos
	if l.peek() != '[' {
		s.problem(Syntax, at, true, "%s is not an array", field)
		return dst, false, l.skip(maxDepth)
	}
	l.pos++
	if l.peek() == ']' {
		l.pos++
		return dst, true, true
	}
	right = true
	for {
		l.space()
		v, good, ok := s.integer(field, right)
		if !ok {
			return dst, false, false
		}
		right = right && good
		if right && len(dst) == most {
			s.problem(Syntax, at, true, "%s has more than %d numbers", field, most)
			right = false
		}
		if right {
			dst = append(l.room(dst), v)
		}
		if l.peek() == ']' {
			l.pos++
			return dst, right, true
		}
		if !l.expect(',') {
			return dst, false, false
		}
	}
}

// integer reads one value of an array; tell says whether to note a problem.
func (s *Scanner) integer(field string, tell bool) (v uint64, good, ok bool) {
	l := &s.lex
	at := l.pos
	if l.plainInteger(&v) && !l.numberGoesOn() {
		return v, true, true
	}
	l.pos = at
	if !l.skip(maxDepth) {
		return 0, false, false
	}
	if tell {
		s.problem(Syntax, at, true, "%s holds %.40q: whole numbers from 0 to 2^53 are allowed", field, l.buf[at:l.pos])
	}
	return 0, false, true
}

// numberGoesOn says whether a number has a fraction or an exponent after the
// digits that were read.
func (l *lexer) numberGoesOn() bool {
	if l.pos == len(l.buf) {
		return false
	}
	switch l.buf[l.pos] {
	case '.', 'e', 'E':
		return true
	}
	return false
}
