// Package convert rewrites checkpoints. [Slice] makes a small checkpoint of a
// model's first layers.
//
// # Rules of every rewrite
//
// The source is only read. The destination is a new or empty directory outside
// the source, never reached through a link; files appear whole, config and
// index last; on an error everything that was made is removed again. Tensors
// that are not converted keep name, dtype and bytes. What is written carries
// no time, host or path.
//
// # Limits
//
// A job holds 8 MiB of data, whatever the size of the tensors. Holes of sparse
// files stay holes where the file system tells them.
package convert

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Progress hears how far the work is. Add may be called from several
// goroutines.
type Progress interface {
	Start(what string, total int64, unit string)
	Add(n int64)
	Stop()
}

// DestinationError says why a destination is refused.
type DestinationError struct{ Path, Msg string }

func (e *DestinationError) Error() string { return e.Path + ": " + e.Msg }

// outside refuses a destination within the source directory, by whatever
// links its path gets there.
func outside(src, dst string) error {
	source, err := os.Stat(src)
	if err != nil {
		return err
	}
	parent, err := filepath.Abs(filepath.Dir(filepath.Clean(dst)))
	if err != nil {
		return err
	}
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return err
	}
	for {
		info, err := os.Stat(parent)
		if err != nil {
			return err
		}
		if os.SameFile(source, info) {
			return &DestinationError{dst, "lies within the source"}
		}
		up := filepath.Dir(parent)
		if up == parent {
			return nil
		}
		parent = up
	}
}

// ErrNoConfig: the source has no readable config.json.
var ErrNoConfig = errors.New("no readable config.json: the number of layers is unknown")

func configError(err error) error {
	if err == nil {
		return ErrNoConfig
	}
	return fmt.Errorf("%w: %w", ErrNoConfig, err)
}
