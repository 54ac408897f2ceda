package client

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/go-json-experiment/json"

	"ckpt/internal/pages"
	"ckpt/internal/unixsock"
)

// ErrCanary: an arena that was mapped is not the one that was handed over.
var ErrCanary = errors.New("the mapping is not the arena that was handed over")

// Attachment is a lease of arenas of a held load.
type Attachment struct {
	Manifest *Manifest

	conn  *unixsock.Conn
	done  <-chan struct{}
	views []*pages.View // by arena; nil where it is not host memory
	files []*os.File    // by arena; nil where it is host memory or has no descriptor
	index map[key]int   // of tensors

	once   sync.Once
	closed error
}

type key struct {
	rank int
	name string
}

// Attach connects to the holder at a socket and takes a lease of the arenas of
// ranks; of all where none is named. When it returns, host memory is mapped and
// was compared with its canaries. Errors: *RefusedError, ErrManifest, ErrProtocol,
// ErrCanary, and unixsock's where nobody is there.
func Attach(ctx context.Context, socket string, ranks ...int) (_ *Attachment, err error) {
	conn, err := unixsock.Dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	a := &Attachment{conn: conn}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		if !stop() && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if err := a.receive(ranks); err != nil {
		return nil, err
	}
	if err := a.checkCanaries(); err != nil {
		return nil, err
	}
	if err := send(conn, Commit{a.Manifest.Hold}); err != nil {
		return nil, err
	}
	line, _, err := conn.Receive(MaxLine, 0)
	if err != nil {
		return nil, err
	}
	if err := parseCommitted(line); err != nil {
		return nil, err
	}
	a.done = conn.Gone()
	a.index = make(map[key]int, len(a.Manifest.Tensors))
	for i := range a.Manifest.Tensors {
		t := &a.Manifest.Tensors[i]
		a.index[key{t.Rank, t.Name}] = i
	}
	return a, nil
}

func send(c *unixsock.Conn, line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return c.Send(text)
}

// receive asks for ranks and maps what comes.
func (a *Attachment) receive(ranks []int) error {
	if err := send(a.conn, Request{Schema, ranks}); err != nil {
		return err
	}
	line, files, err := a.conn.Receive(MaxLine, unixsock.MostFiles)
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
	}()
	answer, err := parseAnswer(line, len(files))
	if err != nil {
		return err
	}
	if a.Manifest, err = readManifest(files[0], answer.ManifestBytes); err != nil {
		return err
	}
	a.views = make([]*pages.View, len(a.Manifest.Arenas))
	a.files = make([]*os.File, len(a.Manifest.Arenas))
	for i := range a.Manifest.Arenas {
		arena := &a.Manifest.Arenas[i]
		switch d := arena.Descriptor; {
		case d == 0:
		case d >= len(files) || files[d] == nil:
			return fmt.Errorf("%w: arena %d wants descriptor %d of %d, or one twice", ErrProtocol, arena.Arena, d, len(files))
		case arena.Kind == KindMemfd:
			if a.views[i], err = pages.NewView(files[d], arena.Bytes); err != nil {
				return fmt.Errorf("arena %d: %w", arena.Arena, err)
			}
		default:
			a.files[i], files[d] = files[d], nil
		}
	}
	return nil
}

func readManifest(f *os.File, size int64) (*Manifest, error) {
	if err := pages.CheckSealed(f, size); err != nil {
		return nil, fmt.Errorf("the manifest: %w", err)
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil {
		return nil, fmt.Errorf("the manifest: %w", err)
	}
	return ParseManifest(data)
}

// checkCanaries compares host arenas with what the manifest says of them.
func (a *Attachment) checkCanaries() error {
	for i, v := range a.views {
		if v == nil {
			continue
		}
		for _, c := range a.Manifest.Arenas[i].Canaries {
			want, err := hex.DecodeString(c.Hex)
			if err != nil {
				return err
			}
			if got := v.Bytes()[c.Offset:][:len(want)]; !bytes.Equal(got, want) {
				return fmt.Errorf("%w: arena %d at %d", ErrCanary, a.Manifest.Arenas[i].Arena, c.Offset)
			}
		}
	}
	return nil
}

// Tensor finds a tensor of a rank.
func (a *Attachment) Tensor(rank int, name string) (*Tensor, bool) {
	i, ok := a.index[key{rank, name}]
	if !ok {
		return nil, false
	}
	return &a.Manifest.Tensors[i], true
}

// Bytes gives the bytes of a tensor in host memory, nil where it lies in that of a
// device. They are the holder's own, for reading only, and gone after Close.
func (a *Attachment) Bytes(t *Tensor) []byte {
	i, ok := a.Manifest.arena(t.Arena)
	if !ok || a.views[i] == nil {
		return nil
	}
	v := a.views[i]
	return v.Bytes()[t.Offset:][:t.Bytes:t.Bytes]
}

// Handle gives what opens the i-th arena of the manifest, where that is not host
// memory: a descriptor, which stays the attachment's, or bytes.
func (a *Attachment) Handle(i int) (*os.File, []byte) {
	data, err := hex.DecodeString(a.Manifest.Arenas[i].Handle)
	if err != nil {
		return a.files[i], nil // not with a manifest that was parsed
	}
	return a.files[i], data
}

// Done is closed when the holder ends the lease or dies. What is mapped stays
// readable until Close.
func (a *Attachment) Done() <-chan struct{} { return a.done }

// Holder is the process that holds the load.
func (a *Attachment) Holder() int { return a.conn.Peer().PID }

// Close ends the lease and takes the memory away: no slice that Bytes gave may be
// used any more.
func (a *Attachment) Close() error {
	a.once.Do(func() {
		list := []error{a.conn.Close()}
		for _, v := range a.views {
			if v != nil {
				list = append(list, v.Close())
			}
		}
		for _, f := range a.files {
			if f != nil {
				list = append(list, f.Close())
			}
		}
		if a.done != nil {
			<-a.done
		}
		a.closed = errors.Join(list...)
	})
	return a.closed
}
