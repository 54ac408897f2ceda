//go:build race

package audit

// raced says that the race detector runs: it allocates too.
const raced = true
