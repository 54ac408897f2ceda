package quant

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"ckpt/dtype"
)

// encoded gives numbers of one kind and their codes and scales.
func encoded(t testing.TB, f Format, source dtype.Type, src []byte, policy NonFinite) (codes, scales []byte, k int) {
	t.Helper()
	e, err := NewEncoder(DefaultScheme(f), f, source, EncodeOptions{NonFinite: policy, TensorScale: 1})
	if err != nil {
		t.Fatal(err)
	}
	k = len(src) / e.size
	codes, scales = make([]byte, f.CodeBytes(k)), make([]byte, f.ScaleBytes(k))
	if _, err := e.Encode(codes, scales, src, 1, k); err != nil {
		t.Fatal(err)
	}
	return codes, scales, k
}

// The measure is the plain sums, whatever the number of workers.
func TestMeasure(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 30))
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP6E2M3, MXINT8} {
		for _, source := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
			for _, kind := range []int{0, 3, 6, 7} {
				src := randomBits(rng, source, kind, 20000*(1-kind%2)+77)
				codes, scales, k := encoded(t, f, source, src, NaNBlock)
				m, err := MeasureBlocks(f, DecodeOptions{}, source, src, codes, scales, 1, k, 1)
				if err != nil {
					t.Fatal(err)
				}
				for _, workers := range []int{2, 3, 16} {
					if n, _ := MeasureBlocks(f, DecodeOptions{}, source, src, codes, scales, 1, k, workers); *n != *m {
						t.Fatalf("%s of %s: %d workers measure another: %+v, want %+v", f, source, workers, n, m)
					}
				}
				checkMeasure(t, m, f, source, src, codes, scales, k)
			}
		}
	}
}

func checkMeasure(t *testing.T, m *Measure, f Format, source dtype.Type, src, codes, scales []byte, k int) {
	t.Helper()
	x := make([]float32, k)
	load(x, source, src)
	d, err := NewDecoder(f, dtype.F32, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	y := make([]byte, 4*k)
	if err := d.Decode(y, codes, scales, 1, k); err != nil {
		t.Fatal(err)
	}
	var want Measure
	want.Elements, want.Blocks = int64(k), int64(len(scales))
	for b := range scales {
		want.Scales[scales[b]]++
		zero := true
		for i := b * 32; i < b*32+32; i++ {
			v, w := float64(x[i]), float64(math.Float32frombits(binary.LittleEndian.Uint32(y[4*i:])))
			zero = zero && v == 0
			if limit := float64(f.Element().Max()) * float64(E8M0(scales[b])); math.Abs(v) > limit && math.Abs(v) <= math.MaxFloat32 {
				want.Clipped++
			}
			if v-v != 0 || w-w != 0 {
				want.NonFinite++
				continue
			}
			e := v - w
			want.XX, want.YY, want.XY = want.XX+v*v, want.YY+w*w, want.XY+v*w
			want.EE, want.AbsE, want.MaxE = want.EE+e*e, want.AbsE+math.Abs(e), max(want.MaxE, math.Abs(e))
		}
		if zero {
			want.ZeroBlocks++
		}
	}
	for _, pair := range [][2]float64{{m.XX, want.XX}, {m.YY, want.YY}, {m.XY, want.XY}, {m.EE, want.EE}, {m.AbsE, want.AbsE}} {
		if math.Abs(pair[0]-pair[1]) > 1e-9*math.Abs(pair[1]) {
			t.Errorf("%s of %s: sum %g, want %g", f, source, pair[0], pair[1])
		}
	}
	got := *m
	got.XX, got.YY, got.XY, got.EE, got.AbsE = want.XX, want.YY, want.XY, want.EE, want.AbsE
	if got != want {
		t.Errorf("%s of %s: %+v, want %+v", f, source, got, want)
	}
}

// The sums are, bit for bit, those of float64 in the order that is documented:
// four lanes over each chunk, the chunks in order.
func TestMeasureBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 32))
	for _, f := range []Format{MXFP4, MXFP8E5M2} {
		src := randomBits(rng, dtype.F32, 0, 3*measurePiece*chunkElements/32+1234)
		for i := range 100 { // some that leave the sums
			binary.LittleEndian.PutUint32(src[4*(i*9973%(len(src)/4)):], 0x7F800000|rng.Uint32())
		}
		codes, scales, k := encoded(t, f, dtype.F32, src, NaNBlock)
		m, err := MeasureBlocks(f, DecodeOptions{}, dtype.F32, src, codes, scales, 1, k, 3)
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewDecoder(f, dtype.F32, DecodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		y := make([]byte, 4*k)
		if err := d.Decode(y, codes, scales, 1, k); err != nil {
			t.Fatal(err)
		}
		var total, piece [5]float64
		for at := 0; at < k; at += chunkElements {
			var lanes [5][4]float64
			for i := at; i < min(at+chunkElements, k); i++ {
				a, b := float64(math.Float32frombits(dword(src, 4*i))), float64(math.Float32frombits(dword(y, 4*i)))
				if a-a != 0 || b-b != 0 {
					a, b = 0, 0
				}
				e := a - b
				for j, v := range [5]float64{a * a, b * b, a * b, e * e, math.Abs(e)} {
					lanes[j][i%4] += v
				}
			}
			for j, l := range lanes {
				piece[j] += (l[0] + l[1]) + (l[2] + l[3])
			}
			if end := at + chunkElements; end >= k || end%(measurePiece*chunkElements) == 0 {
				for j := range total {
					total[j] += piece[j]
				}
				piece = [5]float64{}
			}
		}
		if got := [5]float64{m.XX, m.YY, m.XY, m.EE, m.AbsE}; got != total {
			t.Errorf("%s: sums %x, want %x", f, got, total)
		}
	}
}

func TestMeasureNothing(t *testing.T) {
	var m Measure
	if !math.IsInf(m.SQNR(), 1) || m.Cosine() != 1 || m.MeanError() != 0 || m.ClippedShare() != 0 {
		t.Error(m.SQNR(), m.Cosine(), m.MeanError(), m.ClippedShare())
	}
	if _, err := MeasureBlocks(MXFP4, DecodeOptions{}, dtype.BF16, make([]byte, 63), nil, nil, 1, 32, 1); err == nil {
		t.Error("a source that is too short is measured")
	}
}

func TestEncodeParallel(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 31))
	src := randomBits(rng, dtype.BF16, 0, 3*pieceBlocks+5)
	e, err := NewEncoder(DefaultScheme(MXFP4), MXFP4, dtype.BF16, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k := len(src) / 2
	codes, scales := make([]byte, k/2), make([]byte, k/32)
	want, err := e.Encode(codes, scales, src, 1, k)
	if err != nil {
		t.Fatal(err)
	}
	for workers := range 5 {
		c, s := make([]byte, k/2), make([]byte, k/32)
		got, err := e.EncodeParallel(c, s, src, 1, k, workers)
		if err != nil || got != want || string(c) != string(codes) || string(s) != string(scales) {
			t.Fatalf("%d workers: %+v, %v, want %+v", workers, got, err, want)
		}
	}
	bad := 2*pieceBlocks*32 + 77
	binary.LittleEndian.PutUint16(src[2*bad:], 0x7FC0)
	_, err = e.EncodeParallel(codes, scales, src, 1, k, runtime.NumCPU())
	if nf := (*NonFiniteError)(nil); !errors.As(err, &nf) || nf.Index != int64(bad) {
		t.Errorf("error %v, want one of index %d", err, bad)
	}
}
