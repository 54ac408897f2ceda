package loader

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"ckpt/shard"
)

// ending is a progress that does something when the load begins to read.
type ending struct{ do func() }

func (e *ending) Start(string, int64, string) { e.do() }
func (e *ending) Add(int64)                   {}
func (e *ending) Stop()                       {}

// A file that goes between the comparison and its own turn is a changed checkpoint.
func TestFileGoneBeforeItsTurn(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	host := NewHost()
	o := small(host)
	last := p.Source.Files[len(p.Source.Files)-1].Name
	o.Progress = &ending{func() {
		if err := os.Remove(filepath.Join(dir, last)); err != nil {
			t.Error(err)
		}
	}}
	l, _, err := Load(t.Context(), p, dir, o)
	if !errors.Is(err, ErrChanged) || l != nil || err.Error() != ErrChanged.Error()+": "+last+" is gone" {
		t.Errorf("%v", err)
	}
	closeAll(t, l, host)
}

// A load whose context ends before its memory is there gives the cause, and
// leaves nothing behind.
func TestAllocationEndsWithTheContext(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	why := errors.New("a signal")
	for after := range 3 { // allocations
		ctx, end := context.WithCancelCause(t.Context())
		d := &endingDevice{Host: NewHost(), after: after, end: func() { end(why) }}
		l, r, err := Load(ctx, p, dir, small(d))
		if !errors.Is(err, why) || l != nil || r != nil {
			t.Errorf("after %d: %v", after, err)
		}
		closeAll(t, l, d)
		end(nil)
	}
}

// endingDevice ends the context before it makes an arena.
type endingDevice struct {
	*Host
	after int
	end   func()
}

func (d *endingDevice) Memory() (free, total int64, err error) {
	if d.after == 0 {
		d.end()
	}
	return d.Host.Memory()
}

func (d *endingDevice) Alloc(bytes int64) (Arena, error) {
	return d.allocContext(context.Background(), bytes)
}

func (d *endingDevice) allocContext(ctx context.Context, bytes int64) (Arena, error) {
	if d.after--; d.after == 0 {
		d.end()
	}
	return d.Host.allocContext(ctx, bytes)
}
