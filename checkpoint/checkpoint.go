// Package checkpoint sees a directory or a file as one immutable view of a
// checkpoint. [Survey] looks at everything and degrades by file: what is wrong
// with a file is kept beside it. [Open] is for those who need all of it, and
// fails on the first thing that is wrong.
//
// # Layout
//
// A checkpoint is a directory with an index and the shards that it names, a
// directory with weight files and no index, or one file. Names are kept as
// patterns and numbers (package names), dtype and shape as the number of a
// [Spec], so that the 497,220 tensors of a Kimi K3 take 20 MB.
//
// # Limits
//
// Files are opened read-only, without blocking, only where they are regular,
// and read with ReadAt: the length, the header, nothing of the data. Names that
// an index gives are plain file names; anything else is not opened. At most
// Options.Jobs files are open at a time.
//
// # Concurrency
//
// A Checkpoint does not change after it is returned and may be shared.
package checkpoint

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"iter"

	"ckpt/dtype"
	ckptfs "ckpt/internal/fs"
	"ckpt/internal/names"
	"ckpt/safetensors"
)

// Format is the format of a checkpoint's weight files.
type Format uint8

// The formats.
const (
	Safetensors Format = iota + 1
	GGUF
)

func (f Format) String() string {
	switch f {
	case Safetensors:
		return "safetensors"
	case GGUF:
		return "gguf"
	}
	return "unknown"
}

// Checkpoint is what is known of a checkpoint.
type Checkpoint struct {
	Path    string // as it was given
	Dir     string // of the files
	Format  Format
	Single  bool         // one file with no set, index or config.json beside it
	Entries []Entry      // what lies in Dir, by name; of a single file only itself
	Config  *Document    // config.json, nil where there is none
	Index   *Index       // nil where there is none
	Files   []*File      // weight files, in natural order of their names
	Names   *names.Table // of Records and index entries
	specs   *specTable
	where   map[string]*File
}

// Document is a small file that was read whole.
type Document struct {
	Name   string
	Data   []byte
	SHA256 [sha256.Size]byte
	Err    error // why it could not be read; Data is nil then
}

// File is one weight file: named by the index, or found beside it.
type File struct {
	Name     string
	Path     string
	Indexed  bool   // the index names it, or there is no index
	Fault    *Fault // why its header could not be read, nil where it could
	Size     int64  // bytes, where the file exists
	Header   *safetensors.Header
	Records  []Record        // tensors in the order of the header
	Holes    []ckptfs.Range  // of the data, where the file is sparse
	Extents  *ckptfs.Extents // how it lies on the device, nil where the system does not say
	HolesErr error           // why holes could not be looked for
}

// Usable says whether the file's tensors are known for certain.
func (f *File) Usable() bool { return f.Fault == nil && f.Header != nil && f.Header.Err() == nil }

// Listed says whether the names of the file's tensors are known, though places
// and sizes may be wrong.
func (f *File) Listed() bool {
	if f.Fault != nil || f.Header == nil || f.Header.Dropped > 0 || f.Header.Tensors != len(f.Records) {
		return false // entries of which even the place is unknown have no record
	}
	for _, p := range f.Header.Problems {
		switch p.Kind {
		case safetensors.BadOffsets, safetensors.SizeMismatch, safetensors.Truncated, safetensors.Trailing,
			safetensors.PartialByte, safetensors.Overflow:
		default:
			if !p.Kind.Legal() {
				return false
			}
		}
	}
	return true
}

// Record is a tensor in 40 bytes.
type Record struct {
	Key    names.Key
	Offset int64  // of the first byte, from the start of the file
	Size   int64  // bytes
	Spec   uint32 // of Checkpoint.Spec
}

// Spec is what tensors of a kind share.
type Spec struct {
	DType dtype.Type
	Shape []uint64
}

// Tensor is a tensor with its place: plain data.
type Tensor struct {
	Name   string
	DType  dtype.Type
	Shape  []uint64
	File   *File
	Offset int64 // of the first byte, from the start of the file
	Size   int64 // bytes
}

// Spec gives the dtype and shape of that number.
func (c *Checkpoint) Spec(id uint32) Spec { return c.specs.at(id) }

// Specs is how many numbers Spec knows.
func (c *Checkpoint) Specs() int { return c.specs.len() }

// File finds a weight file by its name in the directory.
func (c *Checkpoint) File(name string) (*File, bool) {
	f, ok := c.where[name]
	return f, ok
}

// Tensor makes a record of f readable.
func (c *Checkpoint) Tensor(f *File, r *Record) *Tensor {
	spec := c.Spec(r.Spec)
	return &Tensor{c.Names.Name(r.Key), spec.DType, spec.Shape, f, r.Offset, r.Size}
}

// Tensors yields the tensors file by file, in the order of their headers: those
// that the index names where there is one.
func (c *Checkpoint) Tensors() iter.Seq[*Tensor] {
	return func(yield func(*Tensor) bool) {
		for _, f := range c.Files {
			if !f.Indexed {
				continue
			}
			for i := range f.Records {
				if !yield(c.Tensor(f, &f.Records[i])) {
					return
				}
			}
		}
	}
}

// Lookup finds a tensor by its exact name.
func (c *Checkpoint) Lookup(name string) (*Tensor, bool) {
	key, ok := c.Names.Find(name)
	if !ok {
		return nil, false
	}
	if c.Index != nil {
		if e, ok := c.Index.Find(key); ok {
			f := c.where[c.Index.Files[e.File]]
			return c.find(f, key)
		}
		return nil, false
	}
	for _, f := range c.Files {
		if t, ok := c.find(f, key); ok {
			return t, true
		}
	}
	return nil, false
}

func (c *Checkpoint) find(f *File, key names.Key) (*Tensor, bool) {
	if f == nil {
		return nil, false
	}
	for i := range f.Records {
		if f.Records[i].Key == key {
			return c.Tensor(f, &f.Records[i]), true
		}
	}
	return nil, false
}

// ErrNotFound: the path does not exist or holds no checkpoint.
var ErrNotFound = errors.New("no checkpoint here")

// NotFoundError says why a path is no checkpoint. It matches ErrNotFound.
type NotFoundError struct {
	Path string
	Msg  string
	Err  error // of the file system, may be nil
}

func (e *NotFoundError) Error() string { return e.Path + ": " + e.Msg }

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

func (e *NotFoundError) Unwrap() error { return e.Err }

// UnsupportedError names what this version cannot read.
type UnsupportedError struct {
	Feature string
	Need    string
}

func (e *UnsupportedError) Error() string { return e.Feature + ": " + e.Need }

// Is makes errors.Is(err, errors.ErrUnsupported) true.
func (e *UnsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

// Open is Survey for those who cannot use a damaged checkpoint: the first
// fault, in the order of the files, is the error, and names its file.
func Open(ctx context.Context, path string, opts Options) (*Checkpoint, error) {
	opts.Headers = true
	c, err := Survey(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	if c.Index != nil && c.Index.Err != nil {
		return nil, &fs.PathError{Op: "read", Path: c.Index.Name, Err: c.Index.Err}
	}
	for _, f := range c.Files {
		if !f.Indexed {
			continue
		}
		if f.Fault != nil {
			return nil, &fs.PathError{Op: "read", Path: f.Path, Err: f.Fault}
		}
		if err := f.Header.Err(); err != nil {
			return nil, &fs.PathError{Op: "read", Path: f.Path, Err: err}
		}
	}
	if d := c.firstDifference(); d != nil {
		return nil, d
	}
	return c, nil
}
