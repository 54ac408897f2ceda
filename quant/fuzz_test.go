package quant

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"ckpt/dtype"
)

var sources = []dtype.Type{dtype.BF16, dtype.F16, dtype.F32}

// Any bytes decode, to numbers within the range of the scale.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(1), uint8(0), []byte("\x7F0123456789abcdef"))
	f.Add(uint8(2), uint8(2), bytes.Repeat([]byte{0xFF}, 99))
	f.Fuzz(func(t *testing.T, format, out uint8, data []byte) {
		ft, o := Formats()[int(format)%len(Formats())], sources[int(out)%len(sources)]
		d, err := NewDecoder(ft, o, DecodeOptions{TensorScale: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		per := ft.CodeBytes(ft.Block()) + 1
		n := len(data) / per
		size, _ := sourceBytes(o)
		dst := make([]byte, n*ft.Block()*size)
		if err := d.Decode(dst, data[n:n*per], data[:n], n, ft.Block()); err != nil {
			t.Fatal(err)
		}
		x := make([]float32, ft.Block())
		for i := range n {
			load(x, o, dst[i*len(x)*size:])
			for _, v := range x {
				if ft != NVFP4 && data[i] == 255 && v == v {
					t.Fatalf("%s: %v under a NaN scale", ft, v)
				}
				if a := float64(abs(v)); ft != NVFP4 && ft != MXFP8E5M2 && data[i] < 255 && o == dtype.F32 &&
					a > 2*float64(ft.Element().Max())*float64(E8M0(data[i])) && !math.IsInf(a, 0) {
					t.Fatalf("%s: %v with scale %d", ft, v, data[i])
				}
			}
		}
	})
}

// Any numbers encode under every scheme: what is refused has a reason, reports
// add up, and for floor and even decoding and encoding again changes nothing.
func FuzzEncode(f *testing.F) {
	f.Add(uint8(0), uint8(0), uint8(0), []byte("a block of some numbers, whatever they are, repeated and long enough"))
	f.Add(uint8(9), uint8(2), uint8(3), bytes.Repeat([]byte{0x80, 0x7F, 0, 0xFF}, 40))
	f.Fuzz(func(t *testing.T, scheme, source, policy uint8, data []byte) {
		s, src := Schemes()[int(scheme)%len(Schemes())], sources[int(source)%len(sources)]
		size, _ := sourceBytes(src)
		for _, r := range s.Recipes {
			e, err := NewEncoder(s, r.Format, src, EncodeOptions{NonFinite: NonFinite(policy % 4), TensorScale: 0.25})
			if err != nil {
				t.Fatal(err)
			}
			n := len(data) / size / r.Format.Block()
			in := data[:n*r.Format.Block()*size]
			codes, scales := make([]byte, n*r.Format.CodeBytes(r.Format.Block())), make([]byte, n)
			rep, err := e.Encode(codes, scales, in, n, r.Format.Block())
			if err != nil {
				var where *NonFiniteError
				if !errors.As(err, &where) || where.Index >= int64(len(in)/size) {
					t.Fatalf("%s %s: %v", s.Name, r.Format, err)
				}
				continue
			}
			if rep.Blocks != int64(n) || rep.ZeroBlocks+rep.NaNBlocks+rep.LostBlocks > rep.Blocks+min(rep.NaNBlocks, rep.LostBlocks) {
				t.Fatalf("%s %s: %+v", s.Name, r.Format, rep)
			}
			if rep.NonFinite == 0 && r.Format != NVFP4 && int64(bytes.Count(scales, []byte{255})) != rep.NaNBlocks {
				t.Fatalf("%s %s: %d scales of 255, %+v", s.Name, r.Format, bytes.Count(scales, []byte{255}), rep)
			}
			if s.Name == "floor" || s.Name == "even" {
				encodeAgain(t, s, r.Format, codes, scales, n)
			}
		}
	})
}

// encodeAgain decodes to float32 and encodes that: the same values come back.
func encodeAgain(t *testing.T, s *Scheme, f Format, codes, scales []byte, n int) {
	t.Helper()
	d, _ := NewDecoder(f, dtype.F32, DecodeOptions{})
	first, second := make([]byte, n*f.Block()*4), make([]byte, n*f.Block()*4)
	if err := d.Decode(first, codes, scales, n, f.Block()); err != nil {
		t.Fatal(err)
	}
	e, _ := NewEncoder(s, f, dtype.F32, EncodeOptions{})
	if _, err := e.Encode(codes, scales, first, n, f.Block()); err != nil {
		if errors.Is(err, ErrNonFinite) {
			return // a NaN block, or a value beyond float32
		}
		t.Fatal(err)
	}
	if err := d.Decode(second, codes, scales, n, f.Block()); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(first); i += 4 {
		a, b := binary.LittleEndian.Uint32(first[i:]), binary.LittleEndian.Uint32(second[i:])
		if a != b && a<<1|b<<1 != 0 {
			t.Fatalf("%s %s: element %d was %#x, is %#x", s.Name, f, i/4, a, b)
		}
	}
}

// Any bytes go from any layout to any other and back.
func FuzzTranscode(f *testing.F) {
	f.Add(uint8(0), uint8(0), uint8(8), bytes.Repeat([]byte{1, 35, 69}, 60))
	f.Fuzz(func(t *testing.T, format, from, to uint8, data []byte) {
		ft := Formats()[int(format)%len(Formats())]
		a, b := Layout(int(from)%len(layouts)), Layout(int(to)%len(layouts))
		if !a.carries(ft) || !b.carries(ft) {
			return
		}
		k := ft.Block() * groupOf(ft)
		n := len(data) / (ft.CodeBytes(k) + ft.ScaleBytes(k))
		src, mid, back := room(ft, a, n, k), room(ft, b, n, k), room(ft, a, n, k)
		copy(src.Scales, data[copy(src.Codes, data):])
		if err := Transcode(ft, b, mid, a, src, n, k); err != nil {
			t.Fatal(err)
		}
		if err := Transcode(ft, a, back, b, mid, n, k); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(back.Codes, src.Codes) || !bytes.Equal(back.Scales, src.Scales) {
			t.Fatalf("%s: %s to %s and back differ", ft, a, b)
		}
	})
}
