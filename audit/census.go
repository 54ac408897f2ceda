package audit

import (
	"ckpt/checkpoint"
	"ckpt/internal/names"
	"ckpt/model"
)

// census is who is there: of every tensor that the profile expects, whether the
// checkpoint has it, and sums by tower.
type census struct {
	families []*familyCensus
	unknown  []stranger // tensors that no family has
	more     int        // of them, beyond those kept
	tensors  int64
	bytes    int64 // of all tensors, where files are read
	language int64
	text     int64 // bytes of the language tower
	experts  int64
}

// familyCensus is one family's part.
type familyCensus struct {
	*model.Family
	number  int      // of its place in the census
	named   bits     // by ordinal: the index or a header names it
	real    bits     // and the file that should have it is not known to lack it
	regions []region // by layer rank, of families with experts
}

// stranger is a tensor that the profile does not know.
type stranger struct {
	name string
	file *checkpoint.File
	at   int64
}

// maxStrangers bounds the unknown tensors that are kept by name: a checkpoint
// of another family has half a million.
const maxStrangers = 100_000

// bits is a set of ordinals.
type bits []uint64

func newBits(n int64) bits      { return make(bits, (n+63)/64) }
func (b bits) has(i int64) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bits) set(i int64)      { b[i/64] |= 1 << (i % 64) }

// bound is what a name pattern means: the families that have it.
type bound struct {
	*model.Binding
	families []*familyCensus
	ready    bool
}

// registrar takes the census.
type registrar struct {
	a      *audit
	census *census
	bounds []bound    // by pattern
	fits   []verdicts // by family, of specs
}

// takeCensus goes over every name once.
func (a *audit) takeCensus() {
	a.census = &census{}
	r := &registrar{a: a, census: a.census, bounds: make([]bound, a.Names.Len())}
	if a.in != nil {
		for i, f := range a.in.Families {
			a.census.families = append(a.census.families, &familyCensus{Family: f, number: i, named: newBits(f.Count), real: newBits(f.Count)})
		}
		r.fits = make([]verdicts, len(a.census.families))
	}
	if a.Index != nil && a.Index.Err == nil {
		r.indexNames()
	}
	if a.headers() {
		r.records()
	}
}

// find gives the family of a name, its number and the ordinal.
func (r *registrar) find(k names.Key) (f *familyCensus, ordinal int64, ok bool) {
	if r.a.in == nil {
		return nil, 0, false
	}
	b := &r.bounds[k.Pattern]
	if !b.ready {
		r.bind(b, k.Pattern)
	}
	if b.Binding == nil {
		return nil, 0, false
	}
	family, ordinal, ok := b.Family(k.N)
	if !ok {
		return nil, 0, false
	}
	for _, f := range b.families {
		if f.Family == family {
			return f, ordinal, true
		}
	}
	return nil, 0, false
}

func (r *registrar) bind(b *bound, pattern uint32) {
	b.ready = true
	p := r.a.Names.Pattern(pattern)
	if b.Binding = r.a.in.Bind(p.Text, p.Slots); b.Binding == nil {
		return
	}
	for _, family := range b.Families() {
		for _, f := range r.census.families {
			if f.Family == family {
				b.families = append(b.families, f)
			}
		}
	}
}

// indexNames enters what the index names. Whether it is really there the
// headers say, of files that can be read.
func (r *registrar) indexNames() {
	listed := make([]bool, len(r.a.Index.Files))
	if r.a.headers() {
		for i, name := range r.a.Index.Files {
			f, ok := r.a.File(name)
			listed[i] = ok && f.Listed()
		}
	}
	for i := range r.a.Index.Entries {
		e := &r.a.Index.Entries[i]
		f, ordinal, ok := r.find(e.Key)
		if ok {
			f.named.set(ordinal)
			if !listed[e.File] {
				f.real.set(ordinal)
			}
		}
		if r.a.headers() {
			continue
		}
		r.census.tensors++
		r.count(f, ok, 0)
		if !ok {
			file, _ := r.a.File(r.a.Index.Files[e.File])
			r.stranger(e.Key, file, 0)
		}
	}
}

// records enters what the headers hold.
func (r *registrar) records() {
	for _, file := range r.a.Files {
		if !file.Indexed {
			continue
		}
		broken := brokenTensors(file)
		for i := range file.Records {
			rec := &file.Records[i]
			f, ordinal, ok := r.find(rec.Key)
			r.census.tensors++
			r.census.bytes += rec.Size
			r.count(f, ok, rec.Size)
			if !ok {
				if r.indexed(rec.Key) {
					r.stranger(rec.Key, file, rec.Offset)
				}
				continue
			}
			f.named.set(ordinal)
			f.real.set(ordinal)
			if broken == nil || !broken[r.a.Names.Name(rec.Key)] {
				r.fit(f, file, rec)
			}
			f.place(ordinal, file, rec)
		}
	}
}

// brokenTensors are those whose header entry is wrong in itself: that says more
// than that they differ from the profile. It is nil for a valid file.
func brokenTensors(file *checkpoint.File) map[string]bool {
	if file.Header == nil || file.Usable() {
		return nil
	}
	broken := map[string]bool{}
	for _, p := range file.Header.Problems {
		if p.Named {
			broken[p.Tensor] = true
		}
	}
	return broken
}

// indexed says whether a tensor is part of the checkpoint: the index, where
// there is one, is a list of what is allowed, and what it lacks is IX004 alone.
func (r *registrar) indexed(k names.Key) bool {
	if !r.a.indexUsable() {
		return true
	}
	_, ok := r.a.Index.Position(k)
	return ok
}

func (r *registrar) count(f *familyCensus, known bool, size int64) {
	if !known {
		return
	}
	if f.Tower == "language" {
		r.census.language++
		r.census.text += size
	}
	if f.Experts > 0 {
		r.census.experts++
	}
}

func (r *registrar) stranger(k names.Key, file *checkpoint.File, at int64) {
	if r.a.in == nil {
		return
	}
	if len(r.census.unknown) == maxStrangers {
		r.census.more++
		return
	}
	r.census.unknown = append(r.census.unknown, stranger{r.a.Names.Name(k), file, at})
}
