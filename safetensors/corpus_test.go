package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corpusFile is a row of testdata/corpus/expected.json: the verdict that the
// contract asks for, and that of the official reader, safetensors 0.8.0.
type corpusFile struct {
	File        string
	Contract    string
	Codes       []string
	Also        []string
	Alternative []string
	Tensors     []struct {
		Name        string
		DType       string
		Shape       []uint64
		DataOffsets [2]int64 `json:"data_offsets"`
	}
	Metadata map[string]string
	Recipe   *struct {
		N         uint64
		JSON      string
		Fill      string
		DataZeros int64 `json:"data_zeros"`
	}
}

// codeOf are the codes of the audit for the kinds of problem here.
var codeOf = map[Kind]string{
	TooShort: "ST001", HeaderBeyondFile: "ST002", HeaderTooLong: "ST003", NotUTF8: "ST004", Syntax: "ST005",
	Duplicate: "ST006", UnknownDType: "ST007", BadOffsets: "ST008", SizeMismatch: "ST009", Overflow: "ST010",
	PartialByte: "ST011", BadMetadata: "ST012", Unaligned: "ST013", UnsafeName: "ST014", Truncated: "FS003", Trailing: "FS004",
}

func corpus(t testing.TB) (files, recipes []corpusFile) {
	t.Helper()
	raw, err := os.ReadFile("testdata/corpus/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Files, Recipes []corpusFile }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Files) != 210 || len(doc.Recipes) != 3 {
		t.Fatalf("%d files and %d recipes", len(doc.Files), len(doc.Recipes))
	}
	return doc.Files, doc.Recipes
}

func TestCorpus(t *testing.T) {
	files, _ := corpus(t)
	for _, want := range files {
		t.Run(want.File, func(t *testing.T) {
			raw := readCorpus(t, want.File)
			checkCorpus(t, want, bytes.NewReader(raw), int64(len(raw)))
		})
	}
}

func readCorpus(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata/corpus", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func checkCorpus(t *testing.T, want corpusFile, r io.ReaderAt, size int64) {
	t.Helper()
	var s Scanner
	h, err := s.Scan(r, size, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range h.Problems {
		got = append(got, codeOf[p.Kind])
	}
	slices.Sort(got)
	got = slices.Compact(got)
	allowed := slices.Concat(want.Codes, want.Also, want.Alternative)
	for _, code := range got {
		if !slices.Contains(allowed, code) {
			t.Errorf("%s is reported: want %v or %v, also %v", code, want.Codes, want.Alternative, want.Also)
		}
	}
	if main := slices.Concat(want.Codes, want.Alternative); len(main) > 0 &&
		!slices.ContainsFunc(got, func(c string) bool { return slices.Contains(main, c) }) {
		t.Errorf("%v is reported, want one of %v", got, main)
	}
	f, err := NewReader(r, size, nil)
	if rejected := want.Contract == "reject"; (err != nil) != rejected {
		t.Fatalf("NewReader: %v, want %s", err, want.Contract)
	}
	if err == nil {
		compareTensors(t, want, f)
	}
}

func compareTensors(t *testing.T, want corpusFile, f *File) {
	t.Helper()
	if len(f.Tensors) != len(want.Tensors) || f.Total != len(want.Tensors) {
		t.Fatalf("%d tensors, want %d", len(f.Tensors), len(want.Tensors))
	}
	got := slices.Clone(f.Tensors)
	slices.SortStableFunc(got, func(a, b Tensor) int {
		return cmp.Or(byOffset(a, b), strings.Compare(a.Name, b.Name))
	})
	for i, w := range want.Tensors {
		g := got[i]
		if g.Name != w.Name || g.DType.String() != w.DType || !slices.Equal(g.Shape, w.Shape) ||
			g.Offset-f.DataStart != w.DataOffsets[0] || g.Size != w.DataOffsets[1]-w.DataOffsets[0] {
			t.Errorf("tensor %d is %+v, want %+v", i, g, w)
		}
	}
	for k, v := range want.Metadata {
		if f.Metadata[k] != v {
			t.Errorf("metadata %q is %q, want %q", k, f.Metadata[k], v)
		}
	}
	if len(f.Metadata) != len(want.Metadata) {
		t.Errorf("metadata %v, want %v", f.Metadata, want.Metadata)
	}
}

// TestCorpusRecipes reads the files of 100 MB, which are made here: at the cap,
// one over it, and padded with NUL.
func TestCorpusRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("files of 100 MB")
	}
	_, recipes := corpus(t)
	for _, want := range recipes {
		t.Run(want.File, func(t *testing.T) {
			r := want.Recipe
			raw := make([]byte, 8, 8+int64(r.N)+r.DataZeros)
			for i := range 8 {
				raw[i] = byte(r.N >> (8 * i))
			}
			raw = append(raw, r.JSON...)
			raw = append(raw, bytes.Repeat([]byte(r.Fill), int(r.N)-len(r.JSON))...)
			raw = append(raw, make([]byte, r.DataZeros)...)
			checkCorpus(t, want, bytes.NewReader(raw), int64(len(raw)))
		})
	}
}
