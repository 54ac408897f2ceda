package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ckpt/checkpoint"
	"ckpt/internal/fs"
	"ckpt/internal/ui"
	"ckpt/model"
	"ckpt/shard"
)

type estimateOptions struct {
	places
	degrees
	context, seqs       string
	device, memory      string
	kv                  []string
	reserve, memUtil    string
	storage             string
	solve, profile      string
	metadata, why, json bool
	jobs                int
	set                 map[string]bool
	demand              shard.Demand
	echoes              []string // how sizes and counts were read
}

func (o *estimateOptions) addFlags(fs *pflag.FlagSet) {
	o.degrees.addFlags(fs)
	fs.StringVarP(&o.context, "context", "c", "", "`tokens` of each sequence: 131072, 128k (128,000), 128K (131,072) (default: the config's own maximum)")
	fs.StringVar(&o.seqs, "seqs", "1", "`sequences` at once")
	fs.StringVar(&o.device, "device", "", "accelerator by `name`: "+deviceNames())
	fs.StringVar(&o.memory, "memory", "", "memory of one device: `288GB`, 256GiB")
	fs.StringArrayVar(&o.kv, "kv-dtype", nil, "`type` of keys, values and latents: bf16, f16, fp8, q8_0, … (default bf16)")
	fs.StringVar(&o.reserve, "reserve", "", "memory that is not to be used, a `size` or N%, in place of the assumed workspace")
	fs.StringVar(&o.memUtil, "mem-util", "1", "`share` of the memory that may be used: 0.9 or 90%")
	fs.StringVar(&o.storage, "storage", "", "`rate` of the storage, for the shortest time of a load: 6.9GB/s")
	fs.StringVar(&o.solve, "solve", "", "find the most context or seqs that fit, or the least tp: `context`, seqs or tp")
	fs.BoolVar(&o.metadata, "metadata-only", false, "read config.json and the index, no headers: weights as the profile has them")
	fs.BoolVar(&o.why, "explain", false, "print every formula with its values, and where they come from")
	addProfile(fs, &o.profile)
	fs.BoolVar(&o.json, "json", false, "print one JSON document (ckpt.estimate/v1)")
	fs.IntVarP(&o.jobs, "jobs", "j", 0, "files to read at the same time (0: as many as processors)")
	o.addSource(fs)
}

func newEstimate(g *globals, std streams) *cobra.Command {
	var opts estimateOptions
	cmd := &cobra.Command{
		Use:   "estimate PATH",
		Short: "say whether a checkpoint fits the memory of devices",
		Long: `Say what every device holds of a checkpoint: the weights as a plan splits them,
the caches of its sequences by kind of layer, and what is assumed beside them;
whether that fits, and how much would. Nothing but headers is read.

Activations and workspace are assumptions: the workspace is 8 % of the device's
memory and at least 1 GiB. --explain prints every formula with its values.`,
		GroupID: groupLook,
		Example: `  ckpt estimate --tp 8 --device mi350x DIR
  ckpt estimate --tp 8 --context 128K --seqs 16 --memory 141GB --mem-util 0.9 DIR
  ckpt estimate --tp 8 --device h200 --solve context DIR
  ckpt estimate --tp 8 --device mi350x --metadata-only --json DIR | jq .per_rank`,
		Annotations: map[string]string{exitStatus: `  0    it fits, or no device is given
  1    could not do it: an unreadable checkpoint, an unknown architecture, a
       field of config.json that is missing or wrong
  2    usage: an unknown device or profile, a value that does not parse
  3    the degrees cannot split this model
  4    it does not fit
  130  interrupted`},
		Args: func(_ *cobra.Command, args []string) error { return want("estimate", opts.join(args), "PATH") },
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.set = map[string]bool{}
			cmd.Flags().Visit(func(f *pflag.Flag) { opts.set[f.Name] = true })
			if err := opts.check(); err != nil {
				return err
			}
			return runEstimate(cmd.Context(), g, opts, opts.join(args)[0], std)
		},
	}
	opts.addFlags(cmd.Flags())
	return cmd
}

