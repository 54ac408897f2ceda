package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Dim is one dimension that a profile expects.
type Dim struct {
	N       uint64 // the size, or the least size
	AtLeast bool   // any size from N up will do
	Default uint64 // the size to write where N is the least; else N
}

// Shape is a shape that a profile expects, slowest dimension first.
type Shape []Dim

// Match reports whether shape is as expected.
func (s Shape) Match(shape []uint64) bool {
	if len(s) != len(shape) {
		return false
	}
	for i, d := range s {
		if shape[i] != d.N && (!d.AtLeast || shape[i] < d.N) {
			return false
		}
	}
	return true
}

// Sizes is the shape to write: the exact dimensions, and the defaults of the
// others.
func (s Shape) Sizes() []uint64 {
	sizes := make([]uint64, len(s))
	for i, d := range s {
		sizes[i] = d.Default
	}
	return sizes
}

// String gives the shape as [4096, 2304], [≥96].
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		if d.AtLeast {
			b.WriteString("≥")
		}
		b.WriteString(strconv.FormatUint(d.N, 10))
	}
	b.WriteByte(']')
	return b.String()
}

func (s Shape) equal(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i] != t[i] {
			return false
		}
	}
	return true
}

// dimSpec is a dimension in a profile: an expression, or a minimum with the
// size that is written by default.
type dimSpec struct {
	size     *expr
	fallback *expr // nil unless size is a minimum
}

type shapeSpec []dimSpec

type dimJSON struct {
	Min     string `json:"min"`
	Default string `json:"default"`
}

func compileShapes(list [][]jsontext.Value, scope *lexicon) ([]shapeSpec, error) {
	var shapes []shapeSpec
	for i, dims := range list {
		if len(dims) > maxRank {
			return nil, fmt.Errorf("[%d]: %d dimensions are over the limit of %d", i, len(dims), maxRank)
		}
		shape := make(shapeSpec, len(dims))
		for j, raw := range dims {
			var err error
			if shape[j], err = compileDim(raw, scope); err != nil {
				return nil, fmt.Errorf("[%d][%d]: %w", i, j, err)
			}
		}
		shapes = append(shapes, shape)
	}
	return shapes, nil
}

func compileDim(raw jsontext.Value, scope *lexicon) (d dimSpec, err error) {
	switch raw.Kind() {
	case '0':
		n, err := parseInt(raw)
		return dimSpec{size: &expr{op: "num", n: n}}, err
	case '"':
		text, _ := Value{raw: raw}.Text()
		d.size, err = scope.expr(text)
		return d, err
	case '{':
		var least dimJSON
		if err := json.Unmarshal(raw, &least, json.RejectUnknownMembers(true)); err != nil {
			return d, err
		}
		if d.size, err = scope.expr(least.Min); err != nil {
			return d, err
		}
		if least.Default == "" {
			least.Default = least.Min
		}
		d.fallback, err = scope.expr(least.Default)
		return d, err
	}
	return d, fmt.Errorf("a dimension is a number, an expression or {min, default}, not %s", Value{raw: raw})
}

func (s shapeSpec) eval(in *scope) (Shape, error) {
	shape := make(Shape, len(s))
	for i, d := range s {
		n, err := positive(d.size, in)
		if err != nil {
			return nil, fmt.Errorf("dimension %d: %w", i, err)
		}
		shape[i] = Dim{N: n, Default: n}
		if d.fallback == nil {
			continue
		}
		shape[i].AtLeast = true
		if shape[i].Default, err = positive(d.fallback, in); err != nil {
			return nil, fmt.Errorf("default of dimension %d: %w", i, err)
		}
		if shape[i].Default < n {
			return nil, fmt.Errorf("default of dimension %d is %d, below the least, %d", i, shape[i].Default, n)
		}
	}
	return shape, nil
}

func evalShapes(specs []shapeSpec, in *scope) ([]Shape, error) {
	shapes := make([]Shape, len(specs))
	for i, s := range specs {
		var err error
		if shapes[i], err = s.eval(in); err != nil {
			return nil, err
		}
	}
	return shapes, nil
}

func positive(e *expr, in *scope) (uint64, error) {
	n, err := e.eval(in)
	if err == nil && n < 1 {
		err = fmt.Errorf("size is %d", n)
	}
	return uint64(n), err
}
