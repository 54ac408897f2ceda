package quant

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"ckpt/dtype"
)

// gaussian is n blocks of weights as bf16.
func gaussian(n int) []byte {
	rng := rand.New(rand.NewPCG(6, 10))
	x := make([]float32, 32*n)
	for i := range x {
		x[i] = fromBF16(toBF16(float32(rng.NormFloat64() * 0.02)))
	}
	return bytesOf(dtype.BF16, x)
}

// again encodes, decodes and encodes again; it counts the blocks whose bytes and
// whose values change.
func again(t *testing.T, scheme string, f Format, src []byte) (bytesChange, valuesChange int) {
	t.Helper()
	s, ok := SchemeNamed(scheme)
	if !ok {
		t.Fatalf("no scheme %s", scheme)
	}
	e, err := NewEncoder(s, f, dtype.BF16, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(f, dtype.BF16, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := len(src) / 64
	size := f.CodeBytes(32)
	c1, s1, c2, s2 := make([]byte, n*size), make([]byte, n), make([]byte, n*size), make([]byte, n)
	v1, v2 := make([]byte, len(src)), make([]byte, len(src))
	for _, err := range []error{
		encode(e, c1, s1, src, n), d.Decode(v1, c1, s1, n, 32), encode(e, c2, s2, v1, n), d.Decode(v2, c2, s2, n, 32),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if s1[i] != s2[i] || !bytes.Equal(c1[i*size:(i+1)*size], c2[i*size:(i+1)*size]) {
			bytesChange++
		}
		var a, b [32]float32
		load(a[:], dtype.BF16, v1[i*64:])
		load(b[:], dtype.BF16, v2[i*64:])
		if a != b { // -0 and 0 are one value
			valuesChange++
		}
	}
	return bytesChange, valuesChange
}

func encode(e *Encoder, codes, scales, src []byte, n int) error {
	_, err := e.Encode(codes, scales, src, n, 32)
	return err
}

// Encode after decode is the identity for floor and even; rceil and ceil change
// bytes but no value; nearest changes values, so what is quantized is
// transcoded and never quantized again.
func TestQuantizingAgain(t *testing.T) {
	src := gaussian(8192)
	for _, name := range []string{"floor", "even", "quark", "ggml", "torchao-floor", "torchao-even"} {
		if b, v := again(t, name, MXFP4, src); b != 0 || v != 0 {
			t.Errorf("%s: %d blocks change bytes, %d values; want none", name, b, v)
		}
	}
	// compressed-tensors writes -0 for a negative number that rounds to zero and
	// reads -0 as +0: bytes change, values do not.
	for _, name := range []string{"compressed-tensors", "rceil", "ceil", "torchao-rceil", "torchao-ceil"} {
		if b, v := again(t, name, MXFP4, src); b == 0 || v != 0 {
			t.Errorf("%s: %d blocks change bytes, %d values; want some and none", name, b, v)
		}
	}
	for _, name := range []string{"nearest", "kimi-linear-v2"} {
		_, v := again(t, name, MXFP4, src)
		if share := float64(v) / 8192; math.Abs(share-0.19) > 0.02 {
			t.Errorf("%s: values change in %.1f %% of the blocks, 19 %% are known", name, 100*share)
		}
	}
	for _, f := range []Format{MXFP8E4M3, MXFP8E5M2, MXFP6E2M3, MXFP6E3M2, MXINT8} {
		for _, name := range []string{"floor", "even"} {
			if b, v := again(t, name, f, src); b != 0 || v != 0 {
				t.Errorf("%s %s: %d blocks change bytes, %d values; want none", name, f, b, v)
			}
		}
	}
}

// The best of all scales is floor's or the one above it, and mse takes it. Not
// so in MXINT8, whose grid is uniform: there the one below can be better.
func TestMSETakesTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 11))
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP6E2M3, MXFP6E3M2} {
		r := &Recipe{Format: f, Rule: MSE}
		var b block
		b.x, b.codes, b.source = b.numbers[:], b.room[:], dtype.F32
		for range 20000 {
			for i := range b.x {
				x := rng.NormFloat64()
				b.x[i] = float32(math.Ldexp(x/math.Sqrt(math.Abs(rng.NormFloat64())+0.1), -6))
			}
			amax := b.finiteMax()
			low := r.fromBits(amax)
			best, least := low.exp, math.Inf(1)
			for exp := low.exp + 4; exp >= low.exp-3; exp-- {
				if e := r.squaredError(&b, exp); e <= least {
					best, least = exp, e
				}
			}
			if got := r.scaleOf(&b, amax); got.exp != best && r.squaredError(&b, got.exp) != least {
				t.Fatalf("%s: takes 2^%d, 2^%d is better (floor 2^%d) for %v", f, got.exp, best, low.exp, b.x)
			}
		}
	}
}
