package quant

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ckpt/dtype"
)

// The larger side of a benchmark is far beyond the caches.
const benchBytes = 128 << 20

func benchNumbers(source dtype.Type) []byte {
	part := randomBits(rand.New(rand.NewPCG(6, 40)), source, 0, 1<<13)
	b := make([]byte, 0, benchBytes)
	for len(b) < benchBytes {
		b = append(b, part...)
	}
	return b[:benchBytes]
}

// ratio runs f and a copy in turns, over parts of n bytes that a scheduler leaves
// alone, and reports both and how f compares with the copy; of each the best counts.
func ratio(b *testing.B, n int, f func(at, end int)) {
	b.Helper()
	const part = 4 << 20
	src, dst := bytes.Repeat([]byte{1}, n), make([]byte, n) // pages of their own, not the one of zeros
	best, copied := time.Hour, time.Hour
	for b.Loop() {
		for at := 0; at < n; at += part {
			end := min(at+part, n)
			start := time.Now()
			f(at, end)
			best = min(best, time.Since(start))
			start = time.Now()
			for i := at; i < end; i += 1 << 20 {
				copy(dst[i:i+1<<20], src[i:i+1<<20])
			}
			copied = min(copied, time.Since(start))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(part)/best.Seconds()/1e9, "GB/s")
	b.ReportMetric(float64(part)/copied.Seconds()/1e9, "copy-GB/s")
	b.ReportMetric(copied.Seconds()/best.Seconds(), "of-copy")
}

func BenchmarkEncode(b *testing.B) {
	for _, source := range []dtype.Type{dtype.BF16, dtype.F32, dtype.F16} {
		src := benchNumbers(source)
		for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
			e, err := NewEncoder(DefaultScheme(f), f, source, EncodeOptions{})
			if err != nil {
				b.Fatal(err)
			}
			k := len(src) / e.size
			for _, name := range Implementations()[:len(Implementations())-1] {
				e, _ := e.With(name)
				codes, scales := make([]byte, f.CodeBytes(k)), make([]byte, f.ScaleBytes(k))
				b.Run(fmt.Sprintf("%s-%s/%s", source, f, name), func(b *testing.B) {
					ratio(b, len(src), func(at, end int) {
						i, j := at/e.size, end/e.size
						if _, err := e.Encode(codes[f.CodeBytes(i):f.CodeBytes(j)], scales[i/32:j/32], src[at:end], 1, j-i); err != nil {
							b.Fatal(err)
						}
					})
				})
			}
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	src := benchNumbers(dtype.BF16)
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
		codes, scales, _ := encoded(b, f, dtype.BF16, src, Refuse)
		for _, out := range []dtype.Type{dtype.BF16, dtype.F32} {
			d, err := NewDecoder(f, out, DecodeOptions{})
			if err != nil {
				b.Fatal(err)
			}
			n := len(scales) * 2 / d.size // as many bytes of either type
			k := n * 32
			dst := make([]byte, k*d.size)
			for _, name := range Implementations()[:len(Implementations())-1] {
				d, _ := d.With(name)
				b.Run(fmt.Sprintf("%s-%s/%s", f, out, name), func(b *testing.B) {
					ratio(b, len(dst), func(at, end int) {
						i, j := at/d.size, end/d.size
						if err := d.Decode(dst[at:end], codes[f.CodeBytes(i):f.CodeBytes(j)], scales[i/32:j/32], 1, j-i); err != nil {
							b.Fatal(err)
						}
					})
				})
			}
		}
	}
}

// BenchmarkWorkers reports how much faster two workers are than one.
func BenchmarkWorkers(b *testing.B) {
	src := benchNumbers(dtype.BF16)
	e, err := NewEncoder(DefaultScheme(MXFP4), MXFP4, dtype.BF16, EncodeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	k := len(src) / 2
	codes, scales := make([]byte, k/2), make([]byte, k/32)
	var best [3]time.Duration
	for b.Loop() {
		for _, workers := range []int{1, 2} {
			start := time.Now()
			if _, err := e.EncodeParallel(codes, scales, src, 1, k, workers); err != nil {
				b.Fatal(err)
			}
			if t := time.Since(start); best[workers] == 0 || t < best[workers] {
				best[workers] = t
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(src))/best[1].Seconds()/1e9, "GB/s")
	b.ReportMetric(best[1].Seconds()/best[2].Seconds(), "two/one")
}

// BenchmarkTranscode counts the bytes of the codes.
func BenchmarkTranscode(b *testing.B) {
	codes, scales := benchNumbers(dtype.BF16), make([]byte, benchBytes/16)
	blocks := make([]byte, len(codes)+len(scales))
	plain := func(at, end int) Packed { return Packed{codes[at:end], scales[at/16 : end/16]} }
	ggml := func(at, end int) Packed { return Packed{Codes: blocks[at/16*17 : end/16*17]} }
	for _, dir := range []struct {
		name     string
		to, from Layout
		dst, src func(at, end int) Packed
	}{
		{"to-GGML", LayoutGGML, LayoutPlain, ggml, plain},
		{"from-GGML", LayoutPlain, LayoutGGML, plain, ggml},
	} {
		b.Run(dir.name, func(b *testing.B) {
			ratio(b, len(codes), func(at, end int) {
				if err := Transcode(MXFP4, dir.to, dir.dst(at, end), dir.from, dir.src(at, end), 1, 2*(end-at)); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkMeasure(b *testing.B) {
	src := benchNumbers(dtype.BF16)
	codes, scales, _ := encoded(b, MXFP4, dtype.BF16, src, Refuse)
	ratio(b, len(src), func(at, end int) {
		if _, err := MeasureBlocks(MXFP4, DecodeOptions{}, dtype.BF16, src[at:end], codes[at/4:end/4], scales[at/64:end/64], 1, (end-at)/2, 1); err != nil {
			b.Fatal(err)
		}
	})
}
