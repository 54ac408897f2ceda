package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"ckpt/shard"
)

// degrees are the flags of a topology.
type degrees struct {
	tp, ep, pp int
}

func (d *degrees) addFlags(fs *pflag.FlagSet) {
	fs.IntVar(&d.tp, "tp", 1, "tensor parallel: split tensors over so many `ranks`")
	fs.IntVar(&d.ep, "ep", 1, "expert parallel: divide the experts over so many `ranks`")
	fs.IntVar(&d.pp, "pp", 1, "pipeline parallel: divide the layers over so many `stages`")
}

func (d *degrees) topology() (shard.Topology, error) {
	for _, f := range []struct {
		name string
		n    int
	}{{"tp", d.tp}, {"ep", d.ep}, {"pp", d.pp}} {
		if f.n < 1 {
			return shard.Topology{}, usagef("--%s %d: a degree is at least 1", f.name, f.n)
		}
	}
	return shard.Topology{TP: d.tp, EP: d.ep, PP: d.pp}, nil
}

// planError words why a plan cannot be made, and what can be.
func planError(err error, path string) error {
	var split *shard.SplitError
	switch {
	case errors.As(err, &split):
		if len(split.Works) == 0 {
			return err
		}
		return hint(err, "--%s works with %s", strings.ToLower(split.Degree), listed(split.Works))
	case errors.Is(err, shard.ErrTopology), errors.Is(err, shard.ErrProfile), errors.Is(err, shard.ErrLayout):
		return &usageError{err}
	case errors.Is(err, shard.ErrIncomplete):
		return hint(err, "ckpt audit %s says all that is wrong and how to mend it", shellPath(path))
	}
	return err
}

// listed writes numbers: 1, 2, 4 and 8.
func listed(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return joined(words)
}

// joined writes words: a, b and c.
func joined(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
