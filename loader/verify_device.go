package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	ckptfs "ckpt/internal/fs"
	"ckpt/shard"
)

// placedWindow is how much of a tensor is compared at once.
const placedWindow = 64 << 20

// readBack compares what lies in the arenas with the files, which it reads again
// through the page cache. It works out by itself, from the plan, where each byte
// belongs: it shares no code with the way the bytes came.
func (l *load) readBack(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { // on a thread of its own, as queues want it
		runtime.LockOSThread()
		r := &placedReader{load: l, ctx: ctx}
		err := r.open()
		if err == nil {
			err = r.all()
		}
		r.close(&err)
		done <- err
	}()
	return <-done
}

// placedReader goes over a plan tensor by tensor.
type placedReader struct {
	*load
	ctx    context.Context
	queues []Queue
	file   *os.File
	at     int // number of file, -1 for none

	src, want, got []byte
}

func (r *placedReader) open() error {
	r.at = -1
	for _, d := range r.o.Devices {
		q, err := d.NewQueue()
		if err != nil {
			return err
		}
		r.queues = append(r.queues, q)
	}
	return nil
}

func (r *placedReader) close(err *error) {
	if r.file != nil {
		r.file.Close()
	}
	for _, q := range r.queues {
		if bad := q.Close(); *err == nil {
			*err = bad
		}
	}
}

