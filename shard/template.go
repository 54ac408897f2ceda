package shard

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"ckpt/dtype"
	"ckpt/model"
)

// caster makes templates: one for each form, and for each set of names that the
// engine has for it.
type caster struct {
	t      Topology
	layout Layout
}

// cast is what a template is made from besides the topology.
type cast struct {
	*form
	names []string // of the outputs, as patterns
	bytes int64    // of the tensor
	spans []span
	elem  int64 // bytes of an element, 0 where it is less than one
}

// transformNegExp is the name of -exp(x) in plans.
const transformNegExp = model.MapNegExp

func (k *caster) template(f *form, names []string) (Template, error) {
	size, err := f.dtype.Size(f.shape)
	if err != nil {
		return Template{}, err
	}
	c := &cast{form: f, names: names, bytes: int64(size)}
	if bits := f.dtype.Bits(); bits%8 == 0 && f.dtype.Block() == 1 {
		c.elem = int64(bits / 8)
	}
	n := k.t.TP
	if f.isExpert() {
		n = k.t.expertTP()
	}
	var reason string
	if c.spans, reason = f.split(int64(n)); reason != "" {
		return Template{}, errors.New(reason) // checkSplit has been asked before
	}
	tm := Template{Bytes: c.bytes}
	if f.experts > 0 && k.t.EP > 1 {
		w := k.t.window()
		tm.Window = Window{f.experts / int64(k.t.EP), w.Div, w.Mod}
	}
	if f.scale != nil {
		tm.Block = f.sizes
	}
	if tm.Outputs, tm.Dropped, err = k.outputs(c); err != nil {
		return Template{}, err
	}
	return tm, nil
}

// isExpert says whether its tensors belong to experts.
func (f *form) isExpert() bool { return f.experts > 0 || f.stack != whole }

func (k *caster) outputs(c *cast) (outputs []Output, dropped []Range, err error) {
	switch {
	case c.narrow > 0:
		o, dropped, err := k.narrowed(c)
		return []Output{o}, dropped, err
	case c.engine != nil && len(c.engine.Cuts) > 0:
		outputs, err = k.cuts(c)
		return outputs, nil, err
	}
	o, err := k.sliced(c)
	if err == nil && c.engine != nil {
		err = k.engineForm(c, &o)
	}
	return []Output{o}, nil, err
}

// part is which of parts pieces, step bytes apart, a rank takes.
func (k *caster) part(c *cast, parts, step int64) Part {
	if parts <= 1 {
		return Part{}
	}
	s := k.t.dense(int(parts))
	if c.isExpert() {
		s = k.t.expert(int(parts))
	}
	return Part{step, s.Div, s.Mod}
}

// sliced cuts a tensor along its axis, and along the axis of experts where one
// tensor holds all of them.
func (k *caster) sliced(c *cast) (Output, error) {
	o := Output{Name: c.names[0], Shape: slices.Clone(c.shape), Global: slices.Clone(c.shape), Axis: whole}
	experts, err := k.unstack(c, &o)
	if err != nil || c.bytes == 0 {
		return o, err
	}
	if c.axis == whole {
		o.Bytes = c.bytes
		if experts.Mod > 1 {
			o.Bytes /= int64(experts.Mod)
		}
		o.Moves = []Move{{Run: o.Bytes, Parts: kept(experts)}}
		return o, nil
	}
	outer := int64(elements(o.Shape[:c.axis])) // rows that a rank takes a piece of
	size := int64(c.shape[c.axis])
	row := c.bytes / int64(elements(c.shape[:c.axis])) // bytes of the axis and what is inside of it
	local := int64(0)
	for _, s := range c.spans {
		local += s.size / s.parts
	}
	width, at := portion(row, local, size), int64(0)
	for _, s := range c.spans {
		piece := portion(row, s.size/s.parts, size)
		m := Move{From: portion(row, s.from, size), To: at, Run: piece, Parts: kept(experts, k.part(c, s.parts, piece))}
		if outer > 1 && (piece != row || width != piece) {
			m.Loops = []Loop{{outer, row, width}}
		} else {
			m.Run = piece * outer
		}
		if s.parts > 1 {
			o.Axis = c.axis
		}
		o.Moves = append(o.Moves, m)
		at += piece
	}
	o.Shape[c.axis] = uint64(local)
	o.Bytes = width * outer
	return o, nil
}

// portion is row·n/size for n up to size, whatever their product.
func portion(row, n, size int64) int64 {
	hi, lo := bits.Mul64(uint64(row), uint64(n))
	q, _ := bits.Div64(hi, lo, uint64(size))
	return int64(q)
}

// unstack gives a rank its range of the experts that one tensor holds.
func (k *caster) unstack(c *cast, o *Output) (Part, error) {
	if c.stack == whole || k.t.EP == 1 {
		return Part{}, nil
	}
	if c.stack != 0 || c.axis == 0 {
		return Part{}, fmt.Errorf("experts on axis %d and a split on axis %d", c.stack, c.axis)
	}
	local := int64(c.shape[0]) / int64(k.t.EP)
	o.Shape[0], o.Axis = uint64(local), 0
	w := k.t.window()
	return Part{c.bytes / int64(c.shape[0]) * local, w.Div, w.Mod}, nil
}

// kept leaves out parts that are the same for all.
func kept(parts ...Part) []Part {
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Mod <= 1 })
}

