package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"ckpt/internal/ui"
	"ckpt/loader"
	"ckpt/shard"
)

// Exit statuses, the same for every command.
const (
	exitDone        = 0   // done, nothing found
	exitFailed      = 1   // could not do it
	exitUsage       = 2   // asked in a way that cannot be understood
	exitNo          = 3   // done, and the answer is no
	exitNoRoom      = 4   // does not fit, in memory or on a disk
	exitInterrupted = 130 // as shells count it: 128 + SIGINT
)

// errNo is returned by a command whose answer is no and already printed.
var errNo = errors.New("the answer is no")

// errNoFit is returned by a command that has printed that it does not fit.
var errNoFit = errors.New("it does not fit")

// noRoomError says why something does not fit that could not be printed.
type noRoomError struct{ err error }

func (e *noRoomError) Error() string { return e.err.Error() }
func (e *noRoomError) Unwrap() error { return e.err }

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// hintError carries what mends an error.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// hint adds a hint to an error; an empty one adds nothing.
func hint(err error, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if err == nil || text == "" {
		return err
	}
	return &hintError{err, text}
}

// exitCode is the one place where errors become exit statuses.
func exitCode(err error) int {
	var usage *usageError
	var noRoom *noRoomError
	switch {
	case err == nil, isBrokenPipe(err):
		return exitDone
	case errors.Is(err, errNo), errors.Is(err, shard.ErrSplit), errors.Is(err, shard.ErrStale):
		return exitNo
	case errors.Is(err, errNoFit), errors.As(err, &noRoom), errors.Is(err, loader.ErrMemory):
		return exitNoRoom
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return exitNoRoom
	default:
		return exitFailed
	}
}

// inOneLine words an error. Errors that were joined stand one behind the other.
func inOneLine(err error) string {
	text := err.Error()
	if !strings.Contains(text, "\n") {
		return text
	}
	var parts []error
	switch x := err.(type) { //nolint:errorlint // this walks the tree itself
	case interface{ Unwrap() []error }:
		parts = x.Unwrap()
	case interface{ Unwrap() error }:
		parts = []error{x.Unwrap()}
	}
	var words, lines []string
	for _, p := range parts {
		if p == nil || p.Error() == "" {
			continue
		}
		line := inOneLine(p)
		words, lines = append(words, p.Error()), append(lines, line)
	}
	if len(words) > 1 && strings.Join(words, "\n") == text {
		return strings.Join(lines, "; ")
	}
	for i, w := range words {
		text = strings.Replace(text, w, lines[i], 1)
	}
	return text
}

// report prints an error and its hint, unless it says nothing new.
func report(std streams, err error) {
	if err == nil || isBrokenPipe(err) || errors.Is(err, errNo) || errors.Is(err, errNoFit) {
		return
	}
	style := std.errStyle()
	message := ui.Escape(inOneLine(err))
	if errors.Is(err, context.Canceled) {
		message = "interrupted"
	}
	fmt.Fprintf(std.err, "ckpt: %s %s\n", style.Red("error:"), message)
	for hinted := (*hintError)(nil); errors.As(err, &hinted); err = hinted.err {
		fmt.Fprintf(std.err, "ckpt: %s %s\n", style.Cyan("hint:"), ui.Escape(hinted.hint))
	}
}
