package quant

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"

	"ckpt/dtype"
)

// Both conventions decode the tensors of the vectors to the same numbers, near
// to what was encoded.
func TestNVFP4Decode(t *testing.T) {
	v, err := readVectors()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range v.NVFP4 {
		x, err := numbers(one.Input)
		if err != nil {
			t.Fatal(err)
		}
		multiplier := decodeNV(t, one.ModelOpt, Multiplier, len(x))
		divisor := decodeNV(t, tensorNV(one.CompressedTensors), Divisor, len(x))
		for i, want := range x {
			block := x[i/16*16 : i/16*16+16]
			var amax float32
			for _, y := range block {
				amax = max(amax, abs(y))
			}
			for name, got := range map[string]float32{"multiplier": multiplier[i], "divisor": divisor[i]} {
				// half of the widest gap (4 to 6), and the rounding of the scale
				if d := abs(got - want); float64(d) > float64(amax)*(1.0/6+1.0/16) {
					t.Errorf("%s, %s: element %d was %v, is %v", one.Name, name, i, want, got)
				}
			}
			if d := abs(multiplier[i] - divisor[i]); d > abs(want)*1e-6 {
				t.Errorf("%s: element %d is %v and %v", one.Name, i, multiplier[i], divisor[i])
			}
		}
	}
}

func decodeNV(t *testing.T, p tensorNV, c Convention, n int) []float32 {
	t.Helper()
	scales, _ := hex.DecodeString(p.Scale)
	codes, _ := hex.DecodeString(p.Weight)
	tensor, err := numbers([]string{p.Tensor})
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(NVFP4, dtype.F32, DecodeOptions{TensorScale: tensor[0], Convention: c})
	if err != nil {
		t.Fatal(err)
	}
	dst, x := make([]byte, 4*n), make([]float32, n)
	if err := d.Decode(dst, codes, scales, 1, n); err != nil {
		t.Fatal(err)
	}
	load(x, dtype.F32, dst)
	return x
}

// Whatever the range, no element is further from its number than half a gap of
// its block's grid, unless the scale itself was clamped; no scale is NaN.
func TestNVFP4EncodesToTheNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 30))
	for _, name := range []string{"modelopt", "compressed-tensors"} {
		s, _ := SchemeNamed(name)
		r, _ := s.Recipe(NVFP4)
		for range 300 {
			x := make([]float32, 256)
			var amax float32
			for i := range x {
				x[i] = float32(rng.NormFloat64() * math.Exp2(float64(i/16)-float64(rng.IntN(20))))
				amax = max(amax, abs(x[i]))
			}
			tensor := NVFP4TensorScale(amax, r.convention(), dtype.F32)
			codes, scales, err := encodeOnce(s, NVFP4, dtype.F32, x, EncodeOptions{TensorScale: tensor})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range x {
				scale := scales[i/16]
				if scale > 0x7E {
					t.Fatalf("%s: scale %#x", name, scale)
				}
				unit := unitNVFP4(scale, tensor, r.convention())
				code := codes[i/2] >> (i % 2 * 4) & 15
				near := E2M1.Encode(want / unit)
				if code != near && (code|near)&7 != 0 {
					t.Fatalf("%s: %v with scale %#x is code %d, want %d", name, want, scale, code, near)
				}
			}
		}
	}
}

// A block too small for a scale: ModelOpt clamps it to the least, 2^-9,
// compressed-tensors takes 0.125; zeros have their own.
func TestNVFP4VanishingScales(t *testing.T) {
	x := make([]float32, 48)
	x[0], x[16] = 2688, 1e-4 // tensor scale 1, so the second block's is 2^-15.9
	for name, want := range map[string][3]byte{"modelopt": {0x7E, 0x01, 0x38}, "compressed-tensors": {0x7E, 0x20, 0x20}} {
		s, _ := SchemeNamed(name)
		codes, scales, err := encodeOnce(s, NVFP4, dtype.F32, x, EncodeOptions{TensorScale: 1})
		if err != nil || [3]byte(scales) != want {
			t.Errorf("%s: scales %x, want %x, %v", name, scales, want, err)
		}
		if codes[0] != 7 || codes[8] != 0 || codes[16] != 0 {
			t.Errorf("%s: codes %x", name, codes)
		}
	}
}

