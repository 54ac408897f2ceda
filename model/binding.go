package model

import "ckpt/internal/names"

// Binding ties one name pattern to the families that have it. Several may
// (the q_proj of two kinds of attention); layers and literal numbers tell them
// apart.
type Binding struct {
	claims []claim
}

type claim struct {
	family *Family
	slots  int
	role   [names.Slots]slot
	want   [names.Slots]uint32
}

// Bind gives the binding of a pattern, as package names has it; nil when no
// family has it.
func (in *Instance) Bind(text string, slots int) *Binding {
	return in.bindings[nameKey{text, slots}]
}

// Family gives the family of the name that the pattern makes with these
// numbers, and its ordinal there. It does not allocate.
func (b *Binding) Family(n [names.Slots]uint32) (f *Family, ordinal int64, ok bool) {
	for i := range b.claims {
		c := &b.claims[i]
		if ordinal, ok := c.ordinal(n); ok {
			return c.family, ordinal, true
		}
	}
	return nil, 0, false
}

func (c *claim) ordinal(n [names.Slots]uint32) (int64, bool) {
	var layer, expert, block uint32
	for i := range c.slots {
		switch c.role[i] {
		case constant:
			if n[i] != c.want[i] {
				return 0, false
			}
		case layerSlot:
			layer = n[i]
		case expertSlot:
			expert = n[i]
		case blockSlot:
			block = n[i]
		}
	}
	return c.family.Ordinal(layer, expert, block)
}

// Families gives the families that share the pattern.
func (b *Binding) Families() []*Family {
	list := make([]*Family, len(b.claims))
	for i := range b.claims {
		list[i] = b.claims[i].family
	}
	return list
}

func (in *Instance) bind(f *Family) {
	for _, t := range append([]template{f.template}, f.aliases...) {
		key := nameKey{t.text, t.slots}
		b := in.bindings[key]
		if b == nil {
			b = &Binding{}
			in.bindings[key] = b
		}
		b.claims = append(b.claims, claim{f, t.slots, t.role, t.want})
	}
}
