package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"ckpt/dtype"
)

// oracle is an independent slow reader of headers: tokens by jsontext, sizes by
// big integers, the tiling of the data by a list of tensors in order. It says
// whether a file is valid and what it holds.
func oracle(raw []byte) (tensors map[string]Tensor, metadata map[string]string, ok bool) {
	if len(raw) < 8 {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint64(raw)
	if n > MaxHeader || n > uint64(len(raw)-8) {
		return nil, nil, false
	}
	head, data := raw[8:8+n], raw[8+n:]
	if len(head) == 0 || head[0] != '{' {
		return nil, nil, false
	}
	d := jsontext.NewDecoder(bytes.NewReader(head))
	tensors = map[string]Tensor{}
	if !oracleObject(d, func(key string) bool {
		if key == "__metadata__" {
			metadata = map[string]string{}
			return oracleObject(d, func(key string) bool {
				tok, err := d.ReadToken()
				if err != nil || tok.Kind() != '"' {
					return false
				}
				metadata[key] = tok.String()
				return true
			})
		}
		t, ok := oracleEntry(d, int64(8+n))
		t.Name = key
		tensors[key] = t
		return ok
	}) {
		return nil, nil, false
	}
	rest := head[d.InputOffset():]
	if strings.Trim(string(rest), " ") != "" {
		return nil, nil, false
	}
	order := slices.SortedFunc(maps.Values(tensors), byOffset)
	at := int64(8 + n)
	for _, t := range order {
		if t.Offset != at {
			return nil, nil, false
		}
		at += t.Size
	}
	return tensors, metadata, at == int64(len(raw)) && len(data) >= 0
}

func oracleObject(d *jsontext.Decoder, member func(key string) bool) bool {
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return false
	}
	for d.PeekKind() == '"' {
		tok, err := d.ReadToken()
		if err != nil || !member(tok.String()) {
			return false
		}
	}
	tok, err := d.ReadToken()
	return err == nil && tok.Kind() == '}'
}

func oracleEntry(d *jsontext.Decoder, dataStart int64) (t Tensor, ok bool) {
	var offsets []*big.Int
	var shape []*big.Int
	var name string
	seen := 0
	if !oracleObject(d, func(key string) bool {
		seen++
		switch key {
		case "dtype":
			tok, err := d.ReadToken()
			if err != nil || tok.Kind() != '"' {
				return false
			}
			name = tok.String()
			return true
		case "shape":
			shape, ok = oracleIntegers(d)
			return ok
		case "data_offsets":
			offsets, ok = oracleIntegers(d)
			return ok && len(offsets) == 2
		}
		return false
	}) || seen != 3 {
		return t, false
	}
	t.DType, ok = dtype.Parse(name)
	if !ok {
		return t, false
	}
	limit := new(big.Int).Lsh(big.NewInt(1), 64)
	size := big.NewInt(1)
	for _, dim := range shape {
		t.Shape = append(t.Shape, dim.Uint64())
		if size.Mul(size, dim).Cmp(limit) >= 0 {
			return t, false
		}
	}
	if size.Mul(size, big.NewInt(int64(t.DType.Bits()))).Cmp(limit) >= 0 {
		return t, false
	}
	length := new(big.Int).Sub(offsets[1], offsets[0])
	if new(big.Int).Mul(length, big.NewInt(8)).Cmp(size) != 0 {
		return t, false
	}
	t.Offset, t.Size = dataStart+offsets[0].Int64(), length.Int64()
	return t, true
}

func oracleIntegers(d *jsontext.Decoder) ([]*big.Int, bool) {
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil, false
	}
	var out []*big.Int
	for d.PeekKind() == '0' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		n, ok := new(big.Int).SetString(string(v), 10)
		if !ok || string(v)[0] == '-' || n.Cmp(big.NewInt(1<<53)) > 0 {
			return nil, false
		}
		out = append(out, n)
	}
	tok, err := d.ReadToken()
	return out, err == nil && tok.Kind() == ']'
}