func deviceNames() string {
	var names []string
	for _, d := range shard.Devices() {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

// check reads the values of the flags.
func (o *estimateOptions) check() (err error) {
	for _, pair := range [][2]string{{"device", "memory"}} {
		if err := exclusive(o.set, pair[0], pair[1]); err != nil {
			return err
		}
	}
	if err := checkJobs(o.jobs); err != nil {
		return err
	}
	if o.set["solve"] {
		if err := o.checkSolve(); err != nil {
			return err
		}
	}
	if o.profile, err = checkProfile(o.profile); err != nil {
		return err
	}
	for _, step := range []func() error{o.counts, o.machine, o.cacheType, o.shares, o.rate} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (o *estimateOptions) checkSolve() error {
	if err := oneOf("--solve", o.solve, shard.SolveContext, shard.SolveSeqs, shard.SolveTP); err != nil {
		return err
	}
	if !o.set["device"] && !o.set["memory"] {
		return hint(usagef("--solve %s: what fits depends on the memory of a device", o.solve), "give --device or --memory")
	}
	return exclusive(o.set, "solve", o.solve)
}

func (o *estimateOptions) counts() (err error) {
	for _, c := range []struct {
		flag, text string
		to         *int64
	}{{"context", o.context, &o.demand.Context}, {"seqs", o.seqs, &o.demand.Seqs}} {
		if !o.set[c.flag] {
			continue
		}
		if *c.to, err = ui.ParseTokens(c.text); err != nil {
			return &usageError{fmt.Errorf("--%s: %w", c.flag, err)}
		}
		if *c.to < 1 {
			return usagef("--%s %s: at least 1", c.flag, c.text)
		}
		if n := fmt.Sprint(*c.to); n != strings.TrimSpace(c.text) {
			o.echoes = append(o.echoes, fmt.Sprintf("--%s %s = %s", c.flag, c.text, ui.Count(*c.to)))
		}
	}
	return nil
}

func (o *estimateOptions) machine() error {
	switch {
	case o.set["device"]:
		d, ok := shard.DeviceNamed(o.device)
		if !ok {
			return unknownDevice(o.device)
		}
		o.demand.Device, o.demand.Memory = d.Name, d.Memory
	case o.set["memory"]:
		n, err := o.size("memory", o.memory)
		if err != nil {
			return err
		}
		o.demand.Memory = n
	}
	return nil
}

func unknownDevice(name string) error {
	var known []string
	for _, d := range shard.Devices() {
		known = append(known, strings.ToLower(d.Name))
	}
	err := usagef("unknown device %q", name)
	near := ui.Nearest(strings.ToLower(name), slices.Values(known), 3)
	if len(near) > 0 {
		return hint(err, "did you mean %s? --memory 288GB takes any other", strings.Join(near, " or "))
	}
	return hint(err, "known are %s; --memory 288GB takes any other", strings.Join(known, ", "))
}

// size reads a size from 1 byte and remembers to echo it.
func (o *estimateOptions) size(flag, text string) (int64, error) {
	n, err := ui.ParseSize(text)
	if err != nil {
		return 0, &usageError{fmt.Errorf("--%s: %w", flag, err)}
	}
	if n < 1 {
		return 0, usagef("--%s %s: at least one byte", flag, text)
	}
	o.echoes = append(o.echoes, "--"+flag+" "+ui.Echo(text, n))
	return n, nil
}

func (o *estimateOptions) cacheType() error {
	for i, name := range o.kv {
		t, ok := shard.ParseCacheType(name)
		if !ok {
			err := usagef("--kv-dtype %q: no such type", name)
			if near := nearest(strings.ToLower(name), shard.CacheTypes()); near != "" {
				return hint(err, "did you mean %s?", near)
			}
			return hint(err, "known are %s", strings.Join(shard.CacheTypes(), ", "))
		}
		if i > 0 && t != o.demand.CacheType {
			return usagef("keys as %s and values as %s: both have one type here", o.demand.CacheType, t)
		}
		o.demand.CacheType = t
	}
	return nil
}

func (o *estimateOptions) shares() error {
	if o.set["mem-util"] {
		s, ok := parseShare(o.memUtil)
		if !ok || s == 0 {
			return usagef("--mem-util %q: a share above 0 and up to 1, such as 0.9 or 90%%", o.memUtil)
		}
		o.demand.MemUtil = s
	}
	if !o.set["reserve"] {
		return nil
	}
	o.demand.Reserve.Set = true
	if strings.HasSuffix(o.reserve, "%") {
		s, ok := parseShare(o.reserve)
		if !ok {
			return usagef("--reserve %q: a size, or a share from 0%% to 100%%", o.reserve)
		}
		if o.demand.Memory == 0 {
			return hint(usagef("--reserve %s: a share of a device that is not named", o.reserve), "give --device or --memory")
		}
		o.demand.Reserve.Share = s
		return nil
	}
	n, err := ui.ParseSize(o.reserve)
	if err != nil {
		return &usageError{fmt.Errorf("--reserve: %w", err)}
	}
	o.demand.Reserve.Bytes = n
	o.echoes = append(o.echoes, "--reserve "+ui.Echo(o.reserve, n))
	return nil
}

// parseShare reads 0.9 or 90%, from 0 to 1.
func parseShare(text string) (shard.Share, bool) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	number = strings.TrimSpace(number)
	if len(number) > 32 || strings.Trim(number, "0123456789.") != "" {
		return 0, false
	}
	v, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, false
	}
	if percent {
		v.Quo(v, big.NewRat(100, 1))
	}
	if v.Cmp(big.NewRat(1, 1)) > 0 {
		return 0, false
	}
	v.Mul(v, big.NewRat(int64(shard.Whole), 1))
	return shard.Share(new(big.Int).Quo(v.Num(), v.Denom()).Int64()), true
}

func (o *estimateOptions) rate() (err error) {
	if !o.set["storage"] {
		return nil
	}
	text := strings.TrimSpace(o.storage)
	for _, unit := range []string{"/s", "ps"} {
		var ok bool
		if text, ok = strings.CutSuffix(text, unit); ok && (strings.HasSuffix(text, "b") || strings.HasSuffix(strings.ToLower(text), "bit")) {
			return hint(usagef("--storage %q: a small b is bits in a rate, and bytes are wanted", o.storage), "8 Gb/s are 1GB/s")
		}
	}
	if _, err := ui.ParseSize(text); err != nil {
		return usagef("--storage %q: want bytes a second, such as 6.9GB/s", o.storage)
	}
	if o.demand.Storage, err = o.size("storage", text); err == nil {
		o.echoes[len(o.echoes)-1] += " a second"
	}
	return err
}

func runEstimate(ctx context.Context, g *globals, opts estimateOptions, path string, std streams) error {
	topology, err := opts.topology()
	if err != nil {
		return err
	}
	s, err := opts.source(ctx, path)
	if err != nil {
		return err
	}
	memory, err := shard.MemoryOf(s.model)
	if err != nil {
		return memoryError(err)
	}
	if opts.metadata {
		note, err := shard.ConfirmLayers(s.c, memory)
		if err != nil {
			return err
		}
		if note != "" {
			s.notes = append(s.notes, note)
		}
	}
	opts.demand.FileBytes = s.bytes
	e, err := opts.estimate(s, memory, topology)
	if errors.Is(err, shard.ErrOverflow) && opts.demand.Memory > 0 {
		return &noRoomError{fmt.Errorf("it does not fit: %w", err)}
	}
	if err != nil {
		return planError(err, path)
	}
	e.Source, e.Notes = path, append(e.Notes, s.notes...)
	if m, err := fs.ReadMemory(); err == nil {
		e.Host.Problems = e.Host.Warnings(shard.HostMemory{Total: m.Total, Available: m.Available, Limit: m.Limit, LimitFrom: m.LimitFrom})
	}
	w := bufio.NewWriter(std.out)
	if opts.json {
		err = writeJSON(w, e)
	} else {
		p := estimatePrinter{w: w, style: std.style(), e: e, opts: &opts, width: ui.TerminalWidth(std.out, textWidth), quiet: g.quiet}
		p.print()
	}
	if err = errors.Join(err, w.Flush()); err != nil && !isBrokenPipe(err) {
		return err
	}
	if e.Fits != nil && !*e.Fits {
		return errNoFit
	}
	return nil
}

func (o *estimateOptions) estimate(s *estimateSource, m *model.Memory, t shard.Topology) (*shard.Estimate, error) {
	if o.solve == shard.SolveTP {
		return shard.SolveForTP(func(tp int) (*shard.Plan, error) {
			t.TP = tp
			return s.plan(t)
		}, m, o.demand)
	}
	p, err := s.plan(t)
	switch {
	case err != nil:
		return nil, err
	case o.solve != "":
		return shard.SolveFor(o.solve, p, m, o.demand)
	}
	return shard.NewEstimate(p, m, o.demand)
}

// memoryError says how to go on without knowing the caches.
func memoryError(err error) error {
	var unknown *model.UnknownArchitectureError
	if errors.As(err, &unknown) {
		return hint(err, "known are %s; --profile FILE takes a profile with a memory part", strings.Join(unknown.Known, ", "))
	}
	return err
}

// estimateSource is a checkpoint as far as it was looked at.
type estimateSource struct {
	c       *checkpoint.Checkpoint
	model   *shard.Model
	headers bool
	bytes   int64 // of the weight files
	notes   []string
}

func (o *estimateOptions) source(ctx context.Context, path string) (*estimateSource, error) {
	s := &estimateSource{headers: !o.metadata}
	var err error
	if s.headers {
		s.c, err = openCheckpoint(ctx, path, o.jobs)
	} else {
		s.c, err = checkpoint.Survey(ctx, path, checkpoint.Options{Jobs: o.jobs})
	}
	if err != nil {
		return nil, err
	}
	if x := s.c.Index; x != nil && x.Err != nil {
		return nil, fmt.Errorf("%s: %w", x.Name, x.Err)
	}
	if s.c.Config == nil {
		return nil, fmt.Errorf("%s: there is no config.json, and caches follow from it", path)
	}
	if s.model, err = shard.Recognise(s.c, o.profile); err != nil {
		return nil, planError(err, path)
	}
	s.files()
	if s.headers {
		return s, nil
	}
	note, err := shard.Confirm(s.c, s.model, o.profile != "auto")
	if err != nil {
		return nil, hint(err, "leave out --metadata-only where the files are here, or name the --profile that holds")
	}
	if note != "" {
		s.notes = append(s.notes, note)
	}
	return s, nil
}

// files sums the weight files: as they lie there, else as the release has
// them, else as the index counts tensors.
func (s *estimateSource) files() {
	complete := true
	for _, f := range s.c.Files {
		if f.Indexed {
			s.bytes += f.Size
			complete = complete && f.Fault == nil
		}
	}
	if complete && s.bytes > 0 {
		return
	}
	in, x := s.model.Instance, s.c.Index
	switch {
	case in != nil && in.Release != nil && in.Release.Totals.FileBytes > 0:
		s.bytes = in.Release.Totals.FileBytes
		s.notes = append(s.notes, "the weight files are not all here; their bytes are those of the release")
	case x != nil && x.HasTotalSize:
		s.bytes = x.TotalSize
		s.notes = append(s.notes, "the weight files are not all here; their bytes are the index's metadata.total_size, without headers")
	case in != nil:
		s.bytes = in.Totals().Bytes
		s.notes = append(s.notes, "the weight files are not all here; their bytes are those of the tensors that the profile expects")
	}
}

// plan splits the checkpoint by its headers, or by what its profile expects.
func (s *estimateSource) plan(t shard.Topology) (*shard.Plan, error) {
	x := s.c.Index
	switch {
	case s.headers:
		return shard.New(s.c, s.model, t, shard.Options{})
	case s.model.Instance != nil:
		return shard.Sketch(s.model, t, shard.Options{})
	case t.Ranks() == 1 && x != nil && x.HasTotalSize:
		return shard.Unsplit(s.c.Path, x.TotalSize), nil
	}
	return nil, hint(errors.New("no profile knows the tensors of this model, and only headers say how they split"),
		"leave out --metadata-only where the files are here")
}
