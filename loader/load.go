package loader

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ckpt/shard"
)

// Load executes a plan: it reads what the ranks need from the files in dir and
// places it in arenas that it allocates. The plan is proven and the files are
// compared with it before anything is read. On an error nothing is left
// allocated; the result then says how far the load came, where it came to
// reading, and is nil else. A failed verification is an error that matches
// ErrVerify. Other errors match *OptionError, ErrMemory, ErrChanged,
// ErrUnavailable, *ReadError or the context's.
func Load(ctx context.Context, p *shard.Plan, dir string, o Options) (*Loaded, *Result, error) {
	l := &load{start: time.Now(), plan: p, dir: dir}
	l.result = &Result{Schema: ResultSchema, Source: dir}
	if !o.Start.IsZero() {
		l.start = o.Start
	}
	l.result.Seconds.Open, l.result.Seconds.Plan = o.Opened.Seconds(), o.Planned.Seconds()
	loaded, err := l.load(ctx, o)
	if err != nil {
		err = errors.Join(err, l.discard())
		if l.pipe == nil {
			return nil, nil, err
		}
		return nil, l.result, err
	}
	return loaded, l.result, nil
}

// load is one call of Load.
type load struct {
	start   time.Time
	plan    *shard.Plan
	dir     string
	o       Options
	program *program
	files   []*sourceFile
	spans   []span
	arenas  []Arena // of locals
	staging *Staging
	packs   *Staging // second slots, two for each worker; nil where rows are not packed
	pinned  []pinned
	ways    []Way
	pipe    *pipeline
	hashes  *hashes
	result  *Result

	blockFound bool // nobody asked for the size of blocks
}

// pinned is memory that a device was told of.
type pinned struct {
	device Device
	mem    []byte
}

// step adds what a step took to one of the result's times.
func (l *load) step(seconds *float64, f func() error) error {
	t := time.Now()
	err := f()
	*seconds += time.Since(t).Seconds()
	return err
}

func (l *load) load(ctx context.Context, o Options) (*Loaded, error) {
	s := &l.result.Seconds
	if err := l.step(&s.Plan, func() error { return l.prepare(o) }); err != nil {
		return nil, err
	}
	if err := l.step(&s.Open, func() (err error) {
		l.files, err = planned(ctx, l.plan, l.dir)
		return err
	}); err != nil {
		return nil, err
	}
	if err := l.step(&s.Alloc, func() error { return l.allocate(ctx) }); err != nil {
		return nil, err
	}
	if err := l.cool(); err != nil {
		return nil, err
	}
	if err := l.run(ctx); err != nil {
		return nil, err
	}
	l.result.Cold.After = resident(l.files)
	if err := l.step(&s.Verify, func() error { return l.verify(ctx) }); err != nil {
		return nil, err
	}
	if err := unchanged(l.files); err != nil {
		return nil, err
	}
	if err := l.freeStaging(); err != nil {
		return nil, err
	}
	s.Total = time.Since(l.start).Seconds()
	return l.loaded(), nil
}

// prepare checks what was asked for, proves the plan and works it out.
func (l *load) prepare(o Options) (err error) {
	if l.plan.Program == nil {
		return optionError("a plan without a program cannot be loaded")
	}
	if proof := l.plan.Prove(); !proof.OK() {
		return fmt.Errorf("the plan is not proven: %s", strings.Join(proof.Faults, "; "))
	}
	if l.o, err = o.resolve(len(l.plan.Ranks)); err != nil {
		return err
	}
	l.blockFound = o.Block == 0
	if l.o.Verify == VerifyAuto {
		l.o.Verify = VerifySource
		if !slices.ContainsFunc(l.o.Devices, func(d Device) bool { return !keepsNothing(d) }) {
			l.o.Verify = VerifyNone
		}
	}
	if l.program, err = newProgram(l.plan, l.o.Ranks, len(l.o.Devices)); err != nil {
		return err
	}
	hash := l.hashing()
	if hash {
		l.hashes = newHashes(l.program)
	}
	l.spans = l.program.spans(hash, l.o.SHA256)
	return nil
}

// hashing says whether tensors or files are hashed while they are read.
func (l *load) hashing() bool {
	return l.o.Verify == VerifySource || l.o.Manifest != nil || l.o.SHA256
}

func keepsNothing(d Device) bool {
	_, null := d.(*Null)
	return null
}

// allocate makes arenas and the staging area.
func (l *load) allocate(ctx context.Context) error {
	if err := l.room(); err != nil {
		return err
	}
	l.arenas = make([]Arena, len(l.program.locals))
	for i, x := range l.program.locals {
		a, err := allocOn(ctx, l.o.Devices[x.device], l.arenaBytes(x))
		if err != nil {
			return fmt.Errorf("rank %d: %w", x.rank, err)
		}
		l.arenas[i] = a
	}
	return l.stage(ctx)
}

