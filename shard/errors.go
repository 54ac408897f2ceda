package shard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors that callers tell apart.
var (
	// ErrTopology: the degrees make no sense for any model.
	ErrTopology = errors.New("degrees that make no topology")
	// ErrSplit is matched by *SplitError.
	ErrSplit = errors.New("cannot be split")
	// ErrUnknown is matched by *UnknownError.
	ErrUnknown = errors.New("no rule says how to split")
	// ErrIncomplete: the checkpoint lacks tensors, or has others than the
	// profile expects.
	ErrIncomplete = errors.New("not the whole model")
	// ErrPart: Options.Keep parts experts that ranks hold in one block.
	ErrPart = errors.New("a part of a block of experts")
	// ErrNothing is matched by *NothingError.
	ErrNothing = errors.New("nothing to plan")
	// ErrLayout: the model cannot be laid out as it was asked for.
	ErrLayout = errors.New("layout")
	// ErrProfile: the profile that was asked for does not exist or does not fit.
	ErrProfile = errors.New("profile")
	// ErrStale is matched by *StaleError.
	ErrStale = errors.New("the plan is stale")
	// ErrFormat is matched by errors about files that are no plans.
	ErrFormat = errors.New("not a plan")
)

// Refusal is why one family cannot be split.
type Refusal struct {
	Pattern string `json:"pattern"`
	Reason  string `json:"reason"`
}

// SplitError says that a topology cuts what must stay whole, and which degrees
// do not.
type SplitError struct {
	Topology Topology
	Degree   string // "TP", "EP" or "PP": which one is refused
	Refusals []Refusal
	Works    []int // degrees up to 128 that do
}

func (e *SplitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d cannot be split", e.Degree, e.degree())
	list, more := e.shown()
	for i, r := range list {
		b.WriteString(map[bool]string{true: ": ", false: "; "}[i == 0])
		if r.Pattern != "" {
			b.WriteString(r.Pattern + ": ")
		}
		b.WriteString(r.Reason)
	}
	if more > 0 {
		fmt.Fprintf(&b, "; and %s", plural(more, "more family", "more families"))
	}
	return b.String()
}

// shown are a few refusals, of one family for each reason, and how many more
// families there are.
func (e *SplitError) shown() (list []Refusal, more int) {
	const most = 4
	for _, r := range e.Refusals {
		if len(list) < most && !slices.ContainsFunc(list, func(x Refusal) bool { return x.Reason == r.Reason }) {
			list = append(list, r)
		}
	}
	return list, len(e.Refusals) - len(list)
}

func (e *SplitError) degree() int {
	switch e.Degree {
	case "EP":
		return e.Topology.EP
	case "PP":
		return e.Topology.PP
	}
	return e.Topology.TP
}

// Is makes errors.Is(err, ErrSplit) true.
func (e *SplitError) Is(target error) bool { return target == ErrSplit }

// UnknownError lists the families about which no rule says anything.
type UnknownError struct {
	Families []Refusal
}

func (e *UnknownError) Error() string {
	var b strings.Builder
	const shown = 5
	for i, f := range e.Families {
		if i == shown {
			fmt.Fprintf(&b, "; and %d more", len(e.Families)-shown)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.Pattern)
		if f.Reason != "" {
			b.WriteString(" (" + f.Reason + ")")
		}
	}
	return fmt.Sprintf("no rule says how to split %s", b.String())
}

// Is makes errors.Is(err, ErrUnknown) true.
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

// NothingError says that no tensor is left to plan, and why: each reason for
// which tensors are skipped that are there and asked for. Without reasons
// Options.Keep wants no tensor at all, or the checkpoint has none.
type NothingError struct {
	Reasons []string
}

func (e *NothingError) Error() string {
	if len(e.Reasons) == 0 {
		return ErrNothing.Error() + ": no tensor is asked for"
	}
	return fmt.Sprintf("%v: all tensors that are asked for are skipped (%s)", ErrNothing, strings.Join(e.Reasons, "; "))
}

// Is makes errors.Is(err, ErrNothing) true.
func (e *NothingError) Is(target error) bool { return target == ErrNothing }

// StaleError says in what a checkpoint differs from the one that was planned.
type StaleError struct {
	Differences []string
}

func (e *StaleError) Error() string {
	const shown = 3
	list, more := e.Differences, ""
	if len(list) > shown {
		list, more = list[:shown], fmt.Sprintf("; and %d more differences", len(e.Differences)-shown)
	}
	return "the plan is stale: " + strings.Join(list, "; ") + more
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }
