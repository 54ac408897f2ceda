//go:build !linux

package pages

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

var errSealed = fmt.Errorf("sealed memory files: %w on %s", errors.ErrUnsupported, runtime.GOOS)

// Sealed makes a memory file of some bytes that nobody can change any more.
func Sealed(string, []byte) (*os.File, error) { return nil, errSealed }

// Reopen opens a memory file anew, for reading only.
func Reopen(*os.File) (*os.File, error) { return nil, errSealed }

// CheckSealed makes sure that a file cannot change.
func CheckSealed(*os.File, int64) error { return errSealed }

// View is a sealed memory file of another process, mapped for reading.
type View struct{}

// NewView maps a sealed memory file.
func NewView(*os.File, int64) (*View, error) { return nil, errSealed }

// Bytes is the memory.
func (*View) Bytes() []byte { return nil }

// Close takes the memory away.
func (*View) Close() error { return nil }