// compressed-tensors divides in the type of the tensor, ModelOpt in float32.
func TestNVFP4TensorScaleTypes(t *testing.T) {
	for _, c := range []struct {
		convention Convention
		source     dtype.Type
		want       float32
	}{
		{Divisor, dtype.F32, 537.6}, {Divisor, dtype.BF16, 536}, {Multiplier, dtype.F32, 5.0 / 2688}, {Multiplier, dtype.BF16, 5.0 / 2688},
	} {
		if got := NVFP4TensorScale(5, c.convention, c.source); got != c.want {
			t.Errorf("convention %d, %s: %v, want %v", c.convention, c.source, got, c.want)
		}
	}
}

// compressed-tensors rounds maximum / 6 to the type of the input; float32 keeps
// it, and the difference reaches the scale.
func TestNVFP4RoundsInTheInputsType(t *testing.T) {
	s, _ := SchemeNamed("compressed-tensors")
	differ := 0
	for m := uint16(0x3F80); m < 0x4080; m++ {
		amax := fromBF16(m)
		const divisor = 77.3
		var scales [2]byte
		for i, source := range []dtype.Type{dtype.BF16, dtype.F32} {
			_, got, err := encodeOnce(s, NVFP4, source, row(16, amax), EncodeOptions{TensorScale: divisor})
			if err != nil {
				t.Fatal(err)
			}
			scales[i] = got[0]
		}
		rounded := fromBF16(toBF16(amax / 6))
		if want := [2]byte{E4M3.Encode(divisor * rounded), E4M3.Encode(divisor * (amax / 6))}; scales != want {
			t.Errorf("maximum %v: scales %x, want %x", amax, scales, want)
		}
		if scales[0] != scales[1] {
			differ++
		}
	}
	if differ == 0 {
		t.Error("the type of the input makes no difference")
	}
}

// A unit that vanishes in float32 leaves zeros zeros.
func TestNVFP4VanishingUnit(t *testing.T) {
	s, _ := SchemeNamed("modelopt")
	least := math.Float32frombits(1)
	e, err := NewEncoder(s, NVFP4, dtype.F32, EncodeOptions{TensorScale: least})
	if err != nil {
		t.Fatal(err)
	}
	codes, scales := make([]byte, 8), make([]byte, 1)
	rep, err := e.Encode(codes, scales, bytesOf(dtype.F32, row(16, least)), 1, 16)
	if err != nil || unitNVFP4(scales[0], least, Multiplier) != 0 || codes[0] != 7 || rep.Clipped != 1 {
		t.Errorf("scale %#x codes %x, %+v, %v", scales[0], codes, rep, err)
	}
	for i, c := range codes[1:] {
		if c != 0 {
			t.Errorf("zeros %d are %#x", i+1, c)
		}
	}
}

// The NaN of a scale in E4M3 is 0x7F.
func TestNVFP4NaNBlock(t *testing.T) {
	s, _ := SchemeNamed("modelopt")
	e, err := NewEncoder(s, NVFP4, dtype.F32, EncodeOptions{TensorScale: 1, NonFinite: NaNBlock})
	if err != nil {
		t.Fatal(err)
	}
	codes, scales, out := make([]byte, 16), make([]byte, 2), make([]byte, 128)
	rep, err := e.Encode(codes, scales, bytesOf(dtype.F32, row(32, 1, nan32)), 1, 32)
	if err != nil || scales[0] != 0x7F || rep.NonFinite != 1 {
		t.Errorf("scale %#x, %+v, %v", scales[0], rep, err)
	}
	d, err := NewDecoder(NVFP4, dtype.F32, DecodeOptions{TensorScale: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Decode(out, codes, scales, 1, 32); err != nil {
		t.Fatal(err)
	}
	var v [32]float32
	load(v[:], dtype.F32, out)
	if v[0] == v[0] || v[31] != 0 {
		t.Errorf("decodes to %v", v)
	}
}
