package shard

import (
	"fmt"

	"ckpt/dtype"
)

// described checks what an output says of itself against its moves, which are
// in range: consumers shape tensors by it, and moves alone do not tell.
func (p *Plan) described(t *Template, o *Output, kind dtype.Type) error {
	switch {
	case o.Axis < whole || o.Axis >= len(o.Shape):
		return fmt.Errorf("shape %v has no axis %d", o.Shape, o.Axis)
	case len(o.Global) != len(o.Shape):
		return fmt.Errorf("shape %v is a part of global shape %v, which has other axes", o.Shape, o.Global)
	case o.Transform != "" && o.Transform != transformNegExp:
		return fmt.Errorf("there is no transform %.40q", o.Transform)
	case o.Transform != "" && kind != dtype.F32 && kind != dtype.BF16:
		return fmt.Errorf("%s is not a type of which %s is known", kind, o.Transform)
	}
	for i, n := range o.Shape {
		all := o.Global[i]
		experts := i == 0 && p.EP > 1 && all/uint64(p.EP) == n && all%uint64(p.EP) == 0
		if n > all || n < all && i != o.Axis && !experts {
			return fmt.Errorf("shape %v is no part of global shape %v on axis %d", o.Shape, o.Global, o.Axis)
		}
	}
	want, err := kind.Size(o.Global)
	if err != nil {
		return err
	}
	has, err := o.everywhere(t.Window)
	if err != nil {
		return err
	}
	if has < 0 || uint64(has) != want {
		return fmt.Errorf("global shape %v has %d bytes, the ranks have %d different ones", o.Global, want, has)
	}
	return nil
}

// everywhere is how many different bytes of an output the ranks of a stage have
// together: every move as often as it has parts, every slot as often as there
// are windows.
func (o *Output) everywhere(w Window) (all int64, err error) {
	for i := range o.Moves {
		m := &o.Moves[i]
		factors := []int64{m.Run}
		for _, l := range m.Loops {
			factors = append(factors, l.N)
		}
		for _, part := range m.Parts {
			factors = append(factors, int64(part.Mod))
		}
		n, err := product(factors...)
		if err != nil {
			return 0, err
		}
		if all, err = sum(all, n); err != nil {
			return 0, err
		}
	}
	if o.Stack == 0 {
		return all, nil
	}
	return product(all, o.Stack, int64(max(w.Mod, 1)))
}
