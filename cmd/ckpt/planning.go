package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"ckpt/checkpoint"
	"ckpt/internal/ui"
	"ckpt/shard"
)

// planning is how the commands that plan are told what to plan.
type planning struct {
	places
	degrees
	tensors []string
	layout  string
	aLog    string
	profile string
	jobs    int

	match *ui.Matcher
	plan  shard.Options
}

func (o *planning) addFlags(fs *pflag.FlagSet, jobs string) {
	o.degrees.addFlags(fs)
	fs.StringArrayVar(&o.tensors, "tensor", nil, "plan only tensors whose name matches `GLOB` or re:REGEX (may be repeated)")
	fs.StringVar(&o.layout, "layout", "", "names and shapes of the `engine` or of the checkpoint (default: engine where the profile has one)")
	fs.StringVar(&o.aLog, "a-log", "stored", "keep A_log as `stored`, on every rank, or narrow it to heads and split it")
	addProfile(fs, &o.profile)
	fs.IntVarP(&o.jobs, "jobs", "j", 0, jobs+" (0: as many as processors)")
	o.addSource(fs)
}

// planFlags are those that addFlags adds and that say what to plan.
var planFlags = []string{"tp", "ep", "pp", "tensor", "layout", "a-log", "profile"}

// check reads the values of the flags.
func (o *planning) check(set map[string]bool) (err error) {
	if o.match, err = ui.NewMatcher(o.tensors); err != nil {
		return &usageError{err}
	}
	if o.match != nil {
		o.plan.Keep = o.match.Match
	}
	if set["layout"] {
		if err := oneOf("--layout", o.layout, "engine", "checkpoint"); err != nil {
			return err
		}
	}
	if err := oneOf("--a-log", o.aLog, "stored", "heads"); err != nil {
		return err
	}
	o.plan.Layout, o.plan.ALog = shard.Layout(o.layout), shard.ALog(o.aLog)
	if err := checkJobs(o.jobs); err != nil {
		return err
	}
	o.profile, err = checkProfile(o.profile)
	return err
}

// open reads the headers of a checkpoint.
func (o *planning) open(ctx context.Context, meter *ui.Progress, path string) (*checkpoint.Checkpoint, error) {
	c, err := checkpoint.Open(ctx, path, checkpoint.Options{Jobs: o.jobs, Progress: perFile(meter, "reading headers")})
	meter.Stop()
	if err != nil {
		return nil, openError(err, path)
	}
	return c, nil
}

// make plans a checkpoint.
func (o *planning) make(c *checkpoint.Checkpoint, t shard.Topology, path string) (*shard.Model, *shard.Plan, error) {
	m, err := shard.Recognise(c, o.profile)
	if err != nil {
		return nil, nil, planError(err, path)
	}
	p, err := shard.New(c, m, t, o.plan)
	if err != nil {
		return nil, nil, o.planError(err, c, path)
	}
	return m, p, nil
}

// openError words why a checkpoint cannot be opened.
func openError(err error, path string) error {
	if errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	return hint(err, "ckpt audit %s says all that is wrong and how to mend it", shellPath(path))
}

// planError words why a plan cannot be made, where that is known to come of the
// filter of tensors too.
func (o *planning) planError(err error, c *checkpoint.Checkpoint, path string) error {
	var nothing *shard.NothingError
	switch {
	case errors.As(err, &nothing) && o.match != nil:
		return o.noTensor(nothing, c, path)
	case errors.Is(err, shard.ErrPart):
		err = fmt.Errorf("--tensor takes %w", err)
		if o.ep > 1 {
			return hint(err, "take all experts of a layer")
		}
		return hint(err, "take all experts of a layer, or --layout checkpoint, where each is a tensor of its own")
	case errors.Is(err, shard.ErrUnknown):
		return hint(err, "--profile FILE teaches ckpt a family, --tensor leaves tensors out; on one rank nothing needs to be known")
	}
	return planError(err, path)
}

// parseRanks reads the value of a flag that names ranks below n: 3, 0-3, 0,4. An
// empty text is none.
func parseRanks(flag, text string, n int) ([]int, error) {
	var out []int
	if text == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		left, right, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			right = left
		}
		from, err := strconv.ParseUint(left, 10, 31)
		to, err2 := strconv.ParseUint(right, 10, 31)
		switch {
		case err != nil || err2 != nil || from > to:
			return nil, usagef("%s %q: ranks read like 3, 0-3 or 0,4", flag, text)
		case to >= uint64(n):
			return nil, usagef("%s %q: there are %s, from 0 on", flag, text, ui.Plural(n, "rank"))
		}
		for r := from; r <= to; r++ {
			out = append(out, int(r))
		}
	}
	return out, nil
}
