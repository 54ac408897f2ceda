package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchBytes is the size of the larger side of a benchmark: far beyond the
// caches, worked through in pieces of a MiB.
const (
	benchBytes = 128 << 20
	piece      = 1 << 20
)

func benchSource() []byte {
	rng := rand.New(rand.NewPCG(6, 7))
	b := random(rng, 0, piece/64)
	all := make([]byte, 0, benchBytes)
	for len(all) < benchBytes {
		all = append(all, b...)
	}
	return all
}

// BenchmarkCopy is what the others are compared with.
func BenchmarkCopy(b *testing.B) {
	src, dst := benchSource(), make([]byte, benchBytes)
	b.SetBytes(benchBytes)
	for b.Loop() {
		for at := 0; at < len(src); at += piece {
			copy(dst[at:at+piece], src[at:at+piece])
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	src := benchSource()
	n := len(src) / 64
	rule := Rule{Add: 32, Sub: 2, Lo: 3, Hi: 245, TieOdd: 1, CodeDrop: 0xFFFF}
	for _, s := range Sets() {
		for _, c := range cases {
			b.Run(fmt.Sprintf("%s/BF16-%s", s.Name, c.name), func(b *testing.B) {
				r := rule
				r.Sub = c.k
				codes, scales, encode := make([]byte, n*c.code), make([]byte, n), c.encode(s)
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					for at := 0; at < n; at += piece / 64 {
						encode(codes[at*c.code:], scales[at:at+piece/64], src[at*64:], r.Seal())
					}
				}
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	src := benchSource()
	n := len(src) / 64
	rule := Rule{Add: 32, Sub: 2, Lo: 3, Hi: 245, TieOdd: 1, CodeDrop: 0xFFFF}
	for _, s := range Sets() {
		for _, c := range cases {
			b.Run(fmt.Sprintf("%s/%s-BF16", s.Name, c.name), func(b *testing.B) {
				r := rule
				r.Sub = c.k
				codes, scales := make([]byte, n*c.code), make([]byte, n)
				c.encode(s)(codes, scales, src, r.Seal())
				dst, decode := make([]byte, len(src)), c.decode(s)
				b.SetBytes(int64(len(dst)))
				for b.Loop() {
					for at := 0; at < n; at += piece / 64 {
						if decode(dst[at*64:], codes[at*c.code:], scales[at:at+piece/64]) != piece/64 {
							b.Fatal("not all were decoded")
						}
					}
				}
			})
		}
	}
}
