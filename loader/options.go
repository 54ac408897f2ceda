package loader

import (
	"fmt"
	"runtime"
	"time"
)

// Defaults and bounds of Options, in bytes.
const (
	DefaultBlock  = 4 << 20   // what one request reads: local drives are at their best from 2 MiB on
	DefaultPinned = 512 << 20 // staging memory
	LeastBlock    = 64 << 10
	MostBlock     = 1 << 30
)

// mostWorkers is how many workers there are where nobody says: eight hash and
// copy 40 GB/s, and twice as many are for devices that are slow to take copies.
const mostWorkers = 16

// Verify is what a load checks.
type Verify string

// What can be checked.
const (
	VerifyAuto   Verify = ""       // source; none where no device keeps what it gets
	VerifyNone   Verify = "none"   // nothing
	VerifySource Verify = "source" // hashes of what was read, taken while it is read
	VerifyDevice Verify = "device" // what lies in the arenas, read back and compared with the files read again
)

// Options say how to load. The zero value of each field is its default.
type Options struct {
	// Ranks that this machine holds; nil is all. What none of them needs is
	// not read.
	Ranks []int
	// Devices hold the arenas: rank r lies on device r mod n, whatever Ranks
	// says. There is at least one.
	Devices []Device

	IO       string // engine: "auto" (or ""), "uring", "pread"
	Buffered bool   // through the page cache, although direct reads would do
	Block    int64  // most that one request reads; a multiple of 4,096
	Inflight int64  // most bytes that are being read at once; 0 grows until the rate does not
	Pinned   int64  // most staging memory, packed rows included; less where the host has less
	Workers  int    // that copy and hash; 0 is as many as processors, 16 at most

	Verify   Verify
	SHA256   bool              // of whole files as well: reads them whole
	Release  map[string]string // SHA-256 by file name, in hexadecimal, as a release lists them; used with SHA256
	Manifest *Manifest         // hashes of another load of the same weights to compare with; nil for none

	// Cold drops the files from the page cache before the load.
	Cold bool
	// Hold makes every arena CanaryBytes longer than its tensors.
	Hold bool
	// Progress may be nil.
	Progress Progress

	// Start is when whoever loads began, which times of the result count from; zero
	// is the call of Load. Opened and Planned are what was spent since then on
	// opening devices and reading headers, and on making the plan.
	Start           time.Time
	Opened, Planned time.Duration

	// Of tests, in place of NewEngine and of what the host says.
	engine func(kind string, o EngineOptions) (Engine, EngineInfo, error)
	memory func() (free, total int64, err error)
}

// Progress hears how far a load is. All calls come from one goroutine at a time.
type Progress interface {
	Start(what string, total int64, unit string)
	Add(n int64)
	Stop()
}

// OptionError is a request that makes no sense.
type OptionError struct{ Msg string }

func (e *OptionError) Error() string { return e.Msg }

func optionError(format string, args ...any) error {
	return &OptionError{fmt.Sprintf(format, args...)}
}

// resolve fills in defaults and checks what was asked for.
func (o Options) resolve(ranks int) (Options, error) {
	if len(o.Devices) == 0 {
		return o, optionError("there is no device to load to")
	}
	if o.Block == 0 {
		o.Block = DefaultBlock
		if o.Pinned > 0 && o.Pinned < 4*o.Block {
			o.Block = max(LeastBlock, o.Pinned/4&^(pageSize-1))
		}
	}
	if o.Pinned == 0 {
		o.Pinned = max(DefaultPinned, 2*o.Block)
	}
	if o.Workers <= 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), mostWorkers)
	}
	switch {
	case o.Block < LeastBlock || o.Block > MostBlock || o.Block%pageSize != 0:
		return o, optionError("a block of %d bytes: it has %d up to %d, a multiple of %d", o.Block, LeastBlock, MostBlock, pageSize)
	case o.Pinned < 2*o.Block:
		return o, optionError("%d bytes of staging memory hold no two blocks of %d", o.Pinned, o.Block)
	case o.Inflight != 0 && o.Inflight < o.Block:
		return o, optionError("%d bytes in flight are less than a block of %d", o.Inflight, o.Block)
	}
	return o.resolveRanks(ranks)
}

func (o Options) resolveRanks(ranks int) (Options, error) {
	if o.Ranks == nil {
		for r := range ranks {
			o.Ranks = append(o.Ranks, r)
		}
	}
	if len(o.Ranks) == 0 {
		return o, optionError("there are no ranks to load")
	}
	seen := map[int]bool{}
	for _, r := range o.Ranks {
		if r < 0 || r >= ranks {
			return o, optionError("there is no rank %d among %d", r, ranks)
		}
		if seen[r] {
			return o, optionError("rank %d is asked for twice", r)
		}
		seen[r] = true
	}
	switch o.Verify {
	case VerifyAuto, VerifyNone, VerifySource, VerifyDevice:
	default:
		return o, optionError("there is no way %q to verify", o.Verify)
	}
	return o, nil
}

// pageSize is what blocks and slots are multiples of, whatever the machine's
// pages: all alignments that direct reads ask for divide it.
const pageSize = 4096
