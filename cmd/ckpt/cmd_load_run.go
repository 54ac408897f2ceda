package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"ckpt/checkpoint"
	"ckpt/internal/fio"
	ckptfs "ckpt/internal/fs"
	"ckpt/internal/newfile"
	"ckpt/internal/ui"
	"ckpt/internal/unixsock"
	"ckpt/loader"
	"ckpt/loader/client"
	"ckpt/shard"
)

func runLoad(ctx context.Context, g *globals, o *loadOptions, path string, std streams) (err error) {
	o.load.Start = time.Now()
	if err := o.prepare(); err != nil {
		return err
	}
	devices, reasons, err := loader.OpenDevices(o.device)
	if err != nil {
		return o.loadError(err, path)
	}
	defer func() {
		for _, d := range devices {
			err = errors.Join(err, d.Close())
		}
	}()
	o.load.Opened = time.Since(o.load.Start)
	meter := g.meter(std)
	c, p, err := o.planOf(ctx, meter, path)
	if err != nil {
		return err
	}
	o.load.Devices, o.load.Progress = devices, meter
	loaded, result, err := loader.Bench(ctx, p, c.Dir, o.load, loader.BenchOptions{
		Runs: o.runs, Ceilings: o.set["runs"], Keep: o.hold != "" || o.record != "",
	})
	meter.Stop()
	if loaded != nil {
		defer func() { err = errors.Join(err, loaded.Close()) }()
	}
	if err != nil && (result == nil || !errors.Is(err, loader.ErrVerify)) {
		return o.loadError(err, path)
	}
	var recorded error
	if err == nil && o.record != "" {
		recorded = notOver(newfile.WriteFrom(o.record, loaded.Manifest().Write), o.record)
	}
	printed := o.print(g, std, newLoadDocument(o, p, c, result, reasons))
	if isBrokenPipe(printed) {
		printed = nil // a report that nobody reads to its end changes nothing else
	}
	switch {
	case err != nil:
		report(std, printed)
		return errNo
	case recorded != nil || printed != nil:
		return errors.Join(recorded, printed)
	case o.hold == "":
		return nil
	}
	return o.serve(ctx, g, loaded, std)
}

// prepare reads the files that the flags name, and sees whether those that are to
// be made can be, before anything is loaded.
func (o *loadOptions) prepare() error {
	if err := newDestinations(o.record); err != nil {
		return err
	}
	if o.compare != "" {
		text, err := ckptfs.ReadRegular(o.compare, fio.MaxDocument)
		if err != nil {
			return err
		}
		if o.fio, err = fio.Parse(text); err != nil {
			return hint(fmt.Errorf("%s: %w", o.compare, err), "fio --output-format=json … > %s", shellPath(o.compare))
		}
	}
	if o.manifest != "" {
		f, _, err := ckptfs.OpenRegular(o.manifest)
		if err != nil {
			return err
		}
		defer f.Close()
		if o.load.Manifest, err = loader.ReadManifest(f); err != nil {
			return fmt.Errorf("%s: %w", o.manifest, err)
		}
	}
	if o.hold != "" {
		return holdError(unixsock.Free(o.hold), o.hold)
	}
	return nil
}

// planOf opens a checkpoint and gives its plan: the one in a file where that is
// asked for and still fits, else a new one.
func (o *loadOptions) planOf(ctx context.Context, meter *ui.Progress, path string) (*checkpoint.Checkpoint, *shard.Plan, error) {
	var kept *shard.Plan
	var err error
	start := time.Now()
	if o.planFile != "" {
		if kept, err = readPlan(o.planFile); err != nil {
			return nil, nil, err
		}
	}
	t, err := o.topology()
	if err != nil {
		return nil, nil, err
	}
	ranks := t.Ranks()
	if kept != nil {
		ranks = len(kept.Ranks)
	}
	if o.load.Ranks, err = parseRanks("--ranks", o.ranks, ranks); err != nil {
		return nil, nil, err
	}
	o.load.Planned = time.Since(start)
	start = time.Now()
	c, err := o.open(ctx, meter, path)
	if err != nil {
		return nil, nil, err
	}
	o.load.Opened += time.Since(start)
	start = time.Now()
	if kept != nil {
		err = o.fresh(kept, c, path)
	} else {
		_, kept, err = o.make(c, t, path)
	}
	if err == nil && o.sha256 {
		o.load.Release, err = o.release(c, kept)
	}
	o.load.Planned += time.Since(start)
	return c, kept, err
}

