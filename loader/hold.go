package loader

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"ckpt/internal/unixsock"
	"ckpt/loader/client"
	"ckpt/shard"
)

// Bounds on what clients may take of a holder.
const (
	mostLeases = 1024 // connections at once, each a goroutine and a descriptor
	askWithin  = 10 * time.Second
	// A client maps what it was given, and checks it, before it commits.
	commitWithin = time.Minute
)

// ErrNotFinal: the bytes of an arena could still change, since another process has
// it mapped for writing, so it is not held.
var ErrNotFinal = errors.New("the memory could not be sealed")

// Holdings are arenas that were loaded and verified.
type Holdings struct {
	Plan   *shard.Plan
	Verify client.Verify
	Arenas []HeldArena // in the order of their ranks
	// Hash gives the xxh3-128 of a source tensor in hexadecimal, or nothing.
	// It may be nil.
	Hash func(file string, offset int64) string
}

// HeldArena is the arena of a rank. It has CanaryBytes behind its tensors.
type HeldArena struct {
	Rank   int
	Device Device
	Arena  Arena
}

// HoldEvent is something that a client did.
type HoldEvent struct {
	Kind  HoldEventKind
	PID   int
	Ranks []int
	Err   error // of Refused
}

// HoldEventKind is what a client did.
type HoldEventKind string

// The kinds of events.
const (
	Attached HoldEventKind = "attached" // it mapped and committed
	Left     HoldEventKind = "left"     // it closed its connection or died
	Refused  HoldEventKind = "refused"  // it was not given what it asked for
)

// Hold serves arenas to other processes at a socket until it is closed. The
// connection of a client is its lease.
type Hold struct {
	manifests *manifests
	listener  *unixsock.Listener
	event     func(HoldEvent)

	mu     sync.Mutex
	ending bool
	conns  map[*unixsock.Conn]bool // whether it has committed
	wg     sync.WaitGroup
}

// NewHold writes the canaries, seals the arenas and takes the name: from here on
// the socket is there, and before nothing was. event may be nil; it is called from
// several goroutines. Errors: unixsock's of Listen, ErrNotFinal where another
// process could write to what is held, and errors.ErrUnsupported where a device's
// memory cannot be handed over.
func NewHold(socket string, x Holdings, event func(HoldEvent)) (*Hold, error) {
	if event == nil {
		event = func(HoldEvent) {}
	}
	h := &Hold{event: event, conns: map[*unixsock.Conn]bool{}}
	if err := unixsock.Free(socket); err != nil {
		return nil, err
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	arenas, err := describeArenas(x)
	if err != nil {
		return nil, err
	}
	if err := sealArenas(x.Arenas); err != nil {
		return nil, err
	}
	if h.manifests, err = newManifests(hex.EncodeToString(id[:]), x, arenas); err != nil {
		return nil, err
	}
	if h.listener, err = unixsock.Listen(socket); err != nil {
		return nil, err
	}
	h.wg.Go(h.accept)
	return h, nil
}

// sealArenas makes what is held final, where that can be done.
func sealArenas(arenas []HeldArena) error {
	for _, a := range arenas {
		s, ok := a.Arena.(Sealer)
		if !ok {
			continue
		}
		err := s.Seal()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return fmt.Errorf("rank %d: %w", a.Rank, err)
		case err != nil:
			return fmt.Errorf("rank %d: %w: %w", a.Rank, ErrNotFinal, err)
		}
	}
	return nil
}

// Leases is how many clients have committed and are connected.
func (h *Hold) Leases() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, committed := range h.conns {
		if committed {
			n++
		}
	}
	return n
}

// Close gives the name back, ends all leases and returns when nothing is served
// any more. The arenas stay the caller's; what clients have mapped of host memory
// stays theirs.
func (h *Hold) Close() error {
	h.mu.Lock()
	h.ending = true
	for c := range h.conns {
		_ = c.Close() // which ends the lease, whatever it says
	}
	h.mu.Unlock()
	err := h.listener.Close()
	h.wg.Wait()
	return err
}

func (h *Hold) accept() {
	for {
		c, err := h.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, unixsock.ErrStranger):
			h.event(HoldEvent{Kind: Refused, Err: err})
		case err != nil: // out of descriptors, say; it may pass
			time.Sleep(10 * time.Millisecond)
		case h.enter(c):
			h.wg.Go(func() { h.serve(c) })
		default:
			_ = c.Close()
		}
	}
}

// enter counts a connection, unless the hold ends or there are too many.
func (h *Hold) enter(c *unixsock.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending || len(h.conns) >= mostLeases {
		return false
	}
	h.conns[c] = false
	return true
}

// commit turns a connection into a lease, unless the hold ends.
func (h *Hold) commit(c *unixsock.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ending {
		h.conns[c] = true
	}
	return !h.ending
}

func (h *Hold) leave(c *unixsock.Conn) {
	h.mu.Lock()
	delete(h.conns, c)
	h.mu.Unlock()
	_ = c.Close()
}
