package loader

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"ckpt/shard"
)

// Sizes of the measurements of copies alone, in bytes.
const (
	copyTestArena = 64 << 20
	copyTestTotal = 1 << 30
	wayTestRows   = 2 << 20 // of one rectangle, packed
	wayTestRounds = 8
)

// copyRate measures how fast devices take copies of a block where nothing is
// read, in GB/s of payload: bytes that go to several ranks count once. It is 0
// where no device keeps anything.
func copyRate(p *shard.Plan, o Options) (float64, error) {
	o, err := o.resolve(len(p.Ranks))
	if err != nil {
		return 0, err
	}
	var rate float64
	for _, d := range o.Devices {
		if keepsNothing(d) {
			return 0, nil
		}
	}
	err = onOwnThread(func() error {
		rate, err = copyTest(o)
		return err
	})
	if p.Totals.Read > 0 && len(o.Ranks) == len(p.Ranks) {
		rate *= float64(p.Totals.Read) / float64(p.Totals.Device)
	}
	return rate, err
}

// onOwnThread calls f on a thread of its own, which ends with it.
func onOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// copyTest copies from all workers to the arenas of all devices.
func copyTest(o Options) (rate float64, err error) {
	staging, err := NewStaging(int64(o.Workers)*o.Block, o.Block)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, staging.Close()) }()
	n := len(o.Devices)
	arenas := make([]Arena, n)
	for i, d := range o.Devices {
		if arenas[i], err = d.Alloc(max(copyTestArena, o.Block)); err != nil {
			return 0, errors.Join(err, closeArenas(arenas))
		}
		if d.Register(staging.Area()) == nil {
			defer d.Unregister(staging.Area()) //nolint:errcheck // what was registered just now
		}
	}
	defer func() { err = errors.Join(err, closeArenas(arenas)) }()
	var wg sync.WaitGroup
	errs := make([]error, o.Workers)
	blocks := max(1, copyTestTotal/o.Block/int64(o.Workers))
	start := time.Now()
	for w := range o.Workers {
		wg.Go(func() {
			errs[w] = onOwnThread(func() error { return copyBlocks(o, arenas, staging.Slot(w), w, int(blocks)) })
		})
	}
	wg.Wait()
	seconds := time.Since(start).Seconds()
	return float64(blocks*int64(o.Workers)*o.Block) / 1e9 / seconds, errors.Join(errs...)
}

func closeArenas(list []Arena) error {
	var errs []error
	for _, a := range list {
		if a != nil {
			errs = append(errs, a.Close())
		}
	}
	return errors.Join(errs...)
}

// copyBlocks copies a slot again and again, to places and devices by turns.
func copyBlocks(o Options, arenas []Arena, src []byte, first, n int) (err error) {
	queues := make([]Queue, len(o.Devices))
	defer func() {
		for _, q := range queues {
			if q != nil {
				err = errors.Join(err, q.Close())
			}
		}
	}()
	for i, d := range o.Devices {
		if queues[i], err = d.NewQueue(); err != nil {
			return err
		}
	}
	places := arenas[0].Bytes() / o.Block
	for i := range n {
		d := i % len(queues)
		if err := queues[d].Copy(arenas[d], (int64(first*n+i)%places)*o.Block, src); err != nil {
			return err
		}
		if i%8 == 7 || i == n-1 {
			for _, q := range queues {
				e, err := q.Record()
				if err != nil {
					return err
				}
				if err := await([]Event{e}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// calibrate measures the ways in which a device takes rows of the shape that is
// most of the plan's, and gives the fastest. rates are in GB/s.
func calibrate(d Device, src, packed []byte, run, stride int) (best Way, rates map[string]float64, err error) {
	ways := d.Ways()
	if len(ways) == 1 {
		return ways[0], nil, nil
	}
	rows := max(1, min(wayTestRows/run, (len(src)-run)/stride+1, len(packed)/run))
	r := Rect{Src: src[:(rows-1)*stride+run], Rows: rows, Run: run, Stride: stride}
	rates = map[string]float64{}
	err = onOwnThread(func() (err error) {
		a, err := d.Alloc(int64(rows * run))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Close()) }()
		q, err := d.NewQueue()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, q.Close()) }()
		for _, way := range ways {
			for round := range wayTestRounds {
				t := time.Now()
				if err := takeRows(q, a, way, r, packed); err != nil {
					return fmt.Errorf("%s: %w", way, err)
				}
				spent := time.Since(t)
				if v := float64(rows*run) / 1e9 / spent.Seconds(); round > 0 {
					rates[string(way)] = max(rates[string(way)], v)
				}
				if spent > 100*time.Millisecond && round > 0 {
					break // slower by orders of magnitude: known by now
				}
			}
		}
		return nil
	})
	best = ways[0]
	for _, way := range ways {
		if rates[string(way)] > rates[string(best)] {
			best = way
		}
	}
	return best, rates, err
}

func takeRows(q Queue, a Arena, way Way, r Rect, packed []byte) error {
	if way == WayPack {
		dst := packed[:r.Rows*r.Run]
		packRows(dst, r)
		if err := q.Copy(a, 0, dst); err != nil {
			return err
		}
	} else if err := q.CopyRect(a, 0, r); err != nil {
		return err
	}
	e, err := q.Record()
	if err != nil {
		return err
	}
	return await([]Event{e})
}
