package shard

import (
	"cmp"
	"slices"
)

// Degree says what one tensor-parallel degree does to the axes of a model.
type Degree struct {
	TP     int    `json:"tp"`
	Works  bool   `json:"works"`
	Reason string `json:"reason,omitempty"` // of the first refusal
}

// Axis is a size that axes of a model have, and how wide the pieces of each
// degree are. Sizes are indexes as stored: of packed codes, bytes.
type Axis struct {
	Pattern  string  `json:"pattern"` // of the first family that has it
	Families int     `json:"families"`
	Axis     int     `json:"axis"`
	Inner    bool    `json:"inner"` // the axis along which numbers lie together
	Size     int64   `json:"size"`
	Group    int64   `json:"group"` // indexes that share a scale, 1 without
	Widths   []Width `json:"widths"`
}

// Width is a piece of an axis.
type Width struct {
	TP    int   `json:"tp"`
	Size  int64 `json:"size"`  // 0 where the degree cuts what must stay whole
	Align int64 `json:"align"` // the largest power of two of which it is a multiple
}

// shownDegrees are the degrees that tables have.
func shownDegrees(tp int) []int {
	list := []int{1, 2, 4, 8, 16, 32, 64}
	if !slices.Contains(list, tp) {
		list = append(list, tp)
		slices.Sort(list)
	}
	return list
}

// degrees tabulates the degrees for the forms.
func degrees(forms []*form, t Topology) ([]Degree, []Axis) {
	var list []Degree
	for _, tp := range shownDegrees(t.TP) {
		d := Degree{TP: tp, Works: true}
		if r := refusals(forms, Topology{tp, 1, 1}); len(r) > 0 {
			d.Works, d.Reason = false, r[0].Pattern+": "+r[0].Reason
		}
		list = append(list, d)
	}
	var axes []Axis
	for _, f := range forms {
		if f.skip != "" || f.axis == whole || f.axis >= len(f.shape) || f.count == 0 {
			continue
		}
		a := Axis{f.pattern, 1, f.axis, f.axis == len(f.shape)-1 && len(f.shape) > 1, int64(f.shape[f.axis]), 1, nil}
		if f.axis < len(f.sizes) {
			a.Group = max(1, f.sizes[f.axis])
		}
		for _, d := range list {
			a.Widths = append(a.Widths, f.width(d.TP))
		}
		same := func(o Axis) bool {
			return o.Inner == a.Inner && o.Size == a.Size && o.Group == a.Group && slices.Equal(o.Widths, a.Widths)
		}
		if at := slices.IndexFunc(axes, same); at >= 0 {
			axes[at].Families++
		} else {
			axes = append(axes, a)
		}
	}
	slices.SortStableFunc(axes, func(a, b Axis) int { return cmp.Or(-cmp.Compare(a.Size, b.Size), cmp.Compare(a.Axis, b.Axis)) })
	return list, axes
}

// width is the narrowest piece that n ranks make of the axis.
func (f *form) width(n int) Width {
	w := Width{TP: n}
	spans, reason := f.split(int64(n))
	if reason != "" {
		return w
	}
	for _, s := range spans {
		if piece := s.size / s.parts; w.Size == 0 || piece < w.Size {
			w.Size = piece
		}
	}
	w.Align = w.Size & -w.Size
	return w
}
