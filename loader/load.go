package loader

import (
	"context"
	"errors"

	"ckpt/shard"
)

// Load executes a plan: it reads what the ranks need from the files in dir and
// places it in arenas that it allocates. The plan is proven and the files are
// compared with it before anything is read. On an error nothing is left
// allocated; the result then says how far the load came, where it came to
// reading, and is nil else. A failed verification is an error that matches
// ErrVerify. Other errors match *OptionError, ErrMemory, ErrChanged,
// ErrUnavailable, *ReadError or the context's.
func Load(ctx context.Context, p *shard.Plan, dir string, o Options) (*Loaded, *Result, error) {
	return nil, nil, errors.ErrUnsupported
}

// Loaded is arenas with their tensors in place.
type Loaded struct {
	Plan   *shard.Plan
	Result *Result

	ranks   []int
	arenas  map[int]Arena
	devices map[int]Device
	hashes  *hashes
}

// Ranks lists those that were loaded, in the order that was asked for.
func (l *Loaded) Ranks() []int { return l.ranks }

// Arena is that of a rank, nil where it was not loaded.
func (l *Loaded) Arena(rank int) Arena { return l.arenas[rank] }

// Device holds the arena of a rank.
func (l *Loaded) Device(rank int) Device { return l.devices[rank] }

// Hash is the xxh3-128 in hexadecimal of the source tensor that begins at an
// offset of a file, empty where it was not hashed.
func (l *Loaded) Hash(file string, offset int64) string { return "" }

// Manifest lists the hashes that were taken; nil where none were.
func (l *Loaded) Manifest() *Manifest { return nil }

// Close frees the arenas. The devices stay open.
func (l *Loaded) Close() error {
	var errs []error
	for _, r := range l.ranks {
		errs = append(errs, l.arenas[r].Close())
	}
	l.ranks, l.arenas = nil, nil
	return errors.Join(errs...)
}

type hashes struct{}
