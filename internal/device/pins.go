package device

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// PinPiece is the most that is pinned in one call: huge calls are refused by
// some drivers, and hold up everything else in others.
const PinPiece = 256 << 20

// Pins are the ranges of host memory that a runtime has pinned, for all of its
// devices: several of them pin the same staging memory, the runtime does it
// once.
type Pins struct {
	mu     sync.Mutex
	ranges []*pinned
	// borders are the addresses where one piece ends and another begins, in
	// order. Runtimes refuse copies across them.
	borders atomic.Pointer[[]uintptr]
}

type pinned struct {
	at     uintptr
	bytes  int
	users  int
	pieces [][]byte
	unpin  func([]byte) error
}

// ErrPinned: the range overlaps another that is pinned.
var ErrPinned = errors.New("the memory is pinned in other pieces")

// Pin pins memory in pieces, all of them or none. Nothing is the same as no
// call.
func (p *Pins) Pin(mem []byte, pin, unpin func([]byte) error) error {
	if len(mem) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := address(mem)
	for _, r := range p.ranges {
		if r.at == at && r.bytes == len(mem) {
			r.users++
			return nil
		}
		if at < r.at+uintptr(r.bytes) && r.at < at+uintptr(len(mem)) {
			return ErrPinned
		}
	}
	r := &pinned{at: at, bytes: len(mem), users: 1, unpin: unpin}
	for piece := range slices.Chunk(mem, PinPiece) {
		if err := pin(piece); err != nil {
			return errors.Join(fmt.Errorf("pinning %d bytes: %w", len(piece), err), r.release())
		}
		r.pieces = append(r.pieces, piece)
	}
	p.ranges = append(p.ranges, r)
	p.cut()
	return nil
}

// Unpin undoes one Pin of exactly this range.
func (p *Pins) Unpin(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.ranges {
		if r.at != address(mem) || r.bytes != len(mem) {
			continue
		}
		if r.users--; r.users > 0 {
			return nil
		}
		p.ranges = slices.Delete(p.ranges, i, i+1)
		p.cut()
		return r.release()
	}
	return errors.New("the memory is not pinned")
}

func (r *pinned) release() error {
	var errs []error
	for _, piece := range r.pieces {
		errs = append(errs, r.unpin(piece))
	}
	return errors.Join(errs...)
}

func (p *Pins) cut() {
	var borders []uintptr
	for _, r := range p.ranges {
		for _, piece := range r.pieces {
			at := address(piece)
			borders = append(borders, at, at+uintptr(len(piece)))
		}
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	p.borders.Store(&borders)
}

// Whole is how many bytes from the beginning of mem on can be copied in one
// call: all, or those before a border between pieces.
func (p *Pins) Whole(mem []byte) int {
	borders := p.borders.Load()
	if borders == nil {
		return len(mem)
	}
	at := address(mem)
	i, found := slices.BinarySearch(*borders, at)
	if found {
		i++
	}
	if i == len(*borders) {
		return len(mem)
	}
	return int(min(uint64(len(mem)), uint64((*borders)[i]-at)))
}

func address(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }
