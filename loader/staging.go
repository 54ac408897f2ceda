package loader

import (
	"context"
	"errors"
	"fmt"

	"ckpt/internal/pages"
)

// Staging is the memory that files are read into: one area, cut into slots of a
// block. Its size is fixed when it is made.
type Staging struct {
	area  *pages.Area
	block int64
}

// NewStaging makes as many slots of block bytes as pinned bytes hold, at least
// one. Slots begin on a page. Where huge pages are refused, small ones serve,
// and Reason says so.
func NewStaging(pinned, block int64) (*Staging, error) {
	return stagingFor(context.Background(), pinned, block)
}

// stagingFor is NewStaging that ends with the context.
func stagingFor(ctx context.Context, pinned, block int64) (*Staging, error) {
	if block <= 0 || block%pageSize != 0 {
		return nil, optionError("a slot of %d bytes: it has a multiple of %d", block, pageSize)
	}
	area, err := pages.New(ctx, max(1, pinned/block)*block)
	if errors.Is(err, pages.ErrNoMemory) {
		return nil, fmt.Errorf("staging: %w: %w", ErrMemory, err)
	}
	if err != nil {
		return nil, fmt.Errorf("staging: %w", err)
	}
	return &Staging{area, block}, nil
}

// Slots is how many there are.
func (s *Staging) Slots() int { return len(s.area.Bytes()) / int(s.block) }

// Block is the size of a slot.
func (s *Staging) Block() int64 { return s.block }

// Slot is the memory of one.
func (s *Staging) Slot(i int) []byte {
	at := int64(i) * s.block
	return s.area.Bytes()[at : at+s.block : at+s.block]
}

// Area is the memory of all slots.
func (s *Staging) Area() []byte { return s.area.Bytes() }

// Kind says what pages it lies on: "huge", "collapsed", "plain" or "heap".
func (s *Staging) Kind() string { return string(s.area.Kind()) }

// Huge is how many of its bytes lie on huge pages.
func (s *Staging) Huge() int64 { return s.area.Huge() }

// Reason says why it does not lie on huge pages, where it does not.
func (s *Staging) Reason() string { return s.area.Reason() }

// Close returns the memory. Nothing may read into it any more.
func (s *Staging) Close() error { return s.area.Close() }