// agree fails where the reader and the oracle differ on a file.
func agree(t *testing.T, raw []byte) {
	t.Helper()
	want, metadata, valid := oracle(raw)
	f, err := NewReader(bytes.NewReader(raw), int64(len(raw)), nil)
	if (err == nil) != valid {
		t.Fatalf("NewReader: %v; valid by the oracle: %v", err, valid)
	}
	if err != nil {
		if !errors.Is(err, ErrFormat) {
			t.Fatalf("not a format error: %v", err)
		}
		return
	}
	if len(f.Tensors) != len(want) || !maps.Equal(f.Metadata, metadata) {
		t.Fatalf("%d tensors, metadata %q; want %d, %q", len(f.Tensors), f.Metadata, len(want), metadata)
	}
	for _, g := range f.Tensors {
		w, ok := want[g.Name]
		if !ok || g.DType != w.DType || !slices.Equal(g.Shape, w.Shape) || g.Offset != w.Offset || g.Size != w.Size {
			t.Fatalf("tensor %+v, want %+v", g, w)
		}
	}
}

// withHeader makes a file of a header and n bytes of data.
func withHeader(header string, n int) []byte {
	raw := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(raw, header...), make([]byte, n)...)
}

func FuzzHeader(f *testing.F) {
	for _, header := range []string{
		`{}`, `{}  `, ` {}`, `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`,
		`{"a":{"shape":[2],"dtype":"F32","data_offsets":[ 0 , 8 ]}, "\u0061b":{"dtype":"U8","shape":[0],"data_offsets":[8,8]}}`,
		`{"__metadata__":{"format":"pt","x":"\ud83e\udd99"},"a":{"dtype":"F4","shape":[4,4],"data_offsets":[0,8]}}`,
		`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":[{"y":null},true,1e5]}}`,
		`{"a":{"dtype":"F32","shape":[9007199254740993],"data_offsets":[0,8]}}`,
		`{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[-0,8]}}`,
	} {
		f.Add([]byte(header), 8)
	}
	files, _ := corpus(f)
	for _, row := range files {
		raw := readCorpus(f, row.File)
		if len(raw) > 8 {
			head := raw[8:][:min(binary.LittleEndian.Uint64(raw), uint64(len(raw)-8))]
			f.Add(head, len(raw)-8-len(head))
		}
	}
	f.Fuzz(func(t *testing.T, header []byte, n int) {
		if n < 0 || n > 1<<12 {
			return
		}
		agree(t, withHeader(string(header), n))
	})
}

// FuzzFile mutates whole files, their length included.
func FuzzFile(f *testing.F) {
	f.Add(withHeader(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add([]byte{})
	f.Fuzz(agree)
}

func TestCorpusAgreesWithOracle(t *testing.T) {
	files, _ := corpus(t)
	for _, row := range files {
		_, _, valid := oracle(readCorpus(t, row.File))
		if valid != (row.Contract != "reject") {
			t.Errorf("%s: valid by the oracle: %v, want %s", row.File, valid, row.Contract)
		}
	}
}

// failing is a reader that breaks after some bytes.
type failing struct {
	io.ReaderAt
	after int64
}

var errDisk = errors.New("input/output error")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.after {
		return 0, errDisk
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestReaderErrorsAreNotTheFiles(t *testing.T) {
	raw := withHeader(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8)
	for _, after := range []int64{0, 8} {
		_, err := NewReader(failing{bytes.NewReader(raw), after}, int64(len(raw)), nil)
		if !errors.Is(err, errDisk) || errors.Is(err, ErrFormat) {
			t.Errorf("after %d bytes: %v", after, err)
		}
	}
	// A file that shrank since its size was taken.
	if _, err := NewReader(bytes.NewReader(raw[:20]), int64(len(raw)), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("shrunk: %v", err)
	}
}
