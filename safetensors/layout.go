package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ckpt/dtype"
)

// Spec is a tensor to be written: everything but its place.
type Spec struct {
	Name  string
	DType dtype.Type
	Shape []uint64
}

// LayoutOptions say how a file is laid out.
type LayoutOptions struct {
	// Align is what the start of the data is a multiple of, in bytes: 8, as
	// the official serializer does, or 4096 for direct I/O. 0 is 8.
	Align int
	// Metadata becomes __metadata__, sorted by key (the official serializer
	// leaves its order to chance). Nil or empty writes none.
	Metadata map[string]string
}

// Layout is a file before its data: header, offsets and size. It is immutable
// and may be shared.
type Layout struct {
	header  []byte // length prefix, JSON and padding
	tensors []Tensor
	byName  map[string]int
	size    int64
}

// The reasons for which a set of tensors cannot be laid out.
var (
	ErrLayoutName      = errors.New("name is empty, reserved or not UTF-8")
	ErrLayoutDuplicate = errors.New("duplicate name")
	ErrLayoutDType     = errors.New("dtype is not one of safetensors")
	ErrLayoutHeader    = errors.New("header over 100,000,000 bytes, which no reader accepts")
	ErrLayoutSize      = errors.New("size beyond 2^53")
)

// LayoutError says which tensor cannot be laid out and why.
type LayoutError struct {
	Tensor string // empty where the fault is the file's
	Err    error
}

func (e *LayoutError) Error() string {
	if e.Tensor == "" {
		return "layout: " + e.Err.Error()
	}
	return fmt.Sprintf("layout: tensor %q: %v", e.Tensor, e.Err)
}

func (e *LayoutError) Unwrap() error { return e.Err }

const (
	prefixLen    = 8       // the header's length, little-endian
	maxExact     = 1 << 53 // sizes beyond lose precision in JSON readers
	maxAlign     = 1 << 20 // larger is surely a slip: pages end at 64 KiB
	metadataName = "__metadata__"
)

// NewLayout lays tensors out in the order given: the order of the header's
// keys and of the data. The header is the compact JSON that the official
// serializer writes, byte for byte, padded with spaces until the data begins at
// a multiple of Align. Names must be distinct, non-empty UTF-8; errors are a
// [*LayoutError].
func NewLayout(specs []Spec, opts *LayoutOptions) (*Layout, error) {
	if opts == nil {
		opts = &LayoutOptions{}
	}
	align := cmp.Or(opts.Align, prefixLen)
	if align < prefixLen || align > maxAlign || align%prefixLen != 0 {
		return nil, &LayoutError{Err: fmt.Errorf("alignment %d is not a multiple of 8 up to 1 MiB", align)}
	}
	l := &Layout{tensors: make([]Tensor, len(specs)), byName: make(map[string]int, len(specs))}
	end := uint64(0) // of the data so far, relative to its start
	for i, s := range specs {
		size, err := l.admit(i, s)
		if err == nil && end+size > maxExact { // both are at most 2^53
			err = ErrLayoutSize
		}
		if err != nil {
			return nil, &LayoutError{s.Name, err}
		}
		l.tensors[i] = Tensor{Name: s.Name, DType: s.DType, Shape: slices.Clone(s.Shape), Offset: int64(end), Size: int64(size)}
		end += size
	}
	if err := l.writeHeader(opts.Metadata, align); err != nil {
		return nil, err
	}
	start := l.DataStart()
	for i := range l.tensors {
		l.tensors[i].Offset += start
	}
	l.size = start + int64(end)
	return l, nil
}

// admit checks one tensor and gives its size in bytes.
func (l *Layout) admit(i int, s Spec) (uint64, error) {
	if s.Name == "" || s.Name == metadataName || !utf8.ValidString(s.Name) {
		return 0, ErrLayoutName
	}
	if _, dup := l.byName[s.Name]; dup {
		return 0, ErrLayoutDuplicate
	}
	l.byName[s.Name] = i
	if !s.DType.Safetensors() {
		return 0, ErrLayoutDType
	}
	for _, d := range s.Shape {
		if d > maxExact {
			return 0, ErrLayoutSize
		}
	}
	size, err := s.DType.Size(s.Shape)
	if err == nil && size > maxExact {
		err = ErrLayoutSize
	}
	return size, err
}

