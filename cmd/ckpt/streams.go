package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"ckpt/internal/ui"
)

// streams are the ends of the process, as commands see them.
type streams struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
}

// style colours what goes to the standard output.
func (s streams) style() ui.Style { return ui.NewStyle(s.out, s.getenv) }

// errStyle colours what goes to the standard error.
func (s streams) errStyle() ui.Style { return ui.NewStyle(s.err, s.getenv) }

// isBrokenPipe reports whether the reader of our output went away.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// shown is a path as a person may read and copy it.
func shown(path string) string { return ui.Escape(path) }

// parent is the directory that a new directory would lie in.
func parent(path string) string { return filepath.Dir(filepath.Clean(path)) }

// exists reports whether anything is at path, a dangling link included.
func exists(path string) bool {
	_, err := os.Lstat(filepath.Clean(path))
	return err == nil
}
