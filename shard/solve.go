package shard

import (
	"errors"
	"fmt"
	"slices"

	"ckpt/model"
)

// fits says whether every rank has room; sizes that overflow have none.
func (e *estimator) fits(context, seqs int64) bool {
	r, _, err := e.fullest(context, seqs)
	return err == nil && *r.Headroom >= 0
}

// maxContext is the most tokens of so many sequences; nil where neither the
// memory nor the config bounds them.
func (e *estimator) maxContext(seqs int64) *int64 {
	most := e.memory.MaxContext
	if most == 0 {
		most = mostTokens
	}
	n := largest(most, func(n int64) bool { return e.fits(n, seqs) })
	if n == mostTokens {
		return nil
	}
	return &n
}

// maxSeqs is the most sequences of this context.
func (e *estimator) maxSeqs(context int64) *int64 {
	n := largest(mostTokens, func(n int64) bool { return e.fits(context, n) })
	if n == mostTokens {
		return nil
	}
	return &n
}

// largest is the largest number up to most for which ok holds, where it holds
// for all smaller ones too; 0 where it holds for none.
func largest(most int64, ok func(int64) bool) int64 {
	low, high := int64(0), most
	for low < high {
		middle := low + (high-low+1)/2
		if ok(middle) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// What Solve finds.
const (
	SolveContext = "context"
	SolveSeqs    = "seqs"
	SolveTP      = "tp"
)

// SolveFor estimates with the most tokens or sequences that fit ("context" or
// "seqs"). Where not even one does, the estimate is for one and says so.
func SolveFor(what string, p *Plan, m *model.Memory, d Demand) (*Estimate, error) {
	if d.Memory == 0 {
		return nil, errors.New("what fits depends on the memory of a device, and none is given")
	}
	if what == SolveContext {
		d.Context = 1
	}
	e, err := newEstimator(p, m, d)
	if err != nil {
		return nil, err
	}
	var most *int64
	if what == SolveContext {
		most = e.maxContext(e.demand.Seqs)
	} else {
		most = e.maxSeqs(e.demand.Context)
	}
	switch {
	case most == nil:
		return nil, e.unbounded(what)
	case what == SolveContext:
		e.demand.Context = max(1, *most)
	default:
		e.demand.Seqs = max(1, *most)
	}
	out, err := e.estimate()
	if out != nil {
		out.Solved = what
	}
	return out, err
}

// unbounded says why there is no largest number: nothing grows, or the memory
// outgrows what is searched.
func (e *estimator) unbounded(what string) error {
	total := func(n int64) (int64, error) {
		context, seqs := e.demand.Context, n
		if what == SolveContext {
			context, seqs = n, e.demand.Seqs
		}
		r, _, err := e.fullest(context, seqs)
		return r.Total, err
	}
	half, err := total(mostTokens / 2)
	all, err2 := total(mostTokens)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if half == all {
		return fmt.Errorf("nothing bounds the %s: no cache grows with them", what)
	}
	return fmt.Errorf("the memory of the device is too large to say the most %s: more than 2^40 fit", what)
}

// SolveForTP estimates with the fewest tensor-parallel ranks that fit, up to
// 128, planning with plan. Where none do, the estimate is for the most that can
// be planned and says so.
func SolveForTP(plan func(tp int) (*Plan, error), m *model.Memory, d Demand) (*Estimate, error) {
	if d.Memory == 0 {
		return nil, errors.New("what fits depends on the memory of a device, and none is given")
	}
	degrees := works(func(int) bool { return true }) // all, then those that no plan refused
	var last *Estimate
	var refused error
	for least, tp := 1, 0; ; {
		next := slices.IndexFunc(degrees, func(n int) bool { return n > tp && n >= least })
		if next < 0 { // none is large enough: the largest there is
			if next = len(degrees) - 1; next < 0 || degrees[next] <= tp {
				break
			}
		}
		tp = degrees[next]
		e, err := planned(plan, tp, m, d)
		split := (*SplitError)(nil)
		switch {
		case errors.As(err, &split) && split.Degree == "TP":
			degrees = slices.DeleteFunc(degrees, func(n int) bool { return n == tp || !slices.Contains(split.Works, n) })
			refused, tp = err, 0
			if last != nil {
				tp = last.TP
			}
			continue
		case errors.Is(err, ErrTopology): // EP does not go with it
			refused = err
			continue
		case err != nil:
			return nil, err
		}
		if last = e; *e.Fits {
			break
		}
		least = tooFew(e, d)
	}
	if last == nil {
		return nil, refused
	}
	last.Solved = SolveTP
	return last, nil
}

func planned(plan func(tp int) (*Plan, error), tp int, m *model.Memory, d Demand) (*Estimate, error) {
	p, err := plan(tp)
	if err != nil {
		return nil, err
	}
	return NewEstimate(p, m, d)
}

// tooFew is the least degree that could hold the weights, by those of one that
// cannot hold everything. Stages are cut anew for each degree, so that nothing
// follows from one of them.
func tooFew(e *Estimate, d Demand) int {
	if e.PP > 1 {
		return 1
	}
	if d.MemUtil == 0 {
		d.MemUtil = Whole
	}
	room := d.MemUtil.of(d.Memory)
	all, err := product(e.PerRank.Weights, int64(e.TP))
	if err != nil || room == 0 || all/room >= mostDegree {
		return mostDegree
	}
	return int(all / room)
}
