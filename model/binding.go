package model

import "ckpt/internal/names"

// Binding ties one name pattern to the families that have it. Several may
// (the q_proj of two kinds of attention); layers and literal numbers tell them
// apart.
type Binding struct {
	claims []claim
}

// claim finds a family's ordinals. What a name lacks is read from a place that
// is always 0, has one value and so adds nothing.
type claim struct {
	family  *Family
	ranks   []int32
	experts uint32
	blocks  uint32
	at      [3]uint8 // which number is the layer, the expert, the block
	slots   uint8
	literal bool // some number is written out in the pattern
	role    [names.Slots]slot
	want    [names.Slots]uint32
}

// absent is the place of a number that a name lacks.
const absent = names.Slots

func newClaim(f *Family, t *template) claim {
	// A family without layers has one place, that of layer 0.
	c := claim{family: f, ranks: []int32{0}, experts: 1, blocks: 1, at: [3]uint8{absent, absent, absent},
		slots: uint8(t.slots), role: t.role, want: t.want}
	if f.LayerSet != "" {
		c.ranks = f.ranks
	}
	if f.Experts > 0 {
		c.experts = uint32(f.Experts)
	}
	if f.Blocks > 0 {
		c.blocks = uint32(f.Blocks)
	}
	for i := range t.slots {
		if t.role[i] == constant {
			c.literal = true
		} else {
			c.at[t.role[i]-layerSlot] = uint8(i)
		}
	}
	return c
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
		if ordinal, ok := c.ordinal(&n); ok {
			return c.family, ordinal, true
		}
	}
	return nil, 0, false
}

func (c *claim) ordinal(n *[names.Slots]uint32) (int64, bool) {
	if c.literal && !c.agrees(n) {
		return 0, false
	}
	v := [4]uint32{n[0], n[1], n[2], 0}
	layer, expert, block := v[c.at[0]&3], v[c.at[1]&3], v[c.at[2]&3]
	if uint64(layer) >= uint64(len(c.ranks)) || expert >= c.experts || block >= c.blocks {
		return 0, false
	}
	rank := c.ranks[layer]
	return (int64(rank)*int64(c.experts)+int64(expert))*int64(c.blocks) + int64(block), rank >= 0
}

// agrees compares the numbers that the pattern writes out.
func (c *claim) agrees(n *[names.Slots]uint32) bool {
	for i := range c.slots {
		if c.role[i] == constant && n[i] != c.want[i] {
			return false
		}
	}
	return true
}

// Families gives the families that share the pattern.
func (b *Binding) Families() []*Family {
	list := make([]*Family, len(b.claims))
	for i := range b.claims {
		list[i] = b.claims[i].family
	}
	return list
}

// bind enters a family under its spellings. It is false when another family
// has one of its names.
func (in *Instance) bind(f *Family) bool {
	for _, t := range append([]template{f.template}, f.aliases...) {
		key := nameKey{t.text, t.slots}
		b := in.bindings[key]
		if b == nil {
			b = &Binding{}
			in.bindings[key] = b
		}
		c := newClaim(f, &t)
		for i := range b.claims {
			if c.overlaps(&b.claims[i]) {
				return false
			}
		}
		b.claims = append(b.claims, c)
	}
	return true
}

// overlaps reports whether two claims of one pattern may share a name: not when
// a literal number differs, and not when their layers do.
func (c *claim) overlaps(d *claim) bool {
	for i := range c.slots {
		if c.role[i] == constant && d.role[i] == constant && c.want[i] != d.want[i] {
			return false
		}
	}
	if c.at[0] == absent || c.at[0] != d.at[0] {
		return true
	}
	for _, layer := range c.family.Layers {
		if int64(layer) < int64(len(d.ranks)) && d.ranks[layer] >= 0 {
			return true
		}
	}
	return false
}
