package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ckpt/dtype"
)

func TestTranslate(t *testing.T) {
	for _, tc := range []struct{ in, want []string }{
		{[]string{"ls", "-tp", "8", "x"}, []string{"ls", "--tp", "8", "x"}},
		{[]string{"ls", "-np=4"}, []string{"ls", "--seqs=4"}},
		{[]string{"ls", "--", "-tp"}, []string{"ls", "--", "-tp"}},
		{[]string{"ls", "-t", "p"}, []string{"ls", "-t", "p"}},
		{[]string{"doctor"}, []string{"doctor"}},
		{[]string{"doctor", "x"}, []string{"audit", "x"}},
		{[]string{"doctor", "--json", "x"}, []string{"audit", "--json", "x"}},
		{[]string{"doctor", "-m", "x"}, []string{"audit", "-m", "x"}},
		{[]string{"--progress", "none", "doctor", "x"}, []string{"--progress", "none", "audit", "x"}},
		{[]string{"doctor", "--progress", "none"}, []string{"doctor", "--progress", "none"}},
		{[]string{"doctor", "--dir", "x"}, []string{"doctor", "--dir", "x"}},
		{[]string{"doctor", "--dir", "x", "y"}, []string{"audit", "--dir", "x", "y"}},
		{[]string{"ls", "doctor", "x"}, []string{"ls", "doctor", "x"}},
		{[]string{"ls", "-q", "x"}, []string{"ls", "-q", "x"}},
	} {
		got, err := translate(tc.in)
		if err != nil {
			t.Errorf("%q: %v", tc.in, err)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%q: %s", tc.in, d)
		}
	}
	for _, word := range []string{"mxfp4", "MXFP8", "q4_k_m", "Q8_0", "fp8", "f16", "bf16", "int8", "iq2_xs", "nvfp4", "awq"} {
		if _, err := translate([]string{"ls", "-q", word}); err == nil {
			t.Errorf("-q %s is taken", word)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tc := range []struct {
		in          []uint32
		exact, show string
	}{
		{[]uint32{7}, "7", "7"},
		{[]uint32{0, 1}, "{0,1}", "{0,1}"},
		{[]uint32{2, 0, 1, 1}, "{0-2}", "{0-2}"},
		{[]uint32{3, 7, 11, 15, 19, 20}, "{3,7,11,15,19,20}", "{3,7,11…20}"},
		{[]uint32{4_294_967_295, 5, 4096, 4095}, "{5,4095,4096,4294967295}", "{5,4095,4096,4294967295}"},
	} {
		var s numbers
		for _, n := range tc.in {
			s.add(n)
		}
		if got := s.text(false); got != tc.exact {
			t.Errorf("%v: %s, want %s", tc.in, got, tc.exact)
		}
		if got := s.text(true); got != tc.show {
			t.Errorf("%v: %s, want %s", tc.in, got, tc.show)
		}
	}
}

func TestNaturally(t *testing.T) {
	want := []string{"a", "a.0", "a.1", "a.01", "a.2", "a.10", "a.10.b", "a.b", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, naturally)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestShellWords(t *testing.T) {
	for in, want := range map[string]string{
		"/raid/k3": "/raid/k3", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "--tp": "--tp", "$x": "'$x'", "~": "'~'",
	} {
		if got := shellWords(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestShellPath(t *testing.T) {
	if got := shellPath("-rf x"); got != "'./-rf x'" {
		t.Error(got)
	}
}

// A selection is what walking all elements one by one gives.
func TestSelection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Uint64Range(0, 4), 0, 4).Draw(t, "shape")
		var text string
		var keep []func(i uint64) bool
		var want []uint64
		for i, n := range shape {
			if i > 0 {
				text += ","
			}
			from := rapid.Uint64Range(0, n).Draw(t, "from")
			to := rapid.Uint64Range(from, n).Draw(t, "to")
			if n > 0 && rapid.Bool().Draw(t, "single") {
				from = min(from, n-1)
				to = from + 1
				text += number(from)
			} else {
				text += number(from) + ":" + number(to)
				want = append(want, to-from)
			}
			keep = append(keep, func(i uint64) bool { return i >= from && i < to })
		}
		part, err := newSelection(dtype.U16, shape, text)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, part.shape); d != "" {
			t.Fatal(d)
		}
		var got []int64
		for off := range part.runs() {
			for b := int64(0); b < part.run; b += 2 {
				got = append(got, (off+b)/2)
			}
		}
		if d := cmp.Diff(elements(shape, keep), got); d != "" {
			t.Fatalf("%v[%s]: %s", shape, text, d)
		}
	})
}

func number(n uint64) string { return string(rune('0' + n)) } // below ten

// elements numbers the elements that every dimension keeps.
func elements(shape []uint64, keep []func(uint64) bool) []int64 {
	total := uint64(1)
	for _, n := range shape {
		total *= n
	}
	var out []int64
	for e := range total {
		rest, ok := e, true
		for d := len(shape) - 1; d >= 0; d-- {
			ok = ok && keep[d](rest%shape[d])
			rest /= shape[d]
		}
		if ok {
			out = append(out, int64(e))
		}
	}
	return out
}

func TestSelectionOfPackedTypes(t *testing.T) {
	if _, err := newSelection(dtype.F4, []uint64{3, 3}, ""); err == nil {
		t.Error("nine halves of a byte")
	}
	if _, err := newSelection(dtype.F4, []uint64{2, 3}, "1"); err == nil {
		t.Error("a row that begins within a byte")
	}
	if s, err := newSelection(dtype.F4, []uint64{4, 4}, "1:3"); err != nil || s.run != 4 || s.first != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := newSelection(dtype.F4, []uint64{4, 4}, ":,1:2"); err == nil {
		t.Error("half a byte")
	}
}

func TestNPYHeader(t *testing.T) {
	for _, tc := range []struct {
		d     dtype.Type
		shape []uint64
		want  string
	}{
		{dtype.F32, nil, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
		{dtype.BF16, []uint64{3}, "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }"},
		{dtype.F8_E4M3, []uint64{3, 4}, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4), }"},
		{dtype.F4, []uint64{3, 4}, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }"},
		{dtype.F4, []uint64{2, 3}, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"},
		{dtype.F32, []uint64{0, 4}, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }"},
	} {
		part, err := newSelection(tc.d, tc.shape, "")
		if err != nil {
			t.Fatal(err)
		}
		h := npyHeader(part)
		if len(h)%64 != 0 || h[len(h)-1] != '\n' || int(h[8])|int(h[9])<<8 != len(h)-10 {
			t.Errorf("%d bytes", len(h))
		}
		if got := string(h[10 : 10+len(tc.want)]); got != tc.want {
			t.Errorf("%s", got)
		}
	}
}

func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float32{
		0: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0400: 6.103515625e-05, 0x0001: 5.960464477539063e-08, 0x3555: 0.333251953125,
	} {
		if got := half(bits); got != want {
			t.Errorf("%#x: %v, want %v", bits, got, want)
		}
	}
	if v := half(0x7c00); v <= 65504 {
		t.Errorf("%v is not infinite", v)
	}
	if v := half(0x7e00); v == v {
		t.Errorf("%v is a number", v)
	}
}
