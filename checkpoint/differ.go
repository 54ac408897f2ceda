package checkpoint

import (
	"fmt"
	"iter"

	"ckpt/internal/names"
)

// DifferenceKind is how the index and the shards, or two shards, disagree.
type DifferenceKind uint8

// The kinds.
const (
	NotInShard DifferenceKind = iota + 1 // the index gives the tensor to File, which lacks it
	NotInIndex                           // File holds the tensor, the index lacks it
	Twice                                // File holds the tensor, and so does Other
)

// Difference is one disagreement.
type Difference struct {
	Kind  DifferenceKind
	Key   names.Key
	Name  string
	File  *File
	Other *File  // where else the tensor is; may be nil
	Spec  uint32 // of the tensor in File, where it is there
	At    int64  // its offset, likewise
}

func (d *Difference) Error() string {
	switch d.Kind {
	case NotInShard:
		if d.Other != nil {
			return fmt.Sprintf("%s: tensor %q: the index gives it to this file, but it is in %s", d.File.Path, d.Name, d.Other.Name)
		}
		return fmt.Sprintf("%s: tensor %q: the index gives it to this file, which lacks it", d.File.Path, d.Name)
	case NotInIndex:
		return fmt.Sprintf("%s: tensor %q is not in the index", d.File.Path, d.Name)
	}
	return fmt.Sprintf("%s: tensor %q is also in %s", d.File.Path, d.Name, d.Other.Name)
}

// Differences compares the index with the shards, or shards without an index
// with each other. Files that could not be read, and those that the index does
// not name, say nothing. Every name is looked up once: the cost is linear.
func (c *Checkpoint) Differences() iter.Seq[*Difference] {
	if c.Index == nil || c.Index.Err != nil {
		return c.repeated
	}
	return func(yield func(*Difference) bool) {
		j := joiner{Checkpoint: c, number: c.fileNumbers(), seen: make([]bool, len(c.Index.Entries))}
		for _, f := range c.Files {
			if f.Indexed && !j.shard(f, yield) {
				return
			}
		}
		j.rest(yield)
	}
}

// fileNumbers are the files as the index numbers them.
func (c *Checkpoint) fileNumbers() []*File {
	out := make([]*File, len(c.Index.Files))
	for i, name := range c.Index.Files {
		out[i] = c.where[name]
	}
	return out
}

type joiner struct {
	*Checkpoint
	number []*File
	seen   []bool // by entry: the shard has it
	astray map[names.Key]*stray
}

// stray is a tensor in another file than the one the index names.
type stray struct {
	file   *File
	record *Record
}

func (j *joiner) shard(f *File, yield func(*Difference) bool) bool {
	for i := range f.Records {
		r := &f.Records[i]
		at, ok := j.Index.Position(r.Key)
		switch {
		case !ok:
			if !yield(j.difference(NotInIndex, r.Key, f, nil, r)) {
				return false
			}
		case j.number[j.Index.Entries[at].File] == f:
			j.seen[at] = true
		default:
			j.stray(r.Key, f, r)
		}
	}
	return true
}

func (j *joiner) stray(k names.Key, f *File, r *Record) {
	if j.astray == nil {
		j.astray = map[names.Key]*stray{}
	}
	if j.astray[k] == nil { // the first of several is enough to name
		j.astray[k] = &stray{f, r}
	}
}

// rest tells of the entries whose shard lacks them, and of the strays.
func (j *joiner) rest(yield func(*Difference) bool) {
	for at := range j.Index.Entries {
		e := &j.Index.Entries[at]
		home := j.number[e.File]
		astray := j.astray[e.Key]
		var d *Difference
		switch {
		case j.seen[at] && astray != nil:
			d = j.difference(Twice, e.Key, astray.file, home, astray.record)
		case !j.seen[at] && astray != nil && home.Listed():
			d = j.difference(NotInShard, e.Key, home, astray.file, nil)
		case !j.seen[at] && home.Listed():
			d = j.difference(NotInShard, e.Key, home, nil, nil)
		default:
			continue
		}
		if !yield(d) {
			return
		}
	}
}

func (c *Checkpoint) difference(kind DifferenceKind, k names.Key, f, other *File, r *Record) *Difference {
	d := &Difference{Kind: kind, Key: k, Name: c.Names.Name(k), File: f, Other: other}
	if r != nil {
		d.Spec, d.At = r.Spec, r.Offset
	}
	return d
}

// repeated finds names that several files hold, where no index chooses.
func (c *Checkpoint) repeated(yield func(*Difference) bool) {
	if len(c.Files) < 2 {
		return
	}
	var seen names.Map
	for number, f := range c.Files {
		for i := range f.Records {
			r := &f.Records[i]
			if first, added := seen.Put(r.Key, uint32(number)); !added && c.Files[first] != f {
				if !yield(c.difference(Twice, r.Key, f, c.Files[first], r)) {
					return
				}
			}
		}
	}
}

func (c *Checkpoint) firstDifference() *Difference {
	for d := range c.Differences() {
		return d
	}
	return nil
}
