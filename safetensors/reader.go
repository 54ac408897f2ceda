package safetensors

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"ckpt/dtype"
	"ckpt/internal/fs"
)

// Tensor is one tensor of a file: plain data.
type Tensor struct {
	Name   string
	DType  dtype.Type
	Shape  []uint64 // logical elements, slowest dimension first; empty for rank 0
	Offset int64    // of the first byte, from the start of the file
	Size   int64    // bytes
}

// File is what a file says of itself.
type File struct {
	Tensors      []Tensor // those that were kept, by offset
	Total        int      // all tensors of the file
	Metadata     map[string]string
	HeaderLen    int64 // of the JSON, padding included
	DataStart    int64 // HeaderLen + 8
	Size         int64
	HeaderSHA256 [sha256.Size]byte // of the JSON, padding included
}

// Options say what to read. Nil means all.
type Options struct {
	// Keep chooses the tensors that become objects; every entry is validated
	// all the same. The name is only valid during the call.
	Keep func(name []byte) bool
}

// NewReader reads the header of the file of that size behind r and validates
// it wholly before it returns: an invalid file gives a *FormatError, a reader
// that fails its own error. It calls r.ReadAt twice, for the length and for
// the header, never for the data.
func NewReader(r io.ReaderAt, size int64, opts *Options) (*File, error) {
	if opts == nil {
		opts = &Options{}
	}
	f := &File{Size: size}
	shapes := shapeArena{}
	var s Scanner
	h, err := s.Scan(r, size, func(e *Entry) {
		if opts.Keep == nil || opts.Keep(e.Name) {
			f.Tensors = append(f.Tensors, Tensor{string(e.Name), e.DType, shapes.clone(e.Shape), int64(e.Begin), int64(e.End - e.Begin)})
		}
	})
	if err == nil {
		err = h.Err()
	}
	if err != nil {
		return nil, err
	}
	for i := range f.Tensors {
		f.Tensors[i].Offset += h.DataStart
	}
	slices.SortStableFunc(f.Tensors, byOffset)
	f.Total, f.Metadata = h.Tensors, h.Metadata
	f.HeaderLen, f.DataStart, f.HeaderSHA256 = h.Len, h.DataStart, h.SHA256
	return f, nil
}

// byOffset orders tensors by place; tensors of no bytes come before the one
// that begins at the same place.
func byOffset(a, b Tensor) int {
	if a.Offset != b.Offset {
		return int(max(-1, min(1, a.Offset-b.Offset)))
	}
	return int(max(-1, min(1, a.Size-b.Size)))
}

// shapeArena hands out copies of shapes from one growing piece of memory, and
// the same copy for a shape that repeats.
type shapeArena struct{ last []uint64 }

func (a *shapeArena) clone(shape []uint64) []uint64 {
	if a.last == nil || !slices.Equal(a.last, shape) {
		a.last = append([]uint64{}, shape...)
	}
	return a.last
}

// Handle is an open file: its description, and its bytes through ReadAt, which
// may be called in parallel.
type Handle struct {
	*File
	io.ReaderAt
	close func() error
}

// Close closes the file.
func (h *Handle) Close() error { return h.close() }

// Open opens the file at path and reads its header. It refuses what is no
// regular file, without blocking on it, and closes the file when it fails.
func Open(path string, opts *Options) (*Handle, error) {
	f, info, err := fs.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	desc, err := NewReader(f, info.Size(), opts)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Handle{desc, f, f.Close}, nil
}
