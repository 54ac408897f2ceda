package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	ckptfs "ckpt/internal/fs"
	"ckpt/internal/names"
	"ckpt/safetensors"
)

// reader reads the headers of one file after the other.
type reader struct {
	opts    *Options
	scanner safetensors.Scanner
	names   *names.Cache
	specs   *specCache
	records []Record
}

func (s *survey) newReader() *reader {
	return &reader{opts: &s.opts, names: s.Names.NewCache(), specs: s.specs.newCache()}
}

// read fills f from the file at its path.
func (r *reader) read(f *File) {
	if !r.opts.Headers {
		r.present(f)
		return
	}
	file, info, err := ckptfs.OpenRegular(f.Path)
	if err != nil {
		f.Fault = openFault(err)
		return
	}
	defer file.Close()
	f.Size = info.Size()
	if f.Size == 0 {
		f.Fault = &Fault{Reason: Empty, Msg: "the file is empty"}
		return
	}
	r.header(f, file)
	if r.opts.Sparse && f.Fault == nil {
		sparse(f, file, info)
	}
}

// present takes the size alone.
func (r *reader) present(f *File) {
	info, err := os.Stat(f.Path)
	if err == nil && !info.Mode().IsRegular() {
		err = &ckptfs.NotRegularError{Path: f.Path, Mode: info.Mode()}
	}
	if err != nil {
		f.Fault = openFault(err)
		return
	}
	f.Size = info.Size()
}

func openFault(err error) *Fault {
	var irregular *ckptfs.NotRegularError
	switch {
	case errors.As(err, &irregular):
		return &Fault{Reason: NotRegular, Detail: irregular.Kind(), Msg: "not a regular file but a " + irregular.Kind()}
	case os.IsNotExist(err):
		return &Fault{Reason: Missing, Msg: "the file is not here", Err: err}
	}
	return &Fault{Reason: Unreadable, Msg: "cannot be read", Err: err}
}

// header reads the header of f and turns its tensors into records.
func (r *reader) header(f *File, file *os.File) {
	r.records = r.records[:0]
	h, err := r.scanner.Scan(file, f.Size, func(e *safetensors.Entry) {
		r.records = append(r.records, Record{r.names.Intern(e.Name), int64(e.Begin), int64(e.End - e.Begin), r.specs.id(e.DType, e.Shape)})
	})
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: %w", errShrunk, err)
		}
		f.Fault = &Fault{Reason: Unreadable, Msg: "cannot be read", Err: err}
		return
	}
	if h.Err() != nil && len(r.records) == 0 {
		if f.Fault = impostor(file, f.Size); f.Fault != nil {
			return
		}
		if zeroed(file, f.Size) {
			f.Fault = &Fault{Reason: Zeroed, Msg: "the file begins with zero bytes where its header should be: allocated, never written"}
		}
	}
	f.Header = h
	f.Records = slices.Clone(r.records)
	for i := range f.Records {
		f.Records[i].Offset += h.DataStart
	}
}

// sparse looks at what the file system says of the file. What it cannot say is
// left out: the data themselves are not touched.
func sparse(f *File, file *os.File, info os.FileInfo) {
	if e, err := ckptfs.ExtentsOf(file); err == nil {
		f.Extents = &e
	}
	if f.Header == nil || !ckptfs.Sparse(info) {
		return
	}
	from := min(f.Header.DataStart, f.Size)
	f.Holes, f.HolesErr = ckptfs.Holes(file, from, f.Size-from)
}
