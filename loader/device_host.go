package loader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"ckpt/internal/fs"
	"ckpt/internal/pages"
)

// Host is the memory of the machine: each arena is one memory file, which
// another process can have. There is one such device, for all ranks.
type Host struct{ arenas, queues atomic.Int64 }

// NewHost makes it.
func NewHost() *Host { return &Host{} }

// Name is "host".
func (d *Host) Name() string { return "host" }

// Memory is what this process may still fill, its control groups counted in.
func (d *Host) Memory() (free, total int64, err error) { return hostMemory() }

func hostMemory() (free, total int64, err error) {
	m, err := fs.ReadMemory()
	if errors.Is(err, errors.ErrUnsupported) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	return m.Free(), m.Usable(), nil
}

// Alloc makes an arena, on huge pages where there are some. What is not free is
// refused: memory that is promised and not there kills the process later.
func (d *Host) Alloc(bytes int64) (Arena, error) {
	return d.allocContext(context.Background(), bytes)
}

// allocContext is Alloc that ends with the context.
func (d *Host) allocContext(ctx context.Context, bytes int64) (Arena, error) {
	if bytes < 0 {
		return nil, arenaSizeError(bytes)
	}
	free, total, err := d.Memory()
	if err != nil {
		return nil, err
	}
	if total > 0 && bytes > free {
		return nil, fmt.Errorf("host: an arena of %d bytes, and %d are free: %w", bytes, free, ErrMemory)
	}
	s, err := pages.NewShared(ctx, "ckpt-arena", bytes)
	if errors.Is(err, pages.ErrNoMemory) {
		return nil, fmt.Errorf("host: an arena of %d bytes: %w: %w", bytes, ErrMemory, err)
	}
	if err != nil {
		return nil, fmt.Errorf("host: an arena of %d bytes: %w", bytes, err)
	}
	d.arenas.Add(1)
	return &HostArena{device: d, shared: s, mem: s.Bytes()}, nil
}

// Register has nothing to do: the processor copies.
func (d *Host) Register([]byte) error { return nil }

// Unregister has nothing to do.
func (d *Host) Unregister([]byte) error { return nil }

// NewQueue makes a queue whose copies are done when they return.
func (d *Host) NewQueue() (Queue, error) {
	d.queues.Add(1)
	return &hostQueue{d: d}, nil
}

// Ways has the direct one only: each row is written where it belongs.
func (d *Host) Ways() []Way { return []Way{WayDirect} }

// Close tells of what is still open.
func (d *Host) Close() error {
	if a, q := d.arenas.Load(), d.queues.Load(); a+q != 0 {
		return fmt.Errorf("host is closed with %d arenas and %d queues in use", a, q)
	}
	return nil
}

// HostArena is an arena in memory of the host.
type HostArena struct {
	device *Host

	mu     sync.Mutex // of exports and Close
	shared *pages.Shared
	sealed bool        // nobody can write to it any more
	final  atomic.Bool // this process writes nothing any more: it is sealed, or that was tried

	mem []byte // nil once it is closed; not written to once it is final
}

var (
	errArenaClosed = errors.New("the arena is closed")
	errArenaSealed = errors.New("the arena is sealed")
)

// Bytes is its size.
func (a *HostArena) Bytes() int64 { return int64(len(a.mem)) }

// Mem is the arena itself. It may be written to until Seal or the first Export,
// and read until Close; afterwards both fault.
func (a *HostArena) Mem() []byte { return a.mem }

// Pages says what pages the arena lies on, how many of its bytes lie on huge
// ones and why not all do.
func (a *HostArena) Pages() (kind string, huge int64, reason string) {
	return string(a.shared.Kind()), a.shared.Huge(), a.shared.Reason()
}

// Seal makes the bytes and the size of the arena final, for every process. It
// fails while any process has it mapped for writing, and may be tried again then;
// this process writes no more either way.
func (a *HostArena) Seal() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seal()
}

func (a *HostArena) seal() error {
	switch {
	case a.shared == nil:
		return errArenaClosed
	case a.shared.File() == nil:
		return fmt.Errorf("memory of the host stays in its process on this system: %w", errors.ErrUnsupported)
	case a.sealed:
		return nil
	}
	a.final.Store(true)
	if err := a.shared.Seal(); err != nil {
		return err
	}
	if err := pages.CheckSealed(a.shared.File(), int64(len(a.mem))); err != nil {
		return err
	}
	a.sealed = true
	return nil
}

// Export opens the file of the arena anew, for one client. It is sealed before,
// and nothing is exported that is not.
func (a *HostArena) Export() (Handle, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.seal(); err != nil {
		return Handle{}, err
	}
	f, err := pages.Reopen(a.shared.File())
	if err != nil {
		return Handle{}, err
	}
	return Handle{Kind: "memfd", File: f, Bytes: fileBytes(f, int64(len(a.mem)))}, nil
}

// fileBytes is the size of the whole file, which has at least so many.
func fileBytes(f *os.File, least int64) int64 {
	if info, err := f.Stat(); err == nil {
		return max(least, info.Size())
	}
	return least
}

// Close frees the arena. Clients that have it keep it.
func (a *HostArena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shared == nil {
		return errArenaClosed
	}
	s := a.shared
	a.shared, a.mem = nil, nil
	a.device.arenas.Add(-1)
	return s.Close()
}

type hostQueue struct{ d *Host }

// Copy is of Queue.
func (q *hostQueue) Copy(dst Arena, off int64, src []byte) error {
	a := dst.(*HostArena)
	if err := checkRange(a, off, int64(len(src))); err != nil {
		return err
	}
	if a.final.Load() {
		return errArenaSealed
	}
	copy(a.mem[off:], src)
	return nil
}

// CopyRect is of Queue.
func (q *hostQueue) CopyRect(dst Arena, off int64, r Rect) error {
	a := dst.(*HostArena)
	if err := checkRect(a, off, r); err != nil {
		return err
	}
	if a.final.Load() {
		return errArenaSealed
	}
	PackRows(a.mem[off:], r)
	return nil
}

// PackRows puts the rows of a rectangle together.
func PackRows(dst []byte, r Rect) {
	for i := range r.Rows {
		copy(dst[i*r.Run:(i+1)*r.Run], r.Src[i*r.Stride:])
	}
}

// Record is of Queue.
func (q *hostQueue) Record() (Event, error) { return done{}, nil }

// ReadBack is of Queue.
func (q *hostQueue) ReadBack(dst []byte, src Arena, off int64) error {
	a := src.(*HostArena)
	if err := checkRange(a, off, int64(len(dst))); err != nil {
		return err
	}
	copy(dst, a.mem[off:])
	return nil
}

// Close is of Queue.
func (q *hostQueue) Close() error {
	if q.d == nil {
		return errors.New("the queue is closed already")
	}
	q.d.queues.Add(-1)
	q.d = nil
	return nil
}
