package loader

import (
	"encoding/binary"
	"fmt"
	"math"
)

// transformOf gives what changes the numbers of an output in place.
func transformOf(name, dtype string) (func([]byte), error) {
	switch {
	case name == "neg_exp" && dtype == "F32":
		return negExpF32, nil
	case name == "neg_exp" && dtype == "BF16":
		return negExpBF16, nil
	}
	return nil, fmt.Errorf("there is no %q of %s", name, dtype)
}

// negExpF32 puts -exp(x) in place of x, computed in float64 and rounded once.
func negExpF32(b []byte) {
	for ; len(b) >= 4; b = b[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(b))
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(-math.Exp(float64(x)))))
	}
}

func negExpBF16(b []byte) {
	for ; len(b) >= 2; b = b[2:] {
		x := math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
		binary.LittleEndian.PutUint16(b, bf16(-math.Exp(float64(x))))
	}
}

// bf16 rounds to the nearest, ties to even. By way of float32 numbers would be
// rounded twice: so the bits that a float32 cannot hold are gathered into its
// last one, which no tie of a BF16 can have set.
func bf16(x float64) uint16 {
	f := float32(x)
	if math.IsNaN(x) {
		return uint16(math.Float32bits(f)>>16) | 0x40
	}
	if math.IsInf(float64(f), 0) {
		return uint16(math.Float32bits(f) >> 16) // beyond 2^128 - 2^103, which a BF16 rounds up as well
	}
	b := math.Float32bits(f)
	if float64(f) != x {
		if math.Abs(float64(f)) > math.Abs(x) {
			b-- // towards zero
		}
		b |= 1
	}
	b += 0x7fff + b>>16&1
	return uint16(b >> 16)
}
