package shard

import (
	"fmt"
	"slices"

	"ckpt/checkpoint"
	"ckpt/internal/names"
	"ckpt/model"
)

// walker goes over every tensor once, finds its form, and gathers what repeats
// into runs.
type walker struct {
	c     *checkpoint.Checkpoint
	m     *Model
	o     Options
	t     Topology
	ruler *ruler

	bounds  []bound // by name pattern
	forms   []*form
	unknown []unknown
	counts  map[*model.Family]int64
	runs    []run
	schemes schemes
	holes   []Hole
	orders  orders
	name    []byte
}

// unknown is a form of which no rule says how to split it.
type unknown struct {
	form *form
	Refusal
}

// bound is what a name pattern means.
type bound struct {
	ready   bool
	text    string
	slots   int
	binding *model.Binding
	forms   []boundForm
}

// boundForm is a form that names of a pattern may have.
type boundForm struct {
	family  *model.Family
	numbers [names.Slots]uint32 // without family: those that are written out
	spec    uint32
	form    *form
}

// run is a Run before places are known.
type run struct {
	file           int
	offset, stride int64
	count          int64
	order          int
	ids            []uint32
	pieces         []piece
}

type piece struct {
	form                 *form
	off                  int64
	layer, expert, block uint32
}

func (r *run) end() int64 { return r.offset + (r.count-1)*r.stride + r.length() }

// length is how many bytes the pieces of a record span.
func (r *run) length() int64 {
	last := &r.pieces[len(r.pieces)-1]
	return last.off + last.form.bytes
}

