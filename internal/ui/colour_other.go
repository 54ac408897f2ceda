//go:build !windows

package ui

import "io"

// enableColour has nothing to do: terminals here know colour sequences.
func enableColour(io.Writer) bool { return true }
