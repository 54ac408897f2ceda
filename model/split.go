package model

import (
	"errors"
	"fmt"
	"slices"
)

// MapNegExp is what engines do to A_log: -exp(x), in float64, rounded once.
const MapNegExp = "neg_exp"

const (
	maxParts = 4 // expressions that say how many parts there are; 2
	maxCuts  = 8 // of a part; 2
)

// Cut is a share of the rows of each part of a family: where an engine keeps
// what lies together in a checkpoint under several names.
type Cut struct {
	Rows      int64
	Transpose bool // rows become columns, within each part
}

type cutJSON struct {
	Rows      string `json:"rows"`
	Transpose bool   `json:"transpose"`
}

type cutSpec struct {
	rows      *expr
	transpose bool
}

// splitSpec is how tensor parallelism may split a family.
type splitSpec struct {
	parts  []*expr
	narrow *expr
	stack  int
}

func (c *compiler) split(f familyJSON) (out splitSpec, err error) {
	if len(f.Parts) > maxParts {
		return out, fmt.Errorf("parts: %d are over the limit of %d", len(f.Parts), maxParts)
	}
	if f.Axis == nil && len(f.Parts) > 0 || len(f.Parts) == 0 && f.Repeat {
		return out, errors.New("parts: an axis has them, and what has none cannot repeat them")
	}
	for i, text := range f.Parts {
		e, err := c.names.expr(text)
		if err != nil {
			return out, placed(err, "parts[%d]", i)
		}
		out.parts = append(out.parts, e)
	}
	out.stack = Replicated
	if f.ExpertAx != nil {
		out.stack = *f.ExpertAx
		if out.stack < 0 || out.stack >= maxRank || f.Experts != "" || f.Axis != nil && *f.Axis == out.stack {
			return out, fmt.Errorf("expert_axis: %d is out of range, or taken, or each expert has a tensor", out.stack)
		}
	}
	out.narrow, err = c.names.optional(f.Narrow)
	return out, placed(err, "narrow")
}

// operations reads what an engine does to the bytes.
func (c *compiler) operations(e *engineJSON, out *engineSpec) error {
	out.reshape, out.mapping = e.Reshape, e.Map
	if e.Map != "" && e.Map != MapNegExp {
		return fmt.Errorf("map: %.40q is not %q", e.Map, MapNegExp)
	}
	if len(e.Cuts) > 0 && (len(e.Cuts) != len(e.Names) || len(e.Cuts) > maxCuts || e.Reshape) {
		return fmt.Errorf("cuts: one for each name, at most %d, and no reshape", maxCuts)
	}
	if len(e.Cuts) == 0 && len(e.Names) > 1 {
		return errors.New("names: several need cuts")
	}
	for i, cut := range e.Cuts {
		rows, err := c.names.expr(cut.Rows)
		if err != nil {
			return placed(err, "cuts[%d].rows", i)
		}
		out.cuts = append(out.cuts, cutSpec{rows, cut.Transpose})
	}
	return nil
}

// split computes how f may be split. Parts of several kinds have to hold all
// together: their greatest common divisor is what counts.
func (b *builder) split(f *Family, spec *familySpec) error {
	f.Repeat, f.Stack = spec.Repeat, spec.split.stack
	for _, e := range spec.split.parts {
		n, err := e.eval(&b.scope)
		if err != nil {
			return err
		}
		if n < 1 {
			return fmt.Errorf("parts: %d", n)
		}
		f.Parts = gcd(f.Parts, n)
	}
	rank := func(s Shape) bool { return f.Axis >= len(s) || f.Stack >= len(s) }
	if slices.ContainsFunc(f.Shapes, rank) {
		return fmt.Errorf("axis %d or expert axis %d is none of %v", f.Axis, f.Stack, f.Shapes)
	}
	if spec.split.narrow == nil {
		return nil
	}
	n, err := spec.split.narrow.eval(&b.scope)
	if err == nil && n < 1 {
		err = fmt.Errorf("narrow: %d", n)
	}
	f.Narrow = n
	return err
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func evalCuts(specs []cutSpec, in *scope) ([]Cut, error) {
	var cuts []Cut
	for _, s := range specs {
		rows, err := positive(s.rows, in)
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, Cut{int64(rows), s.transpose})
	}
	return cuts, nil
}

// Fit gives the shape with so many elements; nil where there is none. Dimensions
// that may be larger take what the others leave.
func (s Shape) Fit(elements uint64) []uint64 {
	shape, open, rest := make([]uint64, len(s)), -1, elements
	for i, d := range s {
		if d.AtLeast && open < 0 {
			open = i
			continue
		}
		if shape[i] = d.N; d.N == 0 || rest%d.N != 0 {
			return nil
		}
		rest /= d.N
	}
	if open >= 0 {
		shape[open], rest = rest, 1
	}
	if rest != 1 || open >= 0 && shape[open] < s[open].N {
		return nil
	}
	return shape
}