// writeHeader builds the header from tensors whose offsets still count from
// the start of the data.
func (l *Layout) writeHeader(metadata map[string]string, align int) error {
	const perTensor = 120 // bytes an entry of a large model: one growth at most
	b := make([]byte, prefixLen, prefixLen+len(l.tensors)*perTensor+align)
	b = append(b, '{')
	if len(metadata) > 0 {
		var err error
		if b, err = appendMetadata(b, metadata); err != nil {
			return err
		}
	}
	for _, t := range l.tensors {
		if b = appendEntry(b, t); len(b) > MaxHeader+prefixLen {
			return &LayoutError{Err: ErrLayoutHeader}
		}
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	b = append(b, '}')
	if pad := len(b) % align; pad > 0 {
		b = append(b, bytes.Repeat([]byte{' '}, align-pad)...)
	}
	if len(b)-prefixLen > MaxHeader {
		return &LayoutError{Err: ErrLayoutHeader}
	}
	binary.LittleEndian.PutUint64(b, uint64(len(b)-prefixLen))
	l.header = b
	return nil
}

func appendMetadata(b []byte, metadata map[string]string) ([]byte, error) {
	b = append(b, `"__metadata__":{`...)
	for _, k := range slices.Sorted(maps.Keys(metadata)) {
		if !utf8.ValidString(k) || !utf8.ValidString(metadata[k]) {
			return nil, &LayoutError{Err: fmt.Errorf("metadata %q is not UTF-8", k)}
		}
		b = appendString(b, k)
		b = append(b, ':')
		b = appendString(b, metadata[k])
		b = append(b, ',')
	}
	b[len(b)-1] = '}'
	return append(b, ','), nil
}

// appendEntry appends one tensor and a comma.
func appendEntry(b []byte, t Tensor) []byte {
	b = appendString(b, t.Name)
	b = append(b, `:{"dtype":"`...)
	b = append(b, t.DType.String()...)
	b = append(b, `","shape":[`...)
	for i, d := range t.Shape {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, d, 10)
	}
	b = append(b, `],"data_offsets":[`...)
	b = strconv.AppendInt(b, t.Offset, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, t.Offset+t.Size, 10)
	return append(b, "]},"...)
}

// appendString quotes valid UTF-8 as the official serializer's JSON library
// does: the short escapes, \u00xx for other control characters below space,
// everything else as it is.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	const short = "\b\t\n\f\r\"\\"
	const letter = `btnfr"\`
	b = append(b, '"')
	copied := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[copied:i]...)
		copied = i + 1
		if at := strings.IndexByte(short, c); at >= 0 {
			b = append(b, '\\', letter[at])
		} else {
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[copied:]...), '"')
}

// Header is the start of the file up to the data: length prefix, JSON and
// padding. It must not be changed.
func (l *Layout) Header() []byte { return l.header }

// DataStart is where the data begins, in bytes from the start of the file.
func (l *Layout) DataStart() int64 { return int64(len(l.header)) }

// Size is the size of the whole file in bytes.
func (l *Layout) Size() int64 { return l.size }

// Tensors are the tensors in file order. They must not be changed.
func (l *Layout) Tensors() []Tensor { return l.tensors }

// Lookup finds a tensor by its name.
func (l *Layout) Lookup(name string) (Tensor, bool) {
	i, ok := l.byName[name]
	if !ok {
		return Tensor{}, false
	}
	return l.tensors[i], true
}

// SerializeOrder sorts specs as official files have them: by dtype, the
// highest of the library's own list first, then by name, byte by byte. A
// Kimi K3 has F32, then BF16, then U8, and its experts run 0, 1, 10, 100, 101.
func SerializeOrder(specs []Spec) {
	slices.SortFunc(specs, func(a, b Spec) int {
		if c := cmp.Compare(b.DType, a.DType); c != 0 {
			return c // package dtype lists them in the library's order
		}
		return strings.Compare(a.Name, b.Name)
	})
}
