package quant

import (
	"math"
	"math/big"
)

// exactNarrow rounds x, not zero, to an IEEE number of sixteen bits, ties to
// even, by rational arithmetic: the oracle of narrow.
func exactNarrow(x *big.Float, expBits, mant int) uint16 {
	sign := uint16(0)
	if x.Signbit() {
		sign = 0x8000
	}
	bias := 1<<(expBits-1) - 1
	a := new(big.Float).Abs(x)
	exp := a.MantExp(nil) - 1 // a = m * 2^exp, 1 <= m < 2
	at := max(exp, 1-bias)
	// a in units of the last place
	unit := new(big.Float).SetPrec(300).SetMantExp(a, mant-at)
	n, _ := unit.Int(nil) // toward zero
	rest := new(big.Float).SetPrec(300).Sub(unit, new(big.Float).SetPrec(300).SetInt(n))
	switch c := rest.Cmp(big.NewFloat(0.5)); {
	case c > 0, c == 0 && n.Bit(0) == 1:
		n.Add(n, big.NewInt(1))
	}
	bits := int64(at+bias-1)<<mant + n.Int64()
	return sign | uint16(min(bits, int64(1<<expBits-1)<<mant))
}

// exactCode rounds num / 2^exp to the codes of an element by comparing with the
// middle between every two neighbours, in integers: the oracle of round. num is
// an integer of 2^-149.
func exactCode(e Element, num *big.Int, exp int, tie Tie) uint8 {
	s := e.spec()
	for c := range s.top {
		// middle = (v(c) + v(c+1)) / 2, an integer in units of 2^-20
		middle := int64(math.Ldexp(s.value(c)+s.value(c+1), 19))
		// num * 2^-149 / 2^exp ? middle * 2^-20
		left, right := new(big.Int).Set(num), big.NewInt(middle)
		if shift := -149 - exp + 20; shift >= 0 {
			left.Lsh(left, uint(shift))
		} else {
			right.Lsh(right, uint(-shift))
		}
		switch left.Cmp(right) {
		case -1:
			return c
		case 0:
			if tie == TieZero || tie == TieEven && c&1 == 0 {
				return c
			}
		}
	}
	return s.top
}
