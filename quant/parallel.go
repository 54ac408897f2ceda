package quant

import (
	"errors"
	"sync"
	"sync/atomic"
)

// parallel runs f for 0…n-1 on at most workers goroutines.
func parallel(n, workers int, f func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			f(int(i))
		}
	}
	var wg sync.WaitGroup
	for range min(n, workers) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// EncodeParallel is Encode on at most workers goroutines: the same bytes, the
// same report, and of several errors the first in the order of the input.
func (e *Encoder) EncodeParallel(codes, scales, src []byte, rows, k, workers int) (Report, error) {
	blocks, err := e.blocks(codes, scales, src, rows, k)
	if err != nil {
		return Report{}, err
	}
	f := e.recipe.Format
	in, out := f.Block()*e.size, f.CodeBytes(f.Block())
	pieces := (blocks + pieceBlocks - 1) / pieceBlocks
	reports, errs := make([]Report, pieces), make([]error, pieces)
	parallel(pieces, workers, func(i int) {
		at, end := i*pieceBlocks, min((i+1)*pieceBlocks, blocks)
		reports[i], errs[i] = e.Encode(codes[at*out:end*out], scales[at:end], src[at*in:end*in], 1, (end-at)*f.Block())
	})
	var rep Report
	for i, r := range reports {
		if err := errs[i]; err != nil {
			if nf := (*NonFiniteError)(nil); errors.As(err, &nf) {
				err = &NonFiniteError{Index: nf.Index + int64(i)*pieceBlocks*int64(f.Block()), Bits: nf.Bits}
			}
			return rep, err
		}
		rep.Add(r, int64(i)*pieceBlocks)
	}
	return rep, nil
}
