package loader

import (
	"errors"
	"fmt"
)

// Errors of callers that do not keep to the contract.
var (
	errDepth  = errors.New("more requests at once than the engine takes")
	errIdle   = errors.New("there is nothing to wait for")
	errClosed = errors.New("the engine is closed")
)

// EngineOptions are what an engine is made for.
type EngineOptions struct {
	Depth   int      // most requests in flight; 0 is DefaultDepth
	Staging *Staging // the memory that is read into, to be registered; may be nil

	fault fault
}

// DefaultDepth is how many requests an engine takes where nobody says.
const DefaultDepth = 64

// mostDepth bounds the memory of queues and the number of threads.
const mostDepth = 4096

// EngineInfo says what engine it became, and why.
type EngineInfo struct {
	Name        string   // "uring", "pread"
	Reason      string   // why not a better one; empty where it is the best or was asked for
	Ladder      []string // every choice in a line
	Fixed       bool     // the staging area is registered with the kernel
	FixedReason string   // why it is not
}

// NewEngine makes an engine on the thread that will use it: "uring", "pread", or
// the better one that this system allows with "auto" or "". One that is asked for
// and cannot be had is an error that matches ErrUnavailable.
func NewEngine(kind string, o EngineOptions) (Engine, EngineInfo, error) {
	if o.Depth <= 0 {
		o.Depth = DefaultDepth
	}
	o.Depth = min(o.Depth, mostDepth)
	var info EngineInfo
	switch kind {
	case "", "auto", "uring":
		e, fixed, err := newUring(o)
		if err == nil {
			info.tookRing(e, fixed)
			return e, info, nil
		}
		if kind == "uring" {
			return nil, info, fmt.Errorf("%w: %w", err, ErrUnavailable)
		}
		info.Reason = err.Error()
		info.Ladder = append(info.Ladder, err.Error())
	case "pread":
		info.Ladder = append(info.Ladder, "io_uring: not tried, pread was asked for")
	default:
		return nil, info, optionError("there is no engine %q: auto, uring or pread", kind)
	}
	info.Name, info.FixedReason = "pread", "pread knows no registered memory"
	info.Ladder = append(info.Ladder, fmt.Sprintf("pread: taken, up to %d threads", o.Depth))
	return newPread(o), info, nil
}

func (i *EngineInfo) tookRing(e *uringEngine, fixed string) {
	i.Name, i.Fixed, i.FixedReason = "uring", fixed == "", fixed
	line := "io_uring: taken"
	if mode := e.ring.Mode(); mode != "" {
		line += ", " + mode
	}
	i.Ladder = append(i.Ladder, line)
	if fixed == "" {
		i.Ladder = append(i.Ladder, "registered buffers: taken")
	} else {
		i.Ladder = append(i.Ladder, "registered buffers: "+fixed+"; plain reads")
	}
}
