package shard

import (
	"fmt"

	"ckpt/checkpoint"
	"ckpt/internal/names"
	"ckpt/model"
)

// form finds the form of a tensor by its name and spec.
func (w *walker) form(r *checkpoint.Record) (*form, error) {
	b := &w.bounds[r.Key.Pattern]
	if !b.ready {
		p := w.c.Names.Pattern(r.Key.Pattern)
		b.ready, b.text, b.slots = true, p.Text, p.Slots
		if w.m.Instance != nil {
			b.binding = w.m.Instance.Bind(p.Text, p.Slots)
		}
	}
	if b.binding != nil {
		if family, _, ok := b.binding.Family(r.Key.N); ok {
			for i := range b.forms {
				if f := &b.forms[i]; f.family == family && f.spec == r.Spec {
					return f.form, nil
				}
			}
			return w.familyForm(b, family, r)
		}
	}
	return w.ruleForm(b, r)
}

// familyForm makes a form of a family of the profile. A type that the family
// does not have is left to the rules; another shape is a fault.
func (w *walker) familyForm(b *bound, family *model.Family, r *checkpoint.Record) (*form, error) {
	spec := w.c.Spec(r.Spec)
	if !family.AcceptsDType(spec.DType) && !family.Tolerated {
		return w.ruleForm(b, r)
	}
	if !family.AcceptsShape(spec.Shape) && !family.Tolerated {
		return nil, fmt.Errorf("%w: %s is %s %v, the %s profile expects %v", ErrIncomplete,
			w.c.Names.Name(r.Key), spec.DType, spec.Shape, w.m.Instance.Profile.Name, family.Shapes)
	}
	c := w.class(b, family)
	f := w.add(c, spec, r.Size)
	b.forms = append(b.forms, boundForm{family: family, spec: r.Spec, form: f})
	return f, nil
}

// class gives the class of a family under one spelling of its names.
func (w *walker) class(b *bound, family *model.Family) *class {
	for i := range b.forms {
		if b.forms[i].family == family {
			return b.forms[i].form.class
		}
	}
	return ofFamily(family, b.text, b.slots, w.o)
}

// ruleForm makes a form by the rules, once for every layer and expert alike.
func (w *walker) ruleForm(b *bound, r *checkpoint.Record) (*form, error) {
	for i := range b.forms {
		f := &b.forms[i]
		if f.family == nil && f.spec == r.Spec && (f.form.skip != "" || f.numbers == written(f.form.class, r.Key.N)) {
			return f.form, nil
		}
	}
	if len(w.forms) >= maxForms {
		return nil, fmt.Errorf("more than %d kinds of tensors", maxForms)
	}
	spec := w.c.Spec(r.Spec)
	p := w.ruler.place(b.text, r.Key.N)
	c, reason := w.ruler.class(p, spec.Shape)
	ruled := c != nil && reason == ""
	if !ruled {
		c = &class{pattern: p.pattern, tower: towerLanguage, group: "unknown", axis: whole, stack: whole, layer: p.layer, expert: p.expert, block: whole}
	}
	if c.skip == "" {
		c.rule, c.leaf = w.ruler.find(p), w.ruler.Leaves[p.leaf]
	}
	if c.expert != whole {
		c.experts = w.expertsOf(r.Key.Pattern, c.expert)
	}
	f := w.add(c, spec, r.Size)
	if !ruled {
		w.unknown = append(w.unknown, unknown{f, Refusal{p.pattern, reason}})
	}
	b.forms = append(b.forms, boundForm{numbers: written(c, r.Key.N), spec: r.Spec, form: f})
	return f, nil
}

// maxForms bounds the kinds of tensors that names and shapes tell apart. A model
// whose layers all differ has a few thousand.
const maxForms = 1 << 13

// written keeps the numbers of a name that its class writes out.
func written(c *class, n [names.Slots]uint32) [names.Slots]uint32 {
	for _, slot := range [...]int{c.layer, c.expert, c.block} {
		if slot != whole {
			n[slot] = 0
		}
	}
	return n
}

// expertsOf counts experts where only the names tell: by the largest id. It is
// called once a pattern, dtype and shape.
func (w *walker) expertsOf(pattern uint32, slot int) int64 {
	most := int64(0)
	for _, f := range w.c.Files {
		if !f.Indexed {
			continue
		}
		for i := range f.Records {
			if k := &f.Records[i].Key; k.Pattern == pattern {
				most = max(most, int64(k.N[slot])+1)
			}
		}
	}
	return most
}

func (w *walker) add(c *class, spec checkpoint.Spec, bytes int64) *form {
	if bytes == 0 { // nothing to split
		empty := *c
		empty.axis, empty.stack, empty.narrow, empty.sections = whole, whole, 0, nil
		c = &empty
	}
	f := &form{class: c, dtype: spec.DType, shape: spec.Shape, bytes: bytes}
	w.forms = append(w.forms, f)
	return f
}
