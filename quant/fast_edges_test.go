package quant

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"ckpt/dtype"
)

// Zeros of both signs in every mixture, under every policy of signs, and what is
// nearly zero, by kernel and reference.
func TestZeroBlocksOfEitherSign(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 60))
	eachKernel(t, func(t *testing.T, e, reference *Encoder) {
		src := make([]byte, 70*32*e.size)
		for b := range 70 {
			for i := range 32 {
				at := (b*32 + i + 1) * e.size
				switch {
				case b%4 == 0 || b%4 > 1 && rng.IntN(2) == 0:
					src[at-1] = 0x80
				case b%7 == 3 && rng.IntN(20) == 0:
					src[at-e.size] = 1 // the least number
				}
			}
		}
		compare(t, e, reference, src)
	})
}

// Kernels get a MiB of bf16 a call at most, and then all of the rest.
func TestPiecesAreAMebibyte(t *testing.T) {
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
		set, most, blocks := *implementations()[0], 0, 0
		seen := func(n int) {
			most, blocks = max(most, n*64), blocks+n
		}
		for _, run := range []*encodes{&set.EncodeE2M1, &set.EncodeE4M3, &set.EncodeE5M2} {
			inner := *run
			*run = func(codes, scales, src []byte, r *rule) counts {
				seen(len(scales))
				return inner(codes, scales, src, r)
			}
		}
		for _, run := range []*func(dst, codes, scales []byte) int{&set.DecodeE2M1, &set.DecodeE4M3, &set.DecodeE5M2} {
			inner := *run
			*run = func(dst, codes, scales []byte) int {
				seen(len(scales))
				return inner(dst, codes, scales)
			}
		}
		const n = 3<<14 + 5
		for _, source := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
			e, err := NewEncoder(DefaultScheme(f), f, source, EncodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			e.use(&set)
			src := make([]byte, n*32*e.size)
			for i := e.size - 1; i < len(src); i += e.size {
				src[i] = 0x3F
			}
			codes, scales := make([]byte, f.CodeBytes(32*n)), make([]byte, n)
			most, blocks = 0, 0
			if _, err := e.Encode(codes, scales, src, n, 32); err != nil || most == 0 || most > 1<<20 || blocks != n {
				t.Errorf("%s of %s: a call of %d bytes, %d of %d blocks, %v", f, source, most, blocks, n, err)
			}
			d, err := NewDecoder(f, source, DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if d.use(&set); d.fast == nil {
				continue
			}
			most, blocks = 0, 0
			if err := d.Decode(src, codes, scales, n, 32); err != nil || most == 0 || most > 1<<20 || blocks != n {
				t.Errorf("%s to %s: a call of %d bytes, %d of %d blocks, %v", f, source, most, blocks, n, err)
			}
		}
	}
}

// Blocks that kernels leave, against the reference: no reason to be a hundred
// times slower than others.
func BenchmarkEdges(b *testing.B) {
	const blocks = 1 << 15
	src, codes, scales := make([]byte, blocks*64), make([]byte, blocks*16), make([]byte, blocks)
	minus := bytes.Repeat([]byte{0, 0x80}, len(src)/2)
	for _, name := range []string{"even", "modelopt", "mlx", "torchao-floor", "compressed-tensors"} {
		s, _ := SchemeNamed(name)
		e, err := NewEncoder(s, MXFP4, dtype.BF16, EncodeOptions{})
		if err != nil {
			b.Fatal(err)
		}
		d, err := NewDecoder(MXFP4, dtype.BF16, DecodeOptions{})
		if err != nil {
			b.Fatal(err)
		}
		reference, _ := e.With(Reference)
		slow, _ := d.With(Reference)
		best := func(run func()) time.Duration {
			least := time.Hour
			for range 5 {
				begin := time.Now()
				run()
				least = min(least, time.Since(begin))
			}
			return least
		}
		encode := func(e *Encoder, n int) func() {
			return func() {
				if _, err := e.Encode(codes[:n*16], scales[:n], minus[:n*64], n, 32); err != nil {
					b.Fatal(err)
				}
			}
		}
		decode := func(d *Decoder, n int) func() {
			return func() {
				if err := d.Decode(src[:n*64], codes[:n*16], scales[:n], n, 32); err != nil {
					b.Fatal(err)
				}
			}
		}
		least, slowest := best(encode(e, blocks)), best(encode(reference, blocks/32))*32
		for i := range codes {
			codes[i] |= byte(i) & 0x99
		}
		clear(scales)
		x, y := best(decode(d, blocks)), best(decode(slow, blocks/32))*32
		rate := func(d time.Duration) float64 { return float64(len(src)) / d.Seconds() / 1e9 }
		b.Logf("%s: -0 encoded at %.2f GB/s, reference %.3f; byte 0 decoded at %.2f, reference %.3f", name, rate(least), rate(slowest), rate(x), rate(y))
	}
}

// The table has what the reference gives.
func TestEdgeTables(t *testing.T) {
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
		for _, out := range []dtype.Type{dtype.BF16, dtype.F32} {
			d, err := NewDecoder(f, out, DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			table := edgesOf(f, out).table()
			size := f.CodeBytes(32)
			codes := make([]byte, 256*size)
			for i := range codes {
				codes[i] = byte(i)
			}
			scales, want, got := make([]byte, 256), make([]byte, 256*32*d.size), make([]byte, 256*32*d.size)
			for s := range 256 {
				for i := range scales {
					scales[i] = byte(s)
				}
				d.reference(want, codes, scales, 256)
				edgesOf(f, out).decode(got, codes, scales)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s to %s: scale %d differs", f, out, s)
				}
			}
			if f == MXFP4 && out == dtype.F32 && table[1] != 1<<21 || binary.Size(table) != 4*256<<f.Element().Bits() {
				t.Errorf("%s to %s: half of 2^-127 is %#x", f, out, table[1])
			}
		}
	}
}