// walk goes over the files in order.
func (w *walker) walk() error {
	w.bounds = make([]bound, w.c.Names.Len())
	w.counts = map[*model.Family]int64{}
	file := 0
	for _, f := range w.c.Files {
		if !f.Indexed {
			continue
		}
		if err := w.file(file, inOrder(f.Records)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		file++
	}
	return nil
}

// inOrder gives the records by offset; headers usually have them so.
func inOrder(records []checkpoint.Record) []checkpoint.Record {
	byOffset := func(a, b checkpoint.Record) int {
		if a.Offset != b.Offset {
			return int(max(-1, min(1, a.Offset-b.Offset)))
		}
		return int(max(-1, min(1, a.Size-b.Size)))
	}
	if slices.IsSortedFunc(records, byOffset) {
		return records
	}
	records = slices.Clone(records)
	slices.SortStableFunc(records, byOffset)
	return records
}

func (w *walker) file(file int, records []checkpoint.Record) error {
	for i := 0; i < len(records); {
		r := &records[i]
		p, err := w.piece(r)
		if err != nil {
			return err
		}
		if p.form.skip != "" {
			w.skip(file, r, p.form)
			i++
			continue
		}
		next := run{file: file, offset: r.Offset, count: 1, pieces: []piece{p}}
		if p.form.experts > 0 && p.form.bytes > 0 {
			if err := w.gather(&next, records[i:]); err != nil {
				return err
			}
		}
		for k := range next.pieces {
			next.pieces[k].form.add(next.count, next.pieces[k].form.bytes)
		}
		w.count(&next)
		w.runs = append(w.runs, next)
		i += int(next.count) * len(next.pieces)
	}
	return nil
}

// add counts tensors of the form.
func (f *form) add(n, bytes int64) {
	f.count += n
	f.total += n * bytes
}

func (w *walker) count(r *run) {
	for k := range r.pieces {
		if family := r.pieces[k].form.family; family != nil {
			w.counts[family] += r.count
		}
	}
}

func (w *walker) skip(file int, r *checkpoint.Record, f *form) {
	f.add(1, r.Size)
	if f.family != nil {
		w.counts[f.family]++
	}
	if r.Size == 0 {
		return
	}
	if n := len(w.holes); n > 0 {
		if last := &w.holes[n-1]; last.File == file && last.Offset+last.Bytes == r.Offset {
			last.Bytes += r.Size
			return
		}
	}
	w.holes = append(w.holes, Hole{file, r.Offset, r.Size})
}

// gather makes a run of experts that lie one behind the other, each with the
// same tensors.
func (w *walker) gather(r *run, records []checkpoint.Record) error {
	first := &r.pieces[0]
	end := records[0].Offset + records[0].Size
	n := 1
	for ; n < len(records) && records[n].Offset == end; n++ {
		p, err := w.piece(&records[n])
		if err != nil {
			return err
		}
		if p.form.skip != "" || p.form.experts == 0 || p.layer != first.layer || p.expert != first.expert ||
			slices.ContainsFunc(r.pieces, func(o piece) bool { return o.form == p.form }) {
			break
		}
		p.off = records[n].Offset - r.offset
		end += records[n].Size
		r.pieces = append(r.pieces, p)
	}
	r.stride = end - r.offset
	r.ids = append(r.ids, first.expert)
	for at := n; at+n <= len(records); at += n {
		id, ok := w.repeats(r, records[:n], records[at:at+n], int64(at/n))
		if !ok {
			break
		}
		r.ids = append(r.ids, id)
	}
	r.count = int64(len(r.ids))
	if r.count == 1 {
		r.stride = 0
	}
	r.order = w.orders.add(r.ids)
	return nil
}

// repeats reports whether records are those of the model, n strides further, of
// another expert of the same layer.
func (w *walker) repeats(r *run, model, records []checkpoint.Record, n int64) (id uint32, ok bool) {
	c := r.pieces[0].form.class
	id = records[0].Key.N[c.expert]
	if int64(id) >= c.experts {
		return 0, false
	}
	for k := range records {
		a, b, c := &model[k], &records[k], r.pieces[k].form.class
		want := a.Key
		want.N[c.expert] = id
		if b.Key != want || b.Spec != a.Spec || b.Offset != a.Offset+n*r.stride || b.Size != a.Size || !w.wanted(b) {
			return 0, false
		}
	}
	return id, true
}

func (w *walker) wanted(r *checkpoint.Record) bool {
	if w.o.Keep == nil {
		return true
	}
	w.name = w.c.Names.Append(w.name[:0], r.Key)
	return w.o.Keep(w.name)
}

// unruled lists what no rule knows and the caller asks for.
func (w *walker) unruled() []Refusal {
	var list []Refusal
	for _, u := range w.unknown {
		known := slices.ContainsFunc(list, func(r Refusal) bool { return r.Pattern == u.Pattern })
		if u.form.count > 0 && !known {
			list = append(list, u.Refusal)
		}
	}
	return list
}

// unruledNote says what became of tensors that no rule splits, with a reason where
// there is one.
func unruledNote(list []Refusal) string {
	note := fmt.Sprintf("no rule knows %s; on one rank they stay as they are", plural(len(list), "family", "families"))
	if i := slices.IndexFunc(list, func(r Refusal) bool { return r.Reason != "" }); i >= 0 {
		note += fmt.Sprintf(": %s (%s)", list[i].Pattern, list[i].Reason)
	}
	return note
}

// nothing says why no tensor is left.
func (w *walker) nothing() error {
	e := &NothingError{}
	for _, f := range w.c.Files {
		if !f.Indexed {
			continue
		}
		for i := range f.Records {
			form, err := w.form(&f.Records[i])
			if err != nil {
				return err
			}
			if form.skip != "" && !slices.Contains(e.Reasons, form.skip) && w.wanted(&f.Records[i]) {
				e.Reasons = append(e.Reasons, form.skip)
			}
		}
	}
	return e
}

// piece finds the form of a tensor and its numbers.
func (w *walker) piece(r *checkpoint.Record) (piece, error) {
	f, err := w.form(r)
	if err != nil {
		return piece{}, err
	}
	if f.skip == "" && !w.wanted(r) {
		f = w.unwanted(f)
	}
	p := piece{form: f}
	for _, n := range [...]struct {
		slot int
		to   *uint32
	}{{f.layer, &p.layer}, {f.expert, &p.expert}, {f.block, &p.block}} {
		if n.slot != whole {
			*n.to = r.Key.N[n.slot]
		}
	}
	return p, nil
}

// unwanted is the form of tensors that the caller does not ask for.
func (w *walker) unwanted(f *form) *form {
	if f.unwanted == nil {
		c := *f.class
		c.skip = notAskedFor
		f.unwanted = &form{class: &c, dtype: f.dtype, shape: f.shape, bytes: f.bytes, of: f}
		w.forms = append(w.forms, f.unwanted)
	}
	return f.unwanted
}

// orders numbers lists of ids; equal ones share a number.
type orders struct {
	lists [][]uint32
	known map[uint64][]int
}

// add gives the number of a list plus one, 0 for one that counts up.
func (o *orders) add(ids []uint32) int {
	up := true
	hash := uint64(14695981039346656037) // FNV-1a, by whole numbers
	for i, id := range ids {
		up = up && id == ids[0]+uint32(i)
		hash = (hash ^ uint64(id)) * 1099511628211
	}
	if up {
		return 0
	}
	if o.known == nil {
		o.known = map[uint64][]int{}
	}
	for _, n := range o.known[hash] {
		if slices.Equal(o.lists[n], ids) {
			return n + 1
		}
	}
	o.lists = append(o.lists, ids)
	o.known[hash] = append(o.known[hash], len(o.lists)-1)
	return len(o.lists)
}
