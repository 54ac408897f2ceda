package quant

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ckpt/dtype"
	"ckpt/internal/cpu"
)

// eachKernel runs for every scheme, format, type of input and implementation
// that has a kernel for them.
func eachKernel(t *testing.T, run func(t *testing.T, e, reference *Encoder)) {
	t.Helper()
	for _, s := range cpu.Disabled() {
		t.Logf("%s is disabled: its kernels are not run", s)
	}
	if !cpu.Has(cpu.AVX512) {
		t.Logf("%s is not here: its kernels are not run", cpu.AVX512)
	}
	ran := map[string]int{}
	for _, s := range Schemes() {
		for _, r := range s.Recipes {
			for _, source := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
				e, err := NewEncoder(s, r.Format, source, EncodeOptions{TensorScale: 1})
				if err != nil {
					t.Fatal(err)
				}
				reference, _ := e.With(Reference)
				for _, name := range Implementations() {
					e, err := e.With(name)
					if err != nil {
						t.Fatal(err)
					}
					if name == Reference || e.Implementation() == Reference {
						continue
					}
					ran[name]++
					t.Run(fmt.Sprintf("%s/%s/%s/%s", name, s.Name, r.Format, source), func(t *testing.T) { run(t, e, reference) })
				}
			}
		}
	}
	t.Log(ran)
	if len(ran) != len(Implementations())-1 {
		t.Errorf("of %q only %v have kernels", Implementations(), ran)
	}
}

// compare encodes with both and compares bytes and reports. A block of NaN or
// infinity is refused by both at the same index.
func compare(t *testing.T, e, reference *Encoder, src []byte) {
	t.Helper()
	k := len(src) / e.size
	f := e.recipe.Format
	got, want := make([]byte, f.CodeBytes(k)), make([]byte, f.CodeBytes(k))
	gotScales, wantScales := make([]byte, f.ScaleBytes(k)), make([]byte, f.ScaleBytes(k))
	a, errA := reference.Encode(want, wantScales, src, 1, k)
	b, errB := e.Encode(got, gotScales, src, 1, k)
	if fmt.Sprint(errA) != fmt.Sprint(errB) {
		t.Fatalf("error %v, want %v", errB, errA)
	}
	if errA != nil {
		return
	}
	if a != b {
		t.Errorf("report %+v, want %+v", b, a)
	}
	n := f.CodeBytes(32)
	for i := range gotScales {
		if x, y := got[i*n:][:n], want[i*n:][:n]; gotScales[i] != wantScales[i] || !bytes.Equal(x, y) {
			t.Fatalf("block %d: scale %d, want %d\ngot  % x\nwant % x\nof   % x", i, gotScales[i], wantScales[i], x, y, src[i*32*e.size:][:32*e.size])
		}
	}
}

// Every finite maximum that bf16 has, with companions at and around the places
// where codes change, through every kernel of every scheme.
func TestKernelsEveryMaximum(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 37
	}
	var blocks [][32]float32
	for m := 0; m < 0x7F80; m += step {
		var x [32]float32
		x[m%32] = math.Float32frombits(uint32(m) << 16)
		for i := range x {
			if i == m%32 {
				continue
			}
			w := m - (i*16+m%16)*(1+m%3) // some binades down, in steps that hit ties
			if i > 24 {
				w = m * (i - 24) / 60
			}
			x[i] = math.Float32frombits(uint32(max(w, 0))<<16 | uint32(i&1)<<31)
		}
		blocks = append(blocks, x)
	}
	sources := map[dtype.Type][]byte{}
	for _, source := range []dtype.Type{dtype.BF16, dtype.F32} {
		for i, x := range blocks {
			if source == dtype.F32 && i%5 > 0 {
				continue
			}
			sources[source] = appendNumbers(sources[source], source, x[:])
		}
	}
	for h := 0; h < 0x7C00; h += 5 * step { // the maxima of F16
		for i := range 32 {
			w := max(h-(i*64+h%64)*(1+h%3), 0)
			sources[dtype.F16] = binary.LittleEndian.AppendUint16(sources[dtype.F16], uint16(w|i&1<<15))
		}
	}
	eachKernel(t, func(t *testing.T, e, reference *Encoder) { compare(t, e, reference, sources[e.source]) })
}

