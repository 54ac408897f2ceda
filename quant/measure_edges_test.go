package quant

import (
	"encoding/binary"
	"math"
	"testing"

	"ckpt/dtype"
)

func measureOf(t *testing.T, x []float32, codes, scales []byte) *Measure {
	t.Helper()
	m, err := MeasureBlocks(MXFP4, DecodeOptions{}, dtype.F32, bytesOf(dtype.F32, x), codes, scales, 1, len(x), 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A tensor of which nothing is left is not perfect: there is no figure for it.
func TestMeasureDestroyed(t *testing.T) {
	x := row(64, 1, 2, 3)
	x[40] = 5
	m := measureOf(t, x, make([]byte, 32), []byte{255, 255})
	if m.NonFinite != 64 || m.SQNR() == m.SQNR() || m.Cosine() == m.Cosine() || m.MeanError() == m.MeanError() {
		t.Errorf("every scale NaN: %d lost, SQNR %v, cosine %v, mean error %v", m.NonFinite, m.SQNR(), m.Cosine(), m.MeanError())
	}
	// zeros survive beside what is lost: still nothing to compare
	x[40] = 0
	m = measureOf(t, x, make([]byte, 32), []byte{255, 0})
	if m.NonFinite != 32 || m.SQNR() == m.SQNR() || m.Cosine() == m.Cosine() || m.MeanError() != 0 {
		t.Errorf("the block of numbers NaN: %d lost, SQNR %v, cosine %v, mean error %v", m.NonFinite, m.SQNR(), m.Cosine(), m.MeanError())
	}
	// zeros alone are kept
	m = measureOf(t, make([]float32, 32), make([]byte, 16), []byte{0})
	if !math.IsInf(m.SQNR(), 1) || m.Cosine() != 1 || m.MeanError() != 0 {
		t.Errorf("zeros: SQNR %v, cosine %v, mean error %v", m.SQNR(), m.Cosine(), m.MeanError())
	}
}

// Sides that have nothing in common, of the largest and the least numbers.
func TestMeasureCosine(t *testing.T) {
	m := measureOf(t, row(32, 1, 2), make([]byte, 16), []byte{127})
	if m.Cosine() != 0 || m.SQNR() != 0 {
		t.Errorf("numbers that became zeros: cosine %v, SQNR %v", m.Cosine(), m.SQNR())
	}
	codes := make([]byte, 16)
	codes[0] = 0x02 // 1
	m = measureOf(t, make([]float32, 32), codes, []byte{127})
	if m.Cosine() != 0 || !math.IsInf(m.SQNR(), -1) {
		t.Errorf("zeros that became numbers: cosine %v, SQNR %v", m.Cosine(), m.SQNR())
	}
	for _, v := range []float64{1e200, 1e-200} { // beyond float32: the product of the sums leaves float64
		m := Measure{Elements: 1, XX: v, YY: v, XY: v}
		if c := m.Cosine(); math.Abs(c-1) > 1e-12 {
			t.Errorf("cosine of equal sums %g: %v", v, c)
		}
	}
}

// What is in no sum is in no mean either; infinity is beyond no code.
func TestMeasureLeavesNonFiniteOut(t *testing.T) {
	x := row(64, 1, inf32, -inf32, nan32)
	codes := make([]byte, 32)
	codes[0], codes[16] = 0x03, 0x01 // 1.5, and 0.5 for 0
	x[33] = 100
	m := measureOf(t, x, codes, []byte{127, 127})
	want := (0.5 + 0.5 + 100) / 61
	if m.NonFinite != 3 || math.Abs(m.MeanError()-want) > 1e-15 || m.Clipped != 1 {
		t.Errorf("%d lost, mean error %v, want %v; %d clipped", m.NonFinite, m.MeanError(), want, m.Clipped)
	}
	// the encoder's own count, beside infinity
	even, _ := SchemeNamed("even")
	e, err := NewEncoder(even, MXFP4, dtype.F32, EncodeOptions{NonFinite: Saturate})
	if err != nil {
		t.Fatal(err)
	}
	src := bytesOf(dtype.F32, row(32, 6.9, inf32))
	rep, err := e.Encode(make([]byte, 16), make([]byte, 1), src, 1, 32)
	if err != nil || rep.Clipped != 1 || rep.NonFinite != 1 {
		t.Errorf("6.9 and infinity: %+v, %v", rep, err)
	}
	binary.LittleEndian.PutUint32(src, math.Float32bits(6))
	if rep, _ := e.Encode(make([]byte, 16), make([]byte, 1), src, 1, 32); rep.Clipped != 0 {
		t.Errorf("6 and infinity: %+v", rep)
	}
}
