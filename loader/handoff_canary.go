package loader

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"

	"ckpt/loader/client"
)

// canaryBytes is how many bytes are compared at each place.
const canaryBytes = 32

// describeArenas puts a canary behind the tensors of each arena and says what
// there is at its beginning, middle and end too: the first tells the arenas of two
// holds and two ranks apart, the others show that the whole of it is mapped.
func describeArenas(x Holdings) ([]client.Arena, error) {
	var list []client.Arena
	for i, a := range x.Arenas {
		stage := x.Plan.Stages[x.Plan.Ranks[a.Rank].Stage]
		if a.Arena.Bytes() < stage.Arena+CanaryBytes {
			return nil, fmt.Errorf("rank %d: an arena of %d bytes has no room for a canary", a.Rank, a.Arena.Bytes())
		}
		if _, ok := a.Arena.(Exporter); !ok {
			return nil, fmt.Errorf("%s hands nothing over: %w", a.Device.Name(), errors.ErrUnsupported)
		}
		canaries, err := canaries(a, stage.Arena)
		if err != nil {
			return nil, fmt.Errorf("rank %d: canaries: %w", a.Rank, err)
		}
		list = append(list, client.Arena{
			Arena: i, Rank: a.Rank, Stage: stage.Stage, Device: a.Device.Name(),
			Bytes: a.Arena.Bytes(), Used: stage.Arena, Canaries: canaries,
		})
	}
	return list, nil
}

// canaries writes one at the end of what is used and reads what others compare.
func canaries(a HeldArena, used int64) (list []client.Canary, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	q, err := a.Device.NewQueue()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	var own [canaryBytes]byte
	rand.Read(own[:]) // never fails
	err = copyNow(q, a.Arena, used, own[:])
	if err != nil && !errors.Is(err, errArenaSealed) { // held before, and has one
		return nil, err
	}
	n := min(canaryBytes, used)
	for _, at := range []int64{0, (used - n) / 2, used - n, used} {
		got := make([]byte, n)
		if at == used {
			got = make([]byte, canaryBytes)
		}
		if len(got) == 0 {
			continue
		}
		if err := q.ReadBack(got, a.Arena, at); err != nil {
			return nil, err
		}
		list = append(list, client.Canary{Offset: at, Hex: hex.EncodeToString(got)})
	}
	return list, nil
}

// copyNow copies and waits until it is done.
func copyNow(q Queue, dst Arena, off int64, src []byte) error {
	if err := q.Copy(dst, off, src); err != nil {
		return err
	}
	e, err := q.Record()
	if err != nil {
		return err
	}
	for {
		if done, err := e.Done(); done || err != nil {
			return err
		}
		runtime.Gosched()
	}
}
