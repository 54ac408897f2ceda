package safetensors

import (
	"bytes"
	"fmt"
	"strconv"
)

// MaxIndex bounds the size of an index file: 30 times that of Kimi K3, whose
// 497,220 tensors take 60 MB.
const MaxIndex = 2_000_000_000

// IndexInfo is what an index says beside its weight map.
type IndexInfo struct {
	TotalSize    int64 // bytes of all tensors, if HasTotalSize
	HasTotalSize bool
	Tensors      int // entries of the weight map
}

// ScanIndex reads the index of a sharded checkpoint and calls visit for each
// entry of its weight map, in order. Both arguments are only valid during the
// call; duplicates are left to the caller, who keeps the names anyway. at is
// the offset of the name. The first fault of the grammar is returned as a
// *FormatError of kind Syntax or NotUTF8; faults that leave the rest readable
// are given to problem, where it is not nil.
//
//	{"metadata": {"total_size": 1560860324864}, "weight_map": {"lm_head.weight": "model-00094-of-000096.safetensors"}}
func ScanIndex(json []byte, visit func(name, file []byte, at int), problem func(*FormatError)) (*IndexInfo, error) {
	if len(json) > MaxIndex {
		return nil, &FormatError{Kind: Syntax, Msg: fmt.Sprintf("the index is over the cap of %d bytes", MaxIndex)}
	}
	if bad := invalidUTF8(json); bad >= 0 {
		return nil, &FormatError{Kind: NotUTF8, Offset: int64(bad), Msg: "the index is not UTF-8"}
	}
	s := indexScanner{lex: lexer{buf: json}, visit: visit, problem: problem}
	if !s.object() {
		return nil, &FormatError{Kind: Syntax, Offset: int64(s.lex.pos), Msg: "the index is not valid JSON: " + s.lex.fault}
	}
	if !s.hasMap {
		return nil, &FormatError{Kind: Syntax, Msg: "the index has no weight_map"}
	}
	return &s.info, nil
}

type indexScanner struct {
	lex     lexer
	info    IndexInfo
	hasMap  bool
	hasMeta bool
	visit   func(name, file []byte, at int)
	problem func(*FormatError)
	name    []byte // of an entry whose escapes were undone
}

func (s *indexScanner) note(kind Kind, at int, format string, args ...any) {
	if s.problem != nil {
		s.problem(&FormatError{Kind: kind, Offset: int64(at), Msg: fmt.Sprintf(format, args...)})
	}
}

// members reads an object and gives each key, with its offset, to member,
// which reads the value.
func (l *lexer) members(member func(key []byte, at int) bool) bool {
	if !l.expect('{') {
		return false
	}
	if l.peek() == '}' {
		l.pos++
		return true
	}
	for {
		l.space()
		at := l.pos
		key, _, ok := l.str()
		if !ok || !l.expect(':') {
			return false
		}
		l.space()
		if !member(key, at) {
			return false
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

func (s *indexScanner) object() bool {
	l := &s.lex
	if !l.members(s.top) {
		return false
	}
	if l.peek(); l.pos < len(l.buf) {
		return l.fail("something follows the object")
	}
	return true
}

// top reads one member of the index itself. Fields that nobody specified are
// read over: exporters add their own.
func (s *indexScanner) top(key []byte, at int) bool {
	switch string(key) {
	case "metadata":
		if s.hasMeta {
			s.note(Duplicate, at, "metadata occurs twice")
		}
		s.hasMeta = true
		if s.lex.buf[min(s.lex.pos, len(s.lex.buf)-1)] != '{' {
			s.note(Syntax, s.lex.pos, "metadata is not an object")
			return s.lex.skip(maxDepth)
		}
		return s.lex.members(s.metadata)
	case "weight_map":
		if s.hasMap {
			s.note(Duplicate, at, "weight_map occurs twice")
		}
		s.hasMap = true
		return s.lex.members(s.entry)
	}
	return s.lex.skip(maxDepth)
}

func (s *indexScanner) metadata(key []byte, at int) bool {
	l := &s.lex
	if string(key) != "total_size" {
		return l.skip(maxDepth)
	}
	if s.info.HasTotalSize {
		s.note(Duplicate, at, "total_size occurs twice")
	}
	start := l.pos
	if !l.skip(maxDepth) {
		return false
	}
	text := l.buf[start:l.pos]
	// Some exporters write the sum as a float: 13476831232.0.
	n, err := strconv.ParseInt(string(bytes.TrimSuffix(text, []byte(".0"))), 10, 64)
	if err != nil || n < 0 {
		s.note(Syntax, start, "total_size is %.40q, not a number of bytes", text)
		return true
	}
	s.info.TotalSize, s.info.HasTotalSize = n, true
	return true
}

// entry reads one value of the weight map and visits the pair.
func (s *indexScanner) entry(name []byte, at int) bool {
	l := &s.lex
	if len(l.decoded) > 0 && len(name) > 0 && &name[0] == &l.decoded[0] {
		s.name = append(s.name[:0], name...) // the value may need the room
		name = s.name
	}
	s.info.Tensors++
	start := l.pos
	if l.pos < len(l.buf) && l.buf[l.pos] != '"' {
		if !l.skip(maxDepth) {
			return false
		}
		if s.problem != nil {
			s.problem(&FormatError{Kind: Syntax, Offset: int64(start), Tensor: string(name), Named: true,
				Msg: fmt.Sprintf("the weight map gives it no file name but %.40q", l.buf[start:l.pos])})
		}
		return true
	}
	file, _, ok := l.str()
	if ok && s.visit != nil {
		s.visit(name, file, at)
	}
	return ok
}