func (r *placedReader) all() error {
	p := r.plan.Program
	for i := range p.Extents {
		e := &p.Extents[i]
		for k := range e.Runs {
			run := &e.Runs[k]
			for record := range run.Records() {
				for c := range run.Pieces {
					if err := r.piece(e.File, run, &run.Pieces[c], record); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// placement is an output of a tensor on a rank.
type placement struct {
	local   int
	within  int
	out     *shard.Output
	at      int64
	element bool // its numbers are changed
}

func (r *placedReader) piece(file int, run *shard.Run, c *shard.Piece, record int64) error {
	t := &r.plan.Program.Templates[c.Template]
	list := r.placements(run, c, t, record)
	if len(list) == 0 || t.Bytes == 0 {
		return nil
	}
	if err := r.ctx.Err(); err != nil {
		return context.Cause(r.ctx)
	}
	r.result.Verify.Tensors++
	r.result.Verify.Compared++
	begin := run.Offset + record*run.Stride + c.Offset
	f := &r.plan.Families[t.Family]
	id := uint32(placedExpert(r.plan.Program, run, c, record))
	name := func() string { return string(fillName(nil, f.Pattern, c.Layer, id, c.Block)) }
	window := t.Bytes
	if window > placedWindow {
		window = placedWindow
		for _, x := range list {
			if x.element {
				window = t.Bytes
			}
		}
	}
	for lo := int64(0); lo < t.Bytes; lo += window {
		hi := min(t.Bytes, lo+window)
		if err := r.read(file, begin+lo, hi-lo); err != nil {
			return err
		}
		for _, x := range list {
			bad, err := r.compare(&x, lo, hi, f.DType)
			if err != nil {
				return err
			}
			if bad >= 0 {
				rank := r.program.locals[x.local].rank
				r.result.Verify.fail(Mismatch{
					Name: name(), File: r.plan.Source.Files[file].Name, Rank: &rank, Offset: x.at + bad,
					Want: "the bytes of the file", Got: "others",
				})
				return nil
			}
		}
	}
	return nil
}

func placedExpert(p *shard.Program, run *shard.Run, c *shard.Piece, record int64) int64 {
	if run.Order > 0 {
		return int64(p.Orders[run.Order-1][record])
	}
	return int64(c.Expert) + record
}

func (r *placedReader) placements(run *shard.Run, c *shard.Piece, t *shard.Template, record int64) (list []placement) {
	for local, x := range r.program.locals {
		slot := record
		if c.ByID {
			slot = placedExpert(r.plan.Program, run, c, record)
		}
		if w := t.Window; w.Size > 0 {
			slot -= w.Size * int64(x.within/w.Div%w.Mod)
			if slot < 0 || slot >= w.Size {
				continue
			}
		}
		for i := range c.Targets {
			to := &c.Targets[i]
			if to.Stage != x.stage {
				continue
			}
			for o := range t.Outputs {
				at := to.At[o]
				if len(to.Step) > 0 {
					at += slot * to.Step[o]
				}
				list = append(list, placement{local, x.within, &t.Outputs[o], at, t.Outputs[o].Transform != ""})
			}
		}
	}
	return list
}

// read fills src with a range of a file.
func (r *placedReader) read(file int, off, n int64) error {
	if r.at != file {
		if r.file != nil {
			r.file.Close()
			r.file = nil
		}
		f, _, err := ckptfs.OpenRegular(r.files[file].path)
		if errors.Is(err, os.ErrNotExist) {
			return r.files[file].gone()
		}
		if err != nil {
			return err
		}
		r.file, r.at = f, file
	}
	r.src = grown(r.src, n)
	if _, err := r.file.ReadAt(r.src, off); err != nil {
		if err == io.EOF { //nolint:errorlint // ReadAt of a file gives it bare
			err = fmt.Errorf("%w: %s ends early: %w", ErrChanged, r.files[file].Name, io.ErrUnexpectedEOF)
		}
		return &ReadError{File: r.files[file].path, System: ckptfs.TypeOf(r.files[file].path), Offset: off, Bytes: int(n), Err: err}
	}
	return nil
}

func grown(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// compare holds an output against src, which is lo up to hi of the tensor. It
// gives the first byte of the output that differs, or -1.
func (r *placedReader) compare(x *placement, lo, hi int64, dtype string) (int64, error) {
	first, end := int64(-1), int64(0)
	x.each(lo, hi, func(_, to, n int64) {
		if first < 0 || to < first {
			first = to
		}
		end = max(end, to+n)
	})
	if first < 0 {
		return -1, nil
	}
	r.want, r.got = grown(r.want, end-first), grown(r.got, end-first)
	q, arena := r.queues[r.program.locals[x.local].device], r.arenas[x.local]
	if err := q.ReadBack(r.got, arena, x.at+first); err != nil {
		return 0, err
	}
	copy(r.want, r.got) // what lies between belongs to other parts of the tensor
	x.each(lo, hi, func(from, to, n int64) { copy(r.want[to-first:to-first+n], r.src[from-lo:]) })
	if x.element {
		f, err := transformOf(x.out.Transform, dtype)
		if err != nil {
			return 0, err
		}
		f(r.want)
	}
	if bytes.Equal(r.want, r.got) {
		return -1, nil
	}
	i := int64(0)
	for r.want[i] == r.got[i] {
		i++
	}
	return first + i, nil
}

// each goes over the bytes of a tensor from lo up to hi that go to the output:
// runs of n, from in the tensor, to in the output.
func (x *placement) each(lo, hi int64, do func(from, to, n int64)) {
	for i := range x.out.Moves {
		m := &x.out.Moves[i]
		from := m.From
		for _, p := range m.Parts {
			from += p.Step * int64(x.within/p.Div%p.Mod)
		}
		placedLoops(m.Loops, m.Run, from, m.To, lo, hi, do)
	}
}

func placedLoops(loops []shard.Loop, run, from, to, lo, hi int64, do func(from, to, n int64)) {
	last := from + run
	for _, l := range loops {
		last += (l.N - 1) * l.From
	}
	if last <= lo || from >= hi {
		return
	}
	if len(loops) == 0 {
		if a, b := max(from, lo), min(last, hi); a < b {
			do(a, to+a-from, b-a)
		}
		return
	}
	for i := range loops[0].N {
		placedLoops(loops[1:], run, from+i*loops[0].From, to+i*loops[0].To, lo, hi, do)
	}
}