// stage makes the staging area and tells the devices of it.
func (l *load) stage(ctx context.Context) (err error) {
	n := l.o.Pinned / l.o.Block
	if _, requests := total(l.spans, l.o.Block); requests < n {
		n = max(requests, 1)
	}
	l.ways = make([]Way, len(l.o.Devices))
	pack := false
	for i, d := range l.o.Devices {
		l.ways[i] = d.Ways()[0]
		pack = pack || slices.Contains(d.Ways(), WayPack)
	}
	run, stride := l.program.usualRows()
	if pack && run > 0 {
		room := l.o.Pinned / l.o.Block
		if room < 4 {
			return optionError("%d bytes of staging memory: a device that takes packed rows wants four blocks of %d at least", l.o.Pinned, l.o.Block)
		}
		l.o.Workers = min(l.o.Workers, int(room/4))
		packs := 2 * int64(l.o.Workers)
		n = min(n, room-packs)
		if l.packs, err = stagingFor(ctx, packs*l.o.Block, l.o.Block); err != nil {
			return err
		}
		l.register(l.packs.Area())
	}
	if l.staging, err = stagingFor(ctx, n*l.o.Block, l.o.Block); err != nil {
		return err
	}
	l.register(l.staging.Area())
	if l.packs != nil {
		return l.calibrate(run, stride)
	}
	return nil
}

// calibrate chooses how each device takes rows; those of one kind are asked once.
func (l *load) calibrate(run, stride int) error {
	if stride > len(l.staging.Area()) {
		return nil
	}
	for i, d := range l.o.Devices {
		if i > 0 && slices.Equal(d.Ways(), l.o.Devices[i-1].Ways()) {
			l.ways[i] = l.ways[i-1]
			continue
		}
		way, rates, err := calibrate(d, l.staging.Area(), l.packs.Area(), run, stride)
		if err != nil {
			return fmt.Errorf("%s: rows of %d bytes: %w", d.Name(), run, err)
		}
		l.ways[i] = way
		if l.result.Copies.WayRates == nil {
			l.result.Copies.WayRates = rates
		}
	}
	return nil
}

// register tells devices of memory. One that refuses copies from it all the same.
func (l *load) register(mem []byte) {
	for _, d := range l.o.Devices {
		if err := d.Register(mem); err != nil {
			l.note("%s does not register the staging area: %v", d.Name(), err)
			continue
		}
		l.pinned = append(l.pinned, pinned{d, mem})
	}
}

func (l *load) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.result.Notes, text) {
		l.result.Notes = append(l.result.Notes, text)
	}
}

// run reads and places everything.
func (l *load) run(ctx context.Context) error {
	p := &pipeline{program: l.program, o: l.o, files: l.files, hashes: l.hashes, shop: newShop(), todo: copying}
	if l.hashing() {
		p.todo |= hashing
	}
	if l.o.SHA256 {
		p.todo |= hashingFile
	}
	p.slots = make([]slot, l.staging.Slots())
	for i := range p.slots {
		p.slots[i].buf = l.staging.Slot(i)
	}
	for i := range l.o.Workers {
		w := l.worker(p)
		if l.packs != nil {
			w.scatterer.pack = &packer{halves: [2][]byte{l.packs.Slot(2 * i), l.packs.Slot(2*i + 1)}}
		}
		p.workers = append(p.workers, w)
	}
	l.pipe = p
	if l.o.Progress != nil {
		wanted := int64(0)
		for _, x := range l.spans {
			wanted += x.hi - x.lo
		}
		l.o.Progress.Start("load", wanted, "B")
		defer l.o.Progress.Stop()
	}
	before := usage()
	disk, known := diskReads(l.dir)
	err := p.run(ctx, l.openEngine, l.spans)
	for _, f := range l.files {
		err = errors.Join(err, f.close())
	}
	l.measure(before)
	l.disk(disk, known)
	if err != nil {
		return err
	}
	return l.complete()
}

// complete holds what was placed against the plan: nothing is half assembled, and
// every rank has all of its bytes. Otherwise this package is at fault.
func (l *load) complete() error {
	if n := l.pipe.shop.used.Load(); n != 0 {
		return fmt.Errorf("%w: outputs of %d bytes were not put together to the end", ErrVerify, n)
	}
	for _, r := range l.result.Ranks {
		if want := l.plan.Ranks[r.Rank].Bytes; r.Bytes != want {
			return fmt.Errorf("%w: rank %d got %d bytes of %d", ErrVerify, r.Rank, r.Bytes, want)
		}
	}
	return nil
}

