package ui

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style colours words, or leaves them alone. Its zero value leaves them alone.
// Colour never carries what words do not say as well.
type Style struct {
	on bool
}

// NewStyle colours on a terminal, unless NO_COLOR is set to anything or TERM
// is dumb.
func NewStyle(w io.Writer, getenv func(string) string) Style {
	on := getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && IsTerminal(w) && enableColour(w)
	return Style{on: on}
}

// IsTerminal reports whether w or r is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth is the width of the terminal behind w in columns, or def where
// there is none.
func TerminalWidth(w io.Writer, def int) int {
	f, ok := w.(*os.File)
	if !ok {
		return def
	}
	if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
		return n
	}
	return def
}

// Bold makes a heading stand out.
func (s Style) Bold(t string) string { return s.wrap("1", t) }

// Dim puts what is secondary back.
func (s Style) Dim(t string) string { return s.wrap("2", t) }

// Red is for errors.
func (s Style) Red(t string) string { return s.wrap("1;31", t) }

// Yellow is for warnings.
func (s Style) Yellow(t string) string { return s.wrap("33", t) }

// Green is for what is good.
func (s Style) Green(t string) string { return s.wrap("32", t) }

// Cyan is for what is told and neither good nor bad, and for commands to copy.
func (s Style) Cyan(t string) string { return s.wrap("36", t) }

func (s Style) wrap(code, t string) string {
	if !s.on || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}
