package ui

import (
	"fmt"
	"math/big"
	"strings"
)

// maxDigits is the longest number read; 2^63 has 19 digits, and a fraction of
// a tebibyte is exact with 40 more.
const maxDigits = 64

// ParseSize reads a byte count: 5000000000, 5GB, 4.66GiB, 288 GB, 16Gi. kB,
// MB, GB, TB and PB, and k, M, G, T, P alone, are powers of ten; KiB, MiB,
// GiB, TiB, PiB and Ki, Mi, Gi, Ti, Pi are powers of two; case does not
// matter. A fraction is rounded down to whole bytes. Negative numbers, numbers
// beyond 2^63−1, NaN, infinities and exponents are refused.
func ParseSize(s string) (int64, error) {
	number, unit := cutNumber(s)
	factor, ok := sizeUnit(unit)
	if !ok {
		return 0, fmt.Errorf("size %q: %s; sizes read like 5GB or 4.5GiB", s, unitProblem(unit))
	}
	v, err := parseDecimal(number)
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	if factor == 1 && !v.IsInt() {
		return 0, fmt.Errorf("size %q: bytes come whole", s)
	}
	v.Mul(v, new(big.Rat).SetInt64(factor))
	n := new(big.Int).Quo(v.Num(), v.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("size %q: too large", s)
	}
	return n.Int64(), nil
}

// ParseTokens reads a count of tokens as vLLM reads it: 131072, 128k = 128,000
// and 128K = 131,072, likewise m, M, g, G. The result must be whole, from 0 to
// 2^63−1.
func ParseTokens(s string) (int64, error) {
	number, unit := cutNumber(s)
	factors := map[string]int64{
		"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30,
	}
	factor, ok := factors[unit]
	if !ok {
		return 0, fmt.Errorf("count %q: %s; counts read like 131072, 128k (128,000) or 128K (131,072)", s, unitProblem(unit))
	}
	v, err := parseDecimal(number)
	if err != nil {
		return 0, fmt.Errorf("count %q: %w", s, err)
	}
	v.Mul(v, new(big.Rat).SetInt64(factor))
	if !v.IsInt() {
		return 0, fmt.Errorf("count %q: not a whole number", s)
	}
	if !v.Num().IsInt64() {
		return 0, fmt.Errorf("count %q: too large", s)
	}
	return v.Num().Int64(), nil
}

// cutNumber parts "4.5 GiB" into "4.5" and "GiB".
func cutNumber(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func unitProblem(unit string) string {
	switch {
	case strings.HasPrefix(unit, "-"):
		return "negative"
	case strings.HasPrefix(unit, ","):
		return "no separators, please"
	default:
		return fmt.Sprintf("unknown unit %q", unit)
	}
}

// sizeUnit gives the bytes of a unit.
func sizeUnit(unit string) (int64, bool) {
	u := strings.ToLower(unit)
	switch u {
	case "", "b", "byte", "bytes":
		return 1, true
	}
	power := strings.IndexByte("kmgtp", u[0])
	if power < 0 {
		return 0, false
	}
	var base int64
	switch u[1:] {
	case "", "b":
		base = 1000
	case "i", "ib":
		base = 1024
	default:
		return 0, false
	}
	n := base
	for range power {
		n *= base
	}
	return n, true
}

// parseDecimal reads digits with at most one point among them.
func parseDecimal(s string) (*big.Rat, error) {
	switch {
	case s == "" || s == ".":
		return nil, fmt.Errorf("no number")
	case len(s) > maxDigits:
		return nil, fmt.Errorf("too many digits")
	case strings.Count(s, ".") > 1:
		return nil, fmt.Errorf("not a number")
	}
	v, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, fmt.Errorf("not a number")
	}
	return v, nil
}
