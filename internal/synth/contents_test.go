package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"
)

// numbersOf decodes a tensor.
func numbersOf(e entry) []float64 {
	var out []float64
	for i := 0; i < len(e.data); i += int(widths[e.DType]) {
		var bits uint32
		if e.DType == "F32" {
			bits = binary.LittleEndian.Uint32(e.data[i:])
		} else {
			bits = uint32(binary.LittleEndian.Uint16(e.data[i:])) << 16
		}
		out = append(out, float64(math.Float32frombits(bits)))
	}
	return out
}

func moments(v []float64) (mean, sigma float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		sigma += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, math.Sqrt(sigma)
}

func TestContentsAreRealistic(t *testing.T) {
	dir, _ := makes(t, "kimi-k3", Options{Preset: "mini", Seed: 3})
	seen := map[kind]int{}
	for name, e := range parseDir(t, dir) {
		k := kindOf(name)
		seen[k]++
		switch k {
		case codes:
			checkCodes(t, name, e.data)
		case scales:
			checkScales(t, name, e.data)
		case decayLog:
			checkDecayLog(t, name, numbersOf(e))
		default:
			checkNumbers(t, name, k, numbersOf(e))
		}
	}
	for _, k := range []kind{weight, norm, decayLog, timeBias, routeBias, conv, codes, scales} {
		if seen[k] == 0 {
			t.Errorf("no tensor of kind %d", k)
		}
	}
}

func checkNumbers(t *testing.T, name string, k kind, v []float64) {
	t.Helper()
	mean, sigma := moments(v)
	want := map[kind][2]float64{weight: {0, 0.02}, norm: {1, 0.05}, timeBias: {-4.575, 1.34}, routeBias: {0, 0.1}, conv: {0, 0.3}}[k]
	n := math.Sqrt(float64(len(v)))
	if math.IsNaN(mean) || math.Abs(mean-want[0]) > 5*want[1]/n || math.Abs(sigma/want[1]-1) > 5/n {
		t.Errorf("%s: mean %g, σ %g of %d numbers", name, mean, sigma, len(v))
	}
}

// 24 live values of 32, as the release has 96 of 128.
func checkDecayLog(t *testing.T, name string, v []float64) {
	t.Helper()
	if len(v) != 32 {
		t.Errorf("%s: %d values", name, len(v))
	}
	for i, x := range v {
		if (i < 24) != (x > 0) || x > 2.78 || math.Signbit(x) {
			t.Errorf("%s: value %d is %g", name, i, x)
		}
	}
}

func checkCodes(t *testing.T, name string, data []byte) {
	t.Helper()
	var count [16]int
	for _, b := range data {
		count[b&15]++
		count[b>>4]++
	}
	for code, n := range count {
		if n == 0 {
			t.Errorf("%s: code %d never occurs", name, code)
		}
	}
}

func checkScales(t *testing.T, name string, data []byte) {
	t.Helper()
	for i, b := range data {
		if b < 110 || b > 123 {
			t.Fatalf("%s: scale %d is %d", name, i, b)
		}
	}
}

// The bytes for a seed are a promise: other tests name hashes of checkpoints
// that are made on other processors.
func TestContentsAreForEver(t *testing.T) {
	h := sha256.New()
	for _, name := range []string{"a.weight", "b.norm.weight", "c.weight_packed", "d.weight_scale", "e.A_log", "f.dt_bias"} {
		f := &family{text: name, bytes: 4096, live: 2000}
		h.Write(contents(tensor{family: f}, 42))
	}
	if got, want := hex.EncodeToString(h.Sum(nil)), "da02e22db272792bed8d08e879cfa60e4674d3ae3f66e4cd17af1fcd3e9516cc"; got != want {
		t.Errorf("got %s", got)
	}
}

// The embedded data has no field that nothing reads.
func TestLayoutsParse(t *testing.T) {
	for _, family := range Families() {
		l, err := layoutOf(family)
		if err != nil || l.Schema != "ckpt.layout/v1" || !strings.HasSuffix(l.Note, ".") {
			t.Errorf("%s: %+v %v", family, l, err)
		}
	}
}