// engineForm gives an output the engine's shape, and stacks experts.
func (k *caster) engineForm(c *cast, o *Output) error {
	if c.engine.Map == model.MapNegExp {
		if c.dtype != dtype.F32 && c.dtype != dtype.BF16 {
			return fmt.Errorf("%s is not a type of which %s is known", c.dtype, transformNegExp)
		}
		o.Transform = transformNegExp
	}
	if c.engine.Reshape {
		if err := reshape(c, o); err != nil {
			return err
		}
	}
	if c.experts == 0 {
		return nil
	}
	o.Stack = c.experts / int64(k.t.EP)
	o.Shape = slices.Insert(o.Shape, 0, uint64(o.Stack))
	o.Global = slices.Insert(o.Global, 0, uint64(c.experts))
	if o.Axis != whole {
		o.Axis++
	}
	return nil
}

// reshape puts the engine's shape in place of the file's: the same elements in
// the same order.
func reshape(c *cast, o *Output) error {
	global := c.engine.Shapes[0].Fit(elements(o.Global))
	if global == nil || elements(global) != elements(o.Global) {
		return fmt.Errorf("shape %v is not what the engine makes %v of", c.shape, c.engine.Shapes[0])
	}
	local := slices.Clone(global)
	if o.Axis != whole {
		axis := c.engine.Axis
		if axis < 0 || axis >= len(global) || elements(global[:axis]) != elements(o.Global[:o.Axis]) || global[axis] != o.Global[o.Axis] {
			return fmt.Errorf("axis %d of %v is not axis %d of %v", axis, global, o.Axis, o.Global)
		}
		local[axis] = o.Shape[o.Axis]
		o.Axis = axis
	}
	o.Global, o.Shape = global, local
	return nil
}

// elements multiplies a shape whose size is known to fit.
func elements(shape []uint64) uint64 {
	n := uint64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// narrowed keeps the values of the heads and splits them.
func (k *caster) narrowed(c *cast) (Output, []Range, error) {
	all := int64(elements(c.shape))
	if c.elem == 0 || all < c.narrow {
		return Output{}, nil, fmt.Errorf("%s %v does not hold %d values", c.dtype, c.shape, c.narrow)
	}
	parts := c.spans[0].parts
	local := c.narrow / parts
	run := local * c.elem
	o := Output{Name: c.names[0], Global: []uint64{uint64(c.narrow)}, Shape: []uint64{uint64(local)}, Axis: whole,
		Bytes: run, Moves: []Move{{Run: run, Parts: kept(k.part(c, parts, run))}}}
	if parts > 1 {
		o.Axis = 0
	}
	if at := slices.Index(c.shape, uint64(c.narrow)); at >= 0 && all == c.narrow {
		o.Global, o.Shape = slices.Clone(c.shape), slices.Clone(c.shape)
		o.Shape[at] = uint64(local)
		if parts > 1 {
			o.Axis = at
		}
	}
	var dropped []Range
	if all > c.narrow {
		dropped = []Range{{c.narrow * c.elem, c.bytes}}
	}
	if c.engine == nil {
		return o, dropped, nil
	}
	if c.engine.Map == model.MapNegExp {
		o.Transform = transformNegExp
	}
	if c.engine.Reshape {
		shape := c.engine.Shapes[0].Fit(uint64(c.narrow))
		axis := slices.Index(shape, uint64(c.narrow))
		if axis < 0 || elements(shape) != uint64(c.narrow) {
			return o, nil, fmt.Errorf("%d values do not make a shape like %v", c.narrow, c.engine.Shapes[0])
		}
		o.Global, o.Shape = shape, slices.Clone(shape)
		o.Shape[axis] = uint64(local)
		if parts > 1 {
			o.Axis = axis
		}
	}
	return o, dropped, nil
}

// cuts takes rows of every head apart, as engines keep kv_b: a matrix of heads,
// each of some rows that become a tensor of their own.
func (k *caster) cuts(c *cast) ([]Output, error) {
	if c.axis != 0 || c.parts == 0 || c.elem == 0 || len(c.shape) != 2 {
		return nil, fmt.Errorf("%s %v is not a matrix of heads", c.dtype, c.shape)
	}
	heads := c.parts
	rows, columns := int64(c.shape[0])/heads, int64(c.shape[1])
	width := columns * c.elem
	sum := int64(0)
	for _, cut := range c.engine.Cuts {
		sum += cut.Rows
	}
	if int64(c.shape[0])%heads != 0 || rows != sum {
		return nil, fmt.Errorf("%d rows are not %d heads of %d", c.shape[0], heads, sum)
	}
	parts := c.spans[0].parts
	local := heads / parts
	part := kept(k.part(c, parts, local*rows*width))
	var outputs []Output
	at := int64(0)
	for i, cut := range c.engine.Cuts {
		m := Move{From: at * width, Run: cut.Rows * width, Loops: []Loop{{local, rows * width, cut.Rows * width}}, Parts: part}
		shape := []uint64{uint64(heads), uint64(cut.Rows), uint64(columns)}
		if cut.Transpose {
			shape[1], shape[2] = shape[2], shape[1]
			m.Run = c.elem
			m.Loops = append(m.Loops, Loop{columns, c.elem, cut.Rows * c.elem}, Loop{cut.Rows, width, c.elem})
		}
		o := Output{Name: c.names[i], Global: shape, Shape: slices.Clone(shape), Axis: whole,
			Bytes: local * cut.Rows * width, Moves: []Move{m}}
		o.Shape[0] = uint64(local)
		if parts > 1 {
			o.Axis = 0
		}
		outputs = append(outputs, o)
		at += cut.Rows
	}
	return outputs, nil
}
