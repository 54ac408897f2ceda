// Command arenas loads a checkpoint as ckpt load does, reads the arenas back from
// their devices and writes each to a file, rank-N.bin, beside tensors.json, which
// says what lies where. The interop suite compares them with slices that numpy
// takes of what the official package reads.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/go-json-experiment/json"

	"ckpt/checkpoint"
	"ckpt/loader"
	"ckpt/shard"
)

type job struct {
	path, out, device string
	plan              shard.Options
	topology          shard.Topology
	load              loader.Options
}

func main() {
	var j job
	var layout, aLog, verify string
	flag.StringVar(&j.device, "device", "host", "as of ckpt load")
	flag.StringVar(&j.load.IO, "io", "auto", "as of ckpt load")
	flag.StringVar(&layout, "layout", "", "as of ckpt load")
	flag.StringVar(&aLog, "a-log", "", "as of ckpt load")
	flag.StringVar(&verify, "verify", "source", "as of ckpt load")
	flag.IntVar(&j.topology.TP, "tp", 1, "as of ckpt load")
	flag.IntVar(&j.topology.EP, "ep", 1, "as of ckpt load")
	flag.IntVar(&j.topology.PP, "pp", 1, "as of ckpt load")
	flag.Int64Var(&j.load.Block, "block", 0, "bytes of a read")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: arenas [flags] CHECKPOINT DIRECTORY")
		os.Exit(2)
	}
	j.path, j.out = flag.Arg(0), flag.Arg(1)
	j.plan.Layout, j.plan.ALog, j.load.Verify = shard.Layout(layout), shard.ALog(aLog), loader.Verify(verify)
	if err := j.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "arenas:", err)
		os.Exit(1)
	}
}

func (j *job) run(ctx context.Context) error {
	c, err := checkpoint.Open(ctx, j.path, checkpoint.Options{})
	if err != nil {
		return err
	}
	m, err := shard.Recognise(c, "auto")
	if err != nil {
		return err
	}
	p, err := shard.New(c, m, j.topology, j.plan)
	if err != nil {
		return err
	}
	if j.load.Devices, _, err = loader.OpenDevices(j.device); err != nil {
		return err
	}
	loaded, _, err := loader.Load(ctx, p, j.path, j.load)
	if err == nil {
		err = errors.Join(j.write(p, loaded), loaded.Close())
	}
	for _, d := range j.load.Devices {
		err = errors.Join(err, d.Close())
	}
	return err
}

// write keeps what every rank holds.
func (j *job) write(p *shard.Plan, l *loader.Loaded) error {
	var tensors []*shard.Tensor
	for _, rank := range l.Ranks() {
		for t := range p.Tensors(rank) {
			tensors = append(tensors, t)
		}
		if err := j.arena(l.Device(rank), l.Arena(rank), rank); err != nil {
			return err
		}
	}
	text, err := json.Marshal(tensors)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(j.out, "tensors.json"), text, 0o644)
}

// arena reads an arena back through a queue of its device, on one thread.
func (j *job) arena(d loader.Device, a loader.Arena, rank int) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	q, err := d.NewQueue()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	f, err := os.Create(filepath.Join(j.out, fmt.Sprintf("rank-%d.bin", rank)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	buf := make([]byte, 1<<20)
	for at := int64(0); at < a.Bytes(); {
		n := min(int64(len(buf)), a.Bytes()-at)
		if err := q.ReadBack(buf[:n], a, at); err != nil {
			return err
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		at += n
	}
	return w.Flush()
}