// fresh refuses a plan that is not the checkpoint's.
func (o *loadOptions) fresh(p *shard.Plan, c *checkpoint.Checkpoint, path string) error {
	profile := ""
	if o.set["profile"] {
		profile = o.profile
	}
	proof := p.Prove()
	list, err := staleness(p, c, profile, proof.OK())
	switch {
	case err != nil:
		return err
	case !proof.OK():
		err = fmt.Errorf("%s: %w: it is not proven", o.planFile, shard.ErrStale)
	case len(list) > 0:
		err = fmt.Errorf("%s: %w: %s", o.planFile, shard.ErrStale, list[0])
	}
	return hint(err, "ckpt plan check %s %s says what is wrong with it", shellPath(o.planFile), shellPath(path))
}

// release gives the hashes of the files that the family's profile lists, nothing
// where the checkpoint is not of the release's sizes.
func (o *loadOptions) release(c *checkpoint.Checkpoint, p *shard.Plan) (map[string]string, error) {
	name := p.Profile
	if o.set["profile"] {
		name = o.profile
	}
	if name == shard.RulesName {
		name = "none"
	}
	m, err := shard.Recognise(c, name)
	if err != nil || m.Instance == nil || m.Instance.Release == nil {
		return nil, err
	}
	list := map[string]string{}
	for _, f := range m.Instance.Release.Files {
		if f.SHA256 != "" {
			list[f.Name] = f.SHA256
		}
	}
	return list, nil
}

// loadError words why a load could not be made.
func (o *loadOptions) loadError(err error, path string) error {
	var option *loader.OptionError
	switch {
	case errors.As(err, &option):
		return &usageError{err}
	case errors.Is(err, loader.ErrMemory):
		return hint(err, "--ranks loads some of the ranks, --device null none of them")
	case errors.Is(err, loader.ErrUnavailable):
		return hint(err, "ckpt doctor says what this machine offers")
	case errors.Is(err, loader.ErrChanged):
		return hint(err, "ckpt audit %s says what is there now", shellPath(path))
	}
	return err
}

// holdError words why a name cannot be had.
func holdError(err error, socket string) error {
	switch {
	case errors.Is(err, unixsock.ErrInUse):
		return hint(err, "end that process, or give another name")
	case errors.Is(err, fs.ErrNotExist):
		return hint(err, "mkdir -p %s first", shellPath(parent(socket)))
	case errors.Is(err, loader.ErrNotFinal):
		return hint(err, "another process of yours has it mapped for writing, in /proc/PID/maps as memfd:ckpt-arena; end that one and load again")
	}
	return err
}

// serve hands the arenas over until a signal ends it, which is how a hold ends.
func (o *loadOptions) serve(ctx context.Context, g *globals, l *loader.Loaded, std streams) error {
	x := loader.Holdings{Plan: l.Plan, Hash: l.Hash}
	v := l.Result.Verify
	x.Verify = client.Verify{Mode: string(v.Mode), Algorithm: v.Algorithm, Status: v.Status, Reference: v.Reference}
	for _, r := range slices.Sorted(slices.Values(l.Ranks())) {
		x.Arenas = append(x.Arenas, loader.HeldArena{Rank: r, Device: l.Device(r), Arena: l.Arena(r)})
	}
	say := func(format string, args ...any) {
		if !g.quiet {
			fmt.Fprintf(std.err, "ckpt: "+format+"\n", args...)
		}
	}
	h, err := loader.NewHold(o.hold, x, func(e loader.HoldEvent) { say("%s", holdEvent(e)) })
	if err != nil {
		return holdError(err, o.hold)
	}
	say("holding %s at %s; SIGINT or SIGTERM ends it (kill %d)", ui.Plural(len(x.Arenas), "arena"), shown(o.hold), os.Getpid())
	<-ctx.Done()
	n := h.Leases()
	err = h.Close()
	say("the hold has ended, with %s", ui.Plural(n, "lease"))
	return err
}

func holdEvent(e loader.HoldEvent) string {
	who := "a process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	switch e.Kind {
	case loader.Refused:
		return ui.Escape(fmt.Sprintf("%s was refused: %v", who, e.Err))
	case loader.Left:
		return fmt.Sprintf("%s gave %s back", who, theRanks(e.Ranks))
	}
	return fmt.Sprintf("%s has %s", who, theRanks(e.Ranks))
}

// theRanks names ranks: rank 3, ranks 0-3,6.
func theRanks(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + rankList(ranks)
	}
	return "ranks " + rankList(ranks)
}
