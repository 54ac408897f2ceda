package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	ckptfs "ckpt/internal/fs"
	"ckpt/shard"
)

// sourceFile is a file of the plan, open while it is read.
type sourceFile struct {
	shard.SourceFile
	path string
	seen FileState // when it was compared with the plan

	file      *File // nil where it is not open
	pending   int   // requests
	submitted bool  // all of them
	reserved  int64 // number of the first tensor for which no memory is reserved
	open      int64 // bytes reserved for the tensor of which only a part was asked for
	direct    bool
	reason    string // why not
	bytes     int64
	began     time.Time
	ended     time.Time
}

// planned opens each file of a plan, and compares it with what was planned. The
// error matches ErrChanged.
func planned(ctx context.Context, p *shard.Plan, dir string) ([]*sourceFile, error) {
	var list []*sourceFile
	for _, f := range p.Source.Files {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s := &sourceFile{SourceFile: f, path: filepath.Join(dir, filepath.FromSlash(f.Name))}
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return nil, fmt.Errorf("%w: a plan that names the file %q", ErrChanged, f.Name)
		}
		if err := s.compare(); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// mostHeader bounds what is read to compare headers: those of safetensors have
// 100 MB at most.
const mostHeader = 128 << 20

func (s *sourceFile) compare() error {
	f, info, err := ckptfs.OpenRegular(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return s.gone()
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size() != s.Size {
		return fmt.Errorf("%w: %s has %d bytes, %d were planned", ErrChanged, s.Name, info.Size(), s.Size)
	}
	if s.seen, err = ckptfs.StateOf(f); err != nil {
		return err
	}
	const length = 8 // bytes before a safetensors header
	if s.DataStart < length || s.DataStart > mostHeader {
		return fmt.Errorf("%w: a plan with a header of %d bytes", ErrChanged, s.DataStart)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, length, s.DataStart-length)); err != nil {
		return &ReadError{File: s.path, System: ckptfs.TypeOf(s.path), Offset: length, Bytes: int(s.DataStart - length), Err: err}
	}
	if hex.EncodeToString(sum.Sum(nil)) != s.HeaderSHA256 {
		return fmt.Errorf("%w: %s has another header than was planned", ErrChanged, s.Name)
	}
	return nil
}

func (s *sourceFile) gone() error { return fmt.Errorf("%w: %s is gone", ErrChanged, s.Name) }

func (s *sourceFile) begin(o Options) error {
	f, err := OpenFile(s.path, s.Name, !o.Buffered)
	if errors.Is(err, os.ErrNotExist) {
		return s.gone()
	}
	if err != nil {
		return err
	}
	s.file, s.direct, s.reason = f, f.Direct, f.Reason
	s.began = time.Now()
	return s.same()
}

// same says whether the file is still what was compared with the plan.
func (s *sourceFile) same() error {
	now, err := s.file.Stat()
	if err != nil {
		return err
	}
	return s.like(now)
}

func (s *sourceFile) like(now FileState) error {
	switch {
	case now == s.seen:
		return nil
	case now.Size != s.Size:
		return fmt.Errorf("%w: %s has %d bytes now, %d when the load began", ErrChanged, s.Name, now.Size, s.Size)
	}
	return fmt.Errorf("%w: %s was written to or replaced during the load", ErrChanged, s.Name)
}

// finish closes the file behind its last byte.
func (s *sourceFile) finish() error {
	return errors.Join(s.same(), s.close())
}

func (s *sourceFile) close() error {
	if s.file == nil {
		return nil
	}
	if why := s.file.Refused(); why != "" {
		s.direct, s.reason = false, why
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// explain says of a failed read whether the file changed.
func (s *sourceFile) explain(err error) error {
	if s.file != nil {
		if changed := s.same(); errors.Is(changed, ErrChanged) {
			return fmt.Errorf("%w (%w)", changed, err)
		}
	}
	return err
}

// unchanged looks at all files once more, after the last byte of the last one.
func unchanged(list []*sourceFile) error {
	for _, s := range list {
		now, err := stateAt(s.path)
		if errors.Is(err, os.ErrNotExist) {
			return s.gone()
		}
		if err == nil {
			err = s.like(now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func stateAt(path string) (FileState, error) {
	f, _, err := ckptfs.OpenRegular(path)
	if err != nil {
		return FileState{}, err
	}
	defer f.Close()
	return ckptfs.StateOf(f)
}
