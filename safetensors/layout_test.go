package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ckpt/dtype"
)

// bytesPerElement is the test's own table, for whole-byte types.
var bytesPerElement = map[dtype.Type]uint64{
	dtype.BOOL: 1, dtype.U8: 1, dtype.I8: 1, dtype.F8_E4M3: 1, dtype.F8_E8M0: 1,
	dtype.F16: 2, dtype.BF16: 2, dtype.I32: 4, dtype.F32: 4, dtype.F64: 8, dtype.U64: 8,
}

func TestLayoutBytes(t *testing.T) {
	l, err := NewLayout([]Spec{
		{"b", dtype.F32, []uint64{2, 1}},
		{"a\"\\\n\x01é", dtype.BF16, nil},
		{"empty", dtype.F4, []uint64{0}},
	}, &LayoutOptions{Metadata: map[string]string{"z": "1", "format": "p\tt"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"__metadata__":{"format":"p\tt","z":"1"},` +
		`"b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},` +
		`"a\"\\\n\u0001é":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},` +
		`"empty":{"dtype":"F4","shape":[0],"data_offsets":[10,10]}}`
	want += strings.Repeat(" ", (8-len(want)%8)%8)
	if got := string(l.Header()[8:]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := binary.LittleEndian.Uint64(l.Header()); n != uint64(len(want)) {
		t.Errorf("length prefix %d, header %d", n, len(want))
	}
	if l.Size() != l.DataStart()+10 {
		t.Errorf("size %d", l.Size())
	}
}

func TestLayoutEmpty(t *testing.T) {
	l, err := NewLayout(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x08\x00\x00\x00\x00\x00\x00\x00{}      "; string(l.Header()) != want {
		t.Errorf("got %q", l.Header())
	}
}

func TestLayoutAlign(t *testing.T) {
	for _, align := range []int{0, 8, 16, 4096} {
		for n := range 200 {
			name := strings.Repeat("n", n+1)
			l, err := NewLayout([]Spec{{name, dtype.U8, []uint64{3}}}, &LayoutOptions{Align: align})
			if err != nil {
				t.Fatal(err)
			}
			if l.DataStart()%int64(max(align, 8)) != 0 {
				t.Fatalf("align %d: data starts at %d", align, l.DataStart())
			}
			if padded := len(l.Header()) - len(bytes.TrimRight(l.Header(), " ")); padded >= max(align, 8) {
				t.Fatalf("align %d: %d spaces", align, padded)
			}
		}
	}
	for _, align := range []int{-8, 4, 12, 1 << 21} {
		if _, err := NewLayout(nil, &LayoutOptions{Align: align}); err == nil {
			t.Errorf("align %d accepted", align)
		}
	}
}

func TestLayoutRefuses(t *testing.T) {
	one := []uint64{1}
	for name, test := range map[string]struct {
		specs []Spec
		want  error
	}{
		"empty name":      {[]Spec{{"", dtype.U8, one}}, ErrLayoutName},
		"reserved name":   {[]Spec{{"__metadata__", dtype.U8, one}}, ErrLayoutName},
		"not UTF-8":       {[]Spec{{"a\xff", dtype.U8, one}}, ErrLayoutName},
		"duplicate":       {[]Spec{{"a", dtype.U8, one}, {"a", dtype.F32, one}}, ErrLayoutDuplicate},
		"no dtype":        {[]Spec{{"a", dtype.Invalid, one}}, ErrLayoutDType},
		"GGML dtype":      {[]Spec{{"a", dtype.Q4_K, []uint64{256}}}, ErrLayoutDType},
		"partial byte":    {[]Spec{{"a", dtype.F4, []uint64{3}}}, dtype.ErrPartialByte},
		"overflow":        {[]Spec{{"a", dtype.U8, []uint64{1 << 40, 1 << 40, 0}}}, dtype.ErrOverflow},
		"beyond 2^53":     {[]Spec{{"a", dtype.U8, []uint64{1<<53 + 1}}}, ErrLayoutSize},
		"huge dimension":  {[]Spec{{"a", dtype.U8, []uint64{math.MaxUint64, 0}}}, ErrLayoutSize},
		"sum beyond 2^53": {[]Spec{{"a", dtype.U8, []uint64{1 << 53}}, {"b", dtype.U8, one}}, ErrLayoutSize},
	} {
		_, err := NewLayout(test.specs, nil)
		var le *LayoutError
		if !errors.Is(err, test.want) || !errors.As(err, &le) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewLayout(nil, &LayoutOptions{Metadata: map[string]string{"a": "\xff"}}); err == nil {
		t.Error("metadata that is not UTF-8 accepted")
	}
}

// safetensors 668: 1.29 million tensors made a header of 132 MB, which could
// be written and not read.
func TestIssue668HeaderCapHoldsOnWriting(t *testing.T) {
	long := strings.Repeat("n", MaxHeader/2-60) // with a digit and its entry, just half of the cap
	specs := []Spec{{"1" + long, dtype.U8, nil}, {"2" + long, dtype.U8, nil}, {"3", dtype.U8, nil}}
	if _, err := NewLayout(specs, nil); !errors.Is(err, ErrLayoutHeader) {
		t.Errorf("beyond the cap: %v", err)
	}
	if l, err := NewLayout(specs[:2], nil); err != nil || l.DataStart() > MaxHeader+8 {
		t.Errorf("within the cap: %v", err)
	}
}

func TestSerializeOrder(t *testing.T) {
	specs := []Spec{
		{"e.10.w", dtype.U8, nil}, {"e.2.w", dtype.U8, nil}, {"z", dtype.F32, nil},
		{"b", dtype.BF16, nil}, {"B", dtype.BF16, nil}, {"i", dtype.I64, nil},
	}
	SerializeOrder(specs)
	got := ""
	for _, s := range specs {
		got += s.Name + " "
	}
	if want := "i z B b e.10.w e.2.w "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The order in which safetensors 0.8.0 wrote one tensor of each type that its
// Python package can write (all but the six-bit floats).
func TestSerializeOrderOfTypes(t *testing.T) {
	want := strings.Fields("U64 I64 F64 C64 F32 U32 I32 BF16 F16 U16 I16 F8_E5M2FNUZ F8_E4M3FNUZ F8_E8M0 F8_E4M3 F8_E5M2 I8 U8 F4 BOOL")
	var specs []Spec
	for i, name := range want {
		ty, ok := dtype.Parse(name)
		if !ok {
			t.Fatal(name)
		}
		specs = append(specs, Spec{fmt.Sprint(i % 7), ty, nil})
	}
	slices.Reverse(specs)
	SerializeOrder(specs)
	for i, s := range specs {
		if s.DType.String() != want[i] {
			t.Errorf("%d: %s, not %s", i, s.DType, want[i])
		}
	}
}

// entryJSON is the slow way to read an entry.
type entryJSON struct {
	DType   string    `json:"dtype"`
	Shape   []uint64  `json:"shape"`
	Offsets [2]uint64 `json:"data_offsets"`
}

func drawSpecs(t *rapid.T) []Spec {
	types := []dtype.Type{}
	for ty := range bytesPerElement {
		types = append(types, ty)
	}
	names := rapid.SliceOfNDistinct(rapid.StringN(1, 20, 40).Filter(func(s string) bool {
		return s != metadataName
	}), 0, 12, rapid.ID).Draw(t, "names")
	var specs []Spec
	for _, n := range names {
		specs = append(specs, Spec{
			Name:  n,
			DType: rapid.SampledFrom(types).Draw(t, "dtype"),
			Shape: rapid.SliceOfN(rapid.Uint64Range(0, 9), 0, 4).Draw(t, "shape"),
		})
	}
	return specs
}

// What is laid out is read back by a JSON reader that shares no code with it.
func TestLayoutProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		specs := drawSpecs(t)
		l, err := NewLayout(specs, &LayoutOptions{Align: rapid.SampledFrom([]int{8, 4096}).Draw(t, "align")})
		if err != nil {
			t.Fatal(err)
		}
		header := l.Header()
		if binary.LittleEndian.Uint64(header) != uint64(len(header)-8) {
			t.Fatal("length prefix")
		}
		got := map[string]entryJSON{}
		if err := json.Unmarshal(header[8:], &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(specs) {
			t.Fatalf("%d of %d names", len(got), len(specs))
		}
		end := uint64(0)
		for i, s := range specs {
			size := bytesPerElement[s.DType]
			for _, d := range s.Shape {
				size *= d
			}
			e := got[s.Name]
			if e.DType != s.DType.String() || fmt.Sprint(e.Shape) != fmt.Sprint(s.Shape) || e.Offsets != [2]uint64{end, end + size} {
				t.Fatalf("%q: %+v", s.Name, e)
			}
			placed, ok := l.Lookup(s.Name)
			if !ok || placed.Offset != l.DataStart()+int64(end) || placed.Size != int64(size) || l.Tensors()[i].Name != s.Name {
				t.Fatalf("%q: %+v", s.Name, placed)
			}
			end += size
		}
		if l.Size() != l.DataStart()+int64(end) {
			t.Fatalf("size %d", l.Size())
		}
	})
}

// sparseFile is a header with as many zeros behind it as its file has.
type sparseFile struct{ l *Layout }

func (f sparseFile) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) && off < f.l.Size() {
		p[n] = 0
		if off < f.l.DataStart() {
			p[n] = f.l.Header()[off]
		}
		n, off = n+1, off+1
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// What is laid out is read back by this package's reader, metadata included.
func TestLayoutReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		metadata := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "metadata")
		l, err := NewLayout(drawSpecs(t), &LayoutOptions{Metadata: metadata})
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewReader(sparseFile{l}, l.Size(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.DataStart != l.DataStart() || f.Total != len(l.Tensors()) {
			t.Fatalf("%+v", f)
		}
		if len(metadata) > 0 && !maps.Equal(f.Metadata, metadata) {
			t.Fatalf("metadata %q, not %q", f.Metadata, metadata)
		}
		for _, got := range f.Tensors {
			want, ok := l.Lookup(got.Name)
			if !ok || got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) || got.Offset != want.Offset || got.Size != want.Size {
				t.Fatalf("%+v, not %+v", got, want)
			}
		}
	})
}
