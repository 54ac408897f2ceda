package safetensors

import (
	"bytes"
	"hash/maphash"
)

// dupset finds names that occur twice. Names stay where they are: in the
// header, or in an arena where escapes had to be undone; a slot of the hash
// table is eight bytes. The seed is new for every scanner, so that no file can
// be made whose names collide.
type dupset struct {
	header []byte
	arena  []byte // decoded names; a nameRef in it is counted from len(header)
	seed   maphash.Seed
	names  []nameRef
	table  []dupslot // a power of two, at most half full
}

type dupslot struct {
	hash  uint32
	index uint32 // in names, plus one; 0 is free
}

func (d *dupset) reset(header []byte) {
	if d.table == nil {
		d.seed = maphash.MakeSeed()
		d.table = make([]dupslot, 1024)
	}
	clear(d.table)
	d.header, d.arena, d.names = header, d.arena[:0], d.names[:0]
}

// place says where the name that was read from [at, end) of the header,
// quotes included, stays.
func (d *dupset) place(name []byte, at, end int) nameRef {
	if len(name) == end-at-2 { // nothing was escaped
		return nameRef{uint32(at), uint32(at + 1), uint32(len(name))}
	}
	d.arena = append(d.arena, name...)
	return nameRef{uint32(at), uint32(len(d.header) + len(d.arena) - len(name)), uint32(len(name))}
}

func (d *dupset) name(s nameRef) []byte {
	if at := int(s.pos) - len(d.header); at >= 0 {
		return d.arena[at:][:s.len]
	}
	return d.header[s.pos:][:s.len]
}

// seen says whether the name was there before, and adds it if not.
func (d *dupset) seen(s nameRef) bool {
	name := d.name(s)
	hash := uint32(maphash.Bytes(d.seed, name))
	for i := hash; ; i++ {
		slot := &d.table[int(i)&(len(d.table)-1)]
		if slot.index == 0 {
			d.names = append(d.names, s)
			*slot = dupslot{hash, uint32(len(d.names))}
			if len(d.names)*2 > len(d.table) {
				d.grow()
			}
			return false
		}
		if slot.hash == hash && bytes.Equal(d.name(d.names[slot.index-1]), name) {
			return true
		}
	}
}

func (d *dupset) grow() {
	old := d.table
	d.table = make([]dupslot, 2*len(old))
	for _, slot := range old {
		if slot.index == 0 {
			continue
		}
		i := int(slot.hash)
		for d.table[i&(len(d.table)-1)].index != 0 {
			i++
		}
		d.table[i&(len(d.table)-1)] = slot
	}
}