func appendNumbers(b []byte, source dtype.Type, x []float32) []byte {
	for _, v := range x {
		switch source {
		case dtype.BF16:
			b = binary.LittleEndian.AppendUint16(b, toBF16(v))
		case dtype.F16:
			b = binary.LittleEndian.AppendUint16(b, toF16(float64(v)))
		default:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b
}

// randomBits gives blocks of every kind: ordinary, any bits, around ties, zeros,
// subnormals, huge, NaN and infinity.
func randomBits(rng *rand.Rand, source dtype.Type, kind, blocks int) (b []byte) {
	for range blocks {
		center := rng.IntN(255)
		for range 32 {
			sign := rng.Uint32() << 31
			bits := math.Float32bits(float32(rng.NormFloat64() * 0.02))
			switch kind {
			case 1:
				bits = rng.Uint32()
			case 2: // at a tie of some code, or beside it
				bits = sign | uint32(max(center-rng.IntN(12), 0))<<23 | uint32(rng.IntN(16))<<19
				bits += uint32(rng.IntN(3) - 1)
			case 3:
				bits = sign
			case 4:
				bits = sign | rng.Uint32()>>rng.IntN(32)&0x03FFFFFF
			case 5:
				bits = sign | 0x7F7FFFFF - rng.Uint32()>>rng.IntN(24)
			case 6:
				if rng.IntN(300) == 0 {
					bits = sign | 0x7F800000 | uint32(rng.IntN(2))<<rng.IntN(23)
				}
			case 7:
				if rng.IntN(10) > 0 {
					bits = sign
				}
			}
			switch source {
			case dtype.F32:
				b = binary.LittleEndian.AppendUint32(b, bits)
			case dtype.BF16:
				b = binary.LittleEndian.AppendUint16(b, uint16(bits>>16))
			default:
				h := toF16(float64(math.Float32frombits(bits)))
				if kind == 1 || kind == 4 {
					h = uint16(bits)
				}
				b = binary.LittleEndian.AppendUint16(b, h)
			}
		}
	}
	return b
}

func TestKernelsRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 20))
	eachKernel(t, func(t *testing.T, e, reference *Encoder) {
		for kind := range 8 {
			for range 3 {
				compare(t, e, reference, randomBits(rng, e.source, kind, 1+rng.IntN(60)))
			}
		}
	})
}

// The policies meet the kernels' leftovers; reports name the same blocks.
func TestKernelsPolicies(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 21))
	for _, policy := range []NonFinite{Refuse, Saturate, NaNBlock, AsSystem} {
		eachKernel(t, func(t *testing.T, e, reference *Encoder) {
			a, b := *e, *reference
			a.opts.NonFinite, b.opts.NonFinite = policy, policy
			compare(t, &a, &b, randomBits(rng, e.source, 6, 40))
		})
	}
}

// Every length up to some batches and pieces, at every alignment of a vector.
func TestKernelsLengths(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 22))
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
		for _, source := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
			fast, err := NewEncoder(DefaultScheme(f), f, source, EncodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			reference, _ := fast.With(Reference)
			lengths := []int{127, 128, 129, 257, 300}
			for n := range 40 {
				lengths = append(lengths, n)
			}
			for _, n := range lengths {
				shift := n % 33
				src := append(make([]byte, shift), randomBits(rng, source, n%8/7*7, n)...)
				compare(t, fast, reference, src[shift:])
			}
		}
	}
}

// Decoders by kernel: every code under every scale byte, into every type.
func TestDecodeKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 23))
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
		for _, out := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
			d, err := NewDecoder(f, out, DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			reference, _ := d.With(Reference)
			for _, name := range Implementations() {
				d, _ := d.With(name)
				if out == dtype.F16 != (d.Implementation() == Reference) && name != Reference {
					t.Errorf("%s to %s is done by %s", f, out, d.Implementation())
				}
				check := func(codes, scales []byte) {
					k := len(scales) * 32
					got, want := make([]byte, k*d.size), make([]byte, k*d.size)
					if err := reference.Decode(want, codes, scales, 1, k); err != nil {
						t.Fatal(err)
					}
					if err := d.Decode(got, codes, scales, 1, k); err != nil {
						t.Fatal(err)
					}
					for i := range k {
						if a, b := got[i*d.size:][:d.size], want[i*d.size:][:d.size]; !bytes.Equal(a, b) {
							t.Fatalf("%s %s to %s: scale %d, element %d of %d: % x, want % x", name, f, out, scales[i/32], i, k, a, b)
						}
					}
				}
				for scale := range 256 {
					var codes []byte
					for c := range 256 {
						codes = append(codes, byte(c))
					}
					codes = bytes.Repeat(codes, 2)
					check(codes, bytes.Repeat([]byte{byte(scale)}, len(codes)/f.CodeBytes(32)))
					codes[scale&1] |= 0x7F
				}
				for n := range 150 {
					codes, scales := make([]byte, f.CodeBytes(32)*n), make([]byte, n)
					for i := range codes {
						codes[i] = byte(rng.Uint32())
						if rng.IntN(600) > 0 {
							codes[i] &= 0x7B // ordinary numbers
						}
					}
					for i := range scales {
						scales[i] = byte(80 + rng.IntN(60))
						if rng.IntN(40) == 0 {
							scales[i] = byte(rng.Uint32())
							clear(codes[i*f.CodeBytes(32):][:f.CodeBytes(32)*rng.IntN(2)])
						}
					}
					check(codes, scales)
				}
			}
		}
	}
}

func TestNoSuchImplementation(t *testing.T) {
	e, err := NewEncoder(DefaultScheme(MXFP4), MXFP4, dtype.BF16, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.With("mmx"); err == nil {
		t.Error("an encoder with an unknown implementation")
	}
	d, err := NewDecoder(MXFP4, dtype.BF16, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.With("mmx"); err == nil {
		t.Error("a decoder with an unknown implementation")
	}
}
