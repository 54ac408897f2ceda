package kernel

import "math"

func errorSums(s *Sums, x, y []float32) {
	for i, v := range x {
		a, b := float64(v), float64(y[i])
		e := a - b
		l := i & 3
		// explicit conversions: no product is fused with its sum
		s.XX[l] += float64(a * a)
		s.YY[l] += float64(b * b)
		s.XY[l] += float64(a * b)
		s.EE[l] += float64(e * e)
		s.AbsE[l] += math.Abs(e)
		if m := math.Abs(e); m > s.MaxE[l] {
			s.MaxE[l] = m
		}
	}
}

func beyond(limits []uint32, x []float32) (above, zeros int) {
	if len(limits) == 0 {
		return 0, 0
	}
	block := len(x) / len(limits)
	for i, limit := range limits {
		var all uint32
		for _, v := range x[i*block:][:block] {
			m := math.Float32bits(v) &^ (1 << 31)
			all |= m
			above += int((int64(limit) - int64(m)) >> 63 & 1)
		}
		if all == 0 {
			zeros++
		}
	}
	return above, zeros
}
