package pages

import (
	"errors"
	"fmt"
	"os"
)

// Kind says what pages an area lies on.
type Kind string

// The kinds, the best first.
const (
	// KindHuge: huge pages from the first touch on, by MADV_HUGEPAGE.
	KindHuge Kind = "huge"
	// KindCollapsed: small pages that MADV_COLLAPSE joined to huge ones.
	KindCollapsed Kind = "collapsed"
	// KindPlain: small pages.
	KindPlain Kind = "plain"
	// KindHeap: memory of the Go heap, on systems without the others.
	KindHeap Kind = "heap"
)

// ErrNoMemory: the system has not enough memory for an area.
var ErrNoMemory = errors.New("the system gives no more memory")

// Area is a piece of memory. Its first byte lies on a page boundary, and on one of
// huge pages where it is that large.
type Area struct {
	kind   Kind
	huge   int64
	reason string

	mem   []byte
	whole []byte // with the guards around it; nil on the heap
}

// Bytes is the memory: exactly as much as was asked for.
func (a *Area) Bytes() []byte { return a.mem }

// Kind is the kind of most of its pages.
func (a *Area) Kind() Kind { return a.kind }

// Huge is how many of its bytes lie on huge pages, as the kernel counted them
// when the area was made.
func (a *Area) Huge() int64 { return a.huge }

// Reason says why the pages are not of the best kind; empty where they are.
func (a *Area) Reason() string { return a.reason }

// Shared is an area that lies in a memory file, so that another process can map
// it too.
type Shared struct {
	Area
	f *os.File
}

// File is the memory file, nil on systems without them. It belongs to the area.
func (s *Shared) File() *os.File { return s.f }

func checkSize(bytes int64) error {
	const most = 1 << 46 // half of what a process can address
	if bytes < 0 || bytes > most || int64(int(bytes)) != bytes {
		return fmt.Errorf("an area of %d bytes: %w", bytes, ErrNoMemory)
	}
	return nil
}