// tuneFrom is how much is in flight where nobody says how much: it grows from
// there on as long as that makes the load faster.
const tuneFrom = 16 << 20

// openEngine makes the engine, on the thread of the reader.
func (l *load) openEngine() (Engine, error) {
	// A quarter of the slots is for what waits to be copied.
	most := max(1, l.staging.Slots()*3/4)
	if l.o.Inflight > 0 {
		most = min(most, int(l.o.Inflight/l.o.Block))
	} else {
		l.pipe.tuner = NewTuner(min(most, int(max(2, tuneFrom/l.o.Block))), most)
	}
	open := NewEngine
	if l.o.engine != nil {
		open = l.o.engine
	}
	e, info, err := open(l.o.IO, EngineOptions{Depth: most, Staging: l.staging})
	if err != nil {
		return nil, err
	}
	r := &l.result.Engine
	r.Name, r.Reason, r.Ladder, r.Fixed, r.FixedWhy = info.Name, info.Reason, info.Ladder, info.Fixed, info.FixedReason
	return e, nil
}

func (l *load) worker(p *pipeline) *worker {
	n := len(l.program.locals)
	return &worker{
		pipeline: p,
		scatterer: scatterer{
			program: l.program, arenas: l.arenas, ways: l.ways, shop: p.shop,
			joined: make([]joined, n), touched: make([]bool, len(l.o.Devices)), counts: make([]counts, n),
		},
		last: make([]time.Time, n), before: make([]int64, n),
	}
}

// open makes the worker's queues, on its thread.
func (w *worker) open() error {
	for _, d := range w.o.Devices {
		q, err := d.NewQueue()
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", d.Name(), err), w.close())
		}
		w.scatterer.queues = append(w.scatterer.queues, q)
	}
	return nil
}

func (w *worker) close() error {
	errs := []error{w.scatterer.pack.close()}
	for _, q := range w.scatterer.queues {
		errs = append(errs, q.Close())
	}
	w.scatterer.queues = nil
	return errors.Join(errs...)
}

// freeStaging gives the staging memory back.
func (l *load) freeStaging() error {
	var errs []error
	for _, p := range l.pinned {
		errs = append(errs, p.device.Unregister(p.mem))
	}
	l.pinned = nil
	for _, s := range []*Staging{l.staging, l.packs} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	l.staging, l.packs = nil, nil
	return errors.Join(errs...)
}

// discard frees everything after an error.
func (l *load) discard() error {
	errs := []error{l.freeStaging()}
	for _, a := range l.arenas {
		if a != nil {
			errs = append(errs, a.Close())
		}
	}
	return errors.Join(errs...)
}

func (l *load) loaded() *Loaded {
	x := &Loaded{Plan: l.plan, Result: l.result, ranks: l.o.Ranks, arenas: map[int]Arena{}, devices: map[int]Device{}, hashes: l.hashes}
	for i, a := range l.arenas {
		rank := l.program.locals[i]
		x.arenas[rank.rank], x.devices[rank.rank] = a, l.o.Devices[rank.device]
	}
	return x
}

// Loaded is arenas with their tensors in place.
type Loaded struct {
	Plan   *shard.Plan
	Result *Result

	ranks   []int
	arenas  map[int]Arena
	devices map[int]Device
	hashes  *hashes // nil where nothing was hashed
}

// Ranks lists those that were loaded, in the order that was asked for.
func (l *Loaded) Ranks() []int { return l.ranks }

// Arena is that of a rank, nil where it was not loaded.
func (l *Loaded) Arena(rank int) Arena { return l.arenas[rank] }

// Device holds the arena of a rank.
func (l *Loaded) Device(rank int) Device { return l.devices[rank] }

// Hash is the xxh3-128 in hexadecimal of the source tensor that begins at an
// offset of a file, empty where it was not hashed.
func (l *Loaded) Hash(file string, offset int64) string {
	if l.hashes == nil {
		return ""
	}
	i := slices.IndexFunc(l.Plan.Source.Files, func(f shard.SourceFile) bool { return f.Name == file })
	n, ok := l.hashes.number(i, offset)
	if !ok || !l.hashes.taken[n] {
		return ""
	}
	return hex.EncodeToString(l.hashes.sums[n][:])
}

// Close frees the arenas. The devices stay open.
func (l *Loaded) Close() error {
	var errs []error
	for _, r := range l.ranks {
		errs = append(errs, l.arenas[r].Close())
	}
	l.ranks, l.arenas = nil, nil
	return errors.Join(errs...)
}
