package safetensors

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"ckpt/dtype"
)

const (
	// MaxHeader bounds a header's length: the cap of the reference reader,
	// held on reading and on writing.
	MaxHeader = 100_000_000
	// MaxInteger bounds every size in a header: beyond 2^53 JSON readers that
	// keep numbers as float64 disagree.
	MaxInteger = 1 << 53
	// MaxName is the longest name, in bytes, that raises no UnsafeName.
	MaxName = 1024

	prefix = 8 // bytes of the header's length
	// maxProblems bounds what is kept of one header that is wrong throughout.
	maxProblems = 4096
)

// Entry is a tensor as its header has it. Name and Shape belong to the scanner
// and change with its next step.
type Entry struct {
	Name  []byte
	DType dtype.Type
	Shape []uint64
	Begin uint64 // first byte, counted from the start of the data
	End   uint64 // one past the last byte
}

// Header is what a header says as a whole.
type Header struct {
	Size      int64             // of the file
	Len       int64             // of the JSON, padding included
	DataStart int64             // Len + 8
	DataEnd   int64             // where the last tensor ends in the file, held to Size or not
	SHA256    [sha256.Size]byte // of the JSON, padding included
	Tensors   int
	Metadata  map[string]string // nil without __metadata__
	Problems  []*FormatError    // in the order in which they were met
	Dropped   int               // problems beyond those kept
}

// Err is the first problem that makes the file invalid, nil for a valid file.
func (h *Header) Err() error {
	for _, p := range h.Problems {
		if !p.Kind.Legal() {
			return p
		}
	}
	return nil
}

// Scanner reads headers one after the other and reuses its memory: after the
// largest header no scan allocates more than problems and metadata. The zero
// value is ready. It is not safe for concurrent use.
type Scanner struct {
	lex       lexer
	header    *Header
	visit     func(*Entry)
	entry     Entry
	name      nameRef
	dup       dupset
	ends      []interval
	storage   []byte
	unaligned int // tensors
	lost      int // entries whose place is unknown
}

// nameRef is where the name of a tensor lies, for messages after the scan: quoted at
// in the header, and as len bytes from pos. Headers are below 2^27 bytes.
type nameRef struct{ at, pos, len uint32 }

// Scan reads the header of the file of that size behind r and checks all of
// it: the grammar, every entry, and that the tensors tile the data to the end
// of the file. It calls visit, if not nil, for each entry that is well formed
// in itself, in the header's order and before the file as a whole is known to
// be valid. Problems of the file are in the Header; the error is the reader's.
func (s *Scanner) Scan(r io.ReaderAt, size int64, visit func(*Entry)) (*Header, error) {
	s.header = &Header{Size: size}
	s.visit = visit
	json, ok, err := s.read(r, size)
	if err != nil || !ok {
		return s.header, err
	}
	s.header.SHA256 = sha256.Sum256(json)
	if bad := invalidUTF8(json); bad >= 0 {
		s.problem(NotUTF8, bad, false, "the header is not UTF-8 at byte %d", bad)
		return s.header, nil
	}
	s.lex = lexer{buf: json, decoded: s.lex.decoded}
	s.dup.reset(json)
	s.ends = s.ends[:0]
	s.unaligned, s.lost = 0, 0
	if !s.object() {
		s.problem(Syntax, s.lex.pos, false, "the header is not valid JSON: %s", s.lex.fault)
		return s.header, nil
	}
	s.tile()
	return s.header, nil
}

// read takes the header's length and the header; ok is false where the length
// is a problem, which has been noted.
func (s *Scanner) read(r io.ReaderAt, size int64) (json []byte, ok bool, err error) {
	h := s.header
	if size < prefix {
		s.note(&FormatError{Kind: TooShort, Msg: fmt.Sprintf("%d bytes are too short for a header", size)})
		return nil, false, nil
	}
	var length [prefix]byte
	if err := readFull(r, length[:], 0); err != nil {
		return nil, false, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	switch {
	case n > MaxHeader:
		s.note(&FormatError{Kind: HeaderTooLong, Msg: fmt.Sprintf("header length %d is over the cap of %d bytes", n, MaxHeader)})
		return nil, false, nil
	case n > uint64(size-prefix):
		s.note(&FormatError{Kind: HeaderBeyondFile, Msg: fmt.Sprintf("header length %d leaves the file of %d bytes", n, size),
			Size: int64(n) - (size - prefix)})
		return nil, false, nil
	}
	h.Len, h.DataStart = int64(n), int64(n)+prefix
	h.DataEnd = h.DataStart
	// n is bounded by the bytes of the file here; the file may be sparse, so
	// by MaxHeader as well.
	s.storage = slices.Grow(s.storage[:0], int(n))[:n]
	err = readFull(r, s.storage, prefix)
	return s.storage, err == nil, err
}

// readFull fills p from r at off. A file that ends early, though its size said
// otherwise, is an unexpected EOF.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading the header at offset %d: %w", off+int64(n), err)
}

// invalidUTF8 is the offset of the first byte that is no UTF-8, or -1.
func invalidUTF8(p []byte) int {
	if utf8.Valid(p) {
		return -1
	}
	for i := 0; i < len(p); {
		r, width := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && width == 1 {
			return i
		}
		i += width
	}
	return -1
}

// problem notes one at a position of the JSON; named says that it concerns the
// entry at hand.
func (s *Scanner) problem(kind Kind, pos int, named bool, format string, args ...any) {
	e := &FormatError{Kind: kind, Offset: prefix + int64(pos)}
	if len(s.header.Problems) < maxProblems {
		e.Msg = fmt.Sprintf(format, args...)
		if named {
			e.Tensor, e.Named = string(s.entry.Name), true
		}
	}
	s.note(e)
}

func (s *Scanner) note(e *FormatError) {
	if len(s.header.Problems) >= maxProblems {
		s.header.Dropped++
		return
	}
	s.header.Problems = append(s.header.Problems, e)
}
