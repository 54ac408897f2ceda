package safetensors

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
)

// expertHeader is a header like that of one Kimi K3 layer: 896 experts of six
// tensors, 75 bytes a name.
func expertHeader() []byte {
	var b bytes.Buffer
	at, sep := 0, "{"
	for e := range 896 {
		for _, w := range []struct {
			name string
			rows int
			cols int
		}{{"w1.weight_packed", 3072, 1792}, {"w1.weight_scale", 3072, 112}, {"w2.weight_packed", 3584, 1536},
			{"w2.weight_scale", 3584, 96}, {"w3.weight_packed", 3072, 1792}, {"w3.weight_scale", 3072, 112}} {
			size := w.rows * w.cols
			fmt.Fprintf(&b, `%s"language_model.model.layers.42.block_sparse_moe.experts.%d.%s":{"dtype":"U8","shape":[%d,%d],"data_offsets":[%d,%d]}`,
				sep, e, w.name, w.rows, w.cols, at, at+size)
			at, sep = at+size, ","
		}
	}
	b.WriteByte('}')
	return withHeader(b.String(), 0)
}

// BenchmarkScan is the whole validation of one header. The sub-benchmark
// without the digest is the scanner proper.
func BenchmarkScan(b *testing.B) {
	raw := expertHeader()
	size := int64(len(raw)) + 896*17_547_264
	b.SetBytes(int64(len(raw)))
	var s Scanner
	for b.Loop() {
		h, err := s.Scan(bytes.NewReader(raw), size, nil)
		if err != nil || h.Err() != nil || h.Tensors != 896*6 {
			b.Fatal(err, h.Err(), h.Tensors)
		}
	}
}

// BenchmarkDigest is the part of BenchmarkScan that is SHA-256.
func BenchmarkDigest(b *testing.B) {
	raw := expertHeader()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		sha256.Sum256(raw)
	}
}
