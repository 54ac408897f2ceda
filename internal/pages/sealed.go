package pages

import "errors"

// ErrNotSealed: a file that was received can still shrink or be written to, so
// reading it through a mapping could kill the process or give other bytes.
var ErrNotSealed = errors.New("not a sealed memory file")
