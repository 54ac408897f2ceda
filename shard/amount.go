package shard

import (
	"errors"
	"math"
	"math/bits"
)

// ErrOverflow: a size does not fit 63 bits.
var ErrOverflow = errors.New("a size does not fit 63 bits")

// product multiplies numbers that are not negative.
func product(factors ...int64) (int64, error) {
	out := uint64(1)
	for _, f := range factors {
		if f < 0 {
			return 0, ErrOverflow
		}
		hi, lo := bits.Mul64(out, uint64(f))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, ErrOverflow
		}
		out = lo
	}
	return int64(out), nil
}

// sum adds numbers that are not negative.
func sum(terms ...int64) (int64, error) {
	out := int64(0)
	for _, t := range terms {
		if t < 0 || out > math.MaxInt64-t {
			return 0, ErrOverflow
		}
		out += t
	}
	return out, nil
}

// Share is a part of a whole in billionths; Whole is all of it.
type Share int64

// Whole is all of it.
const Whole Share = 1_000_000_000

// of takes the share, 0 to Whole, of n ≥ 0, rounded down.
func (s Share) of(n int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(s))
	out, _ := bits.Div64(hi, lo, uint64(Whole)) // below n
	return int64(out)
}
