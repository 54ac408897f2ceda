package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"ckpt/internal/names"
)

// oracleIndex is what an independent reader makes of an index.
type oracleIndex struct {
	pairs   []entryPair
	total   string // text of the last total_size
	hasMap  bool
	strange bool // a value of the weight map is no string
	depth   int  // of the deepest value
}

// readOracle reads an index token by token; ok is false where the grammar or
// the form is broken.
func readOracle(data []byte) (x oracleIndex, ok bool) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' {
		return x, false
	}
	object := func(member func(key string) bool) bool {
		if _, err := d.ReadToken(); err != nil {
			return false
		}
		for d.PeekKind() != '}' {
			key, err := d.ReadToken()
			if err != nil || key.Kind() != '"' || !member(key.String()) {
				return false
			}
		}
		_, err := d.ReadToken()
		return err == nil
	}
	skip := func() (jsontext.Value, bool) {
		start := d.StackDepth()
		v, err := d.ReadValue()
		depth, deepest := 0, 0
		for _, c := range v { // over-counts brackets in strings, which is safe
			switch c {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			deepest = max(deepest, depth)
		}
		x.depth = max(x.depth, start+deepest)
		return v, err == nil
	}
	ok = object(func(key string) bool {
		switch {
		case key == "weight_map":
			x.hasMap = true
			if d.PeekKind() != '{' {
				return false
			}
			return object(func(name string) bool {
				v, ok := skip()
				if !ok {
					return false
				}
				if v.Kind() != '"' {
					x.strange = true
					return true
				}
				file, _ := jsontext.AppendUnquote(nil, v)
				x.pairs = append(x.pairs, entryPair{name, string(file)})
				return true
			})
		case key == "metadata" && d.PeekKind() == '{':
			return object(func(name string) bool {
				v, ok := skip()
				if name == "total_size" {
					x.total = string(v)
				}
				return ok
			})
		}
		_, ok := skip()
		return ok
	})
	if ok {
		_, err := d.ReadToken()
		ok = errors.Is(err, io.EOF)
	}
	return x, ok && x.hasMap && len(x.pairs) > 0 // an index of nothing is none
}

func FuzzIndex(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"total_size":12},"weight_map":{"a":"b.safetensors"}}`,
		`{"weight_map":{"a":"x","a":"y","layers.1.w":"x","layers.01.w":"","\u00e9\n":"\ud83d\ude00"},"metadata":{"total_size":1.0}}`,
		`{"weight_map":{},"weight_map":{"a":"b"},"other":[1,{"a":[]},"x",null,true,-1.5e+7]}`,
		`{"metadata":[],"weight_map":{"a":1,"b":["c"],"d":"e"}} `,
		`{"weight_map":[]}`, `{"weight_map":{"a":"b"}`, `{"weight_map":{"a":"b",}}`, `{"weight_map":{"\ud800":"b"}}`, ``, `[]`, `{}`,
		"{\"weight_map\":{\"a\xff\":\"b\"}}", `{"weight_map":{"a":"b"}}x`, `{"metadata":{"total_size":-1},"weight_map":{}}`,
		`{"metadata":{"total_size":9223372036854775808},"weight_map":{"0.1.2.3.4":"5"}}`, `{"weight_map":{"a":"b"},"x":01}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		table := names.NewTable()
		x := &Index{Name: "index", where: &names.Map{}}
		x.parse(data, table)
		want, ok := readOracle(data)
		if want.depth > 100 {
			return // the two stop at different depths
		}
		if (x.Err == nil) != ok {
			t.Fatalf("error %v, the oracle says %v: %q", x.Err, ok, data)
		}
		if !ok {
			return
		}
		compareIndex(t, x, table, &want)
	})
}

func compareIndex(t *testing.T, x *Index, table *names.Table, want *oracleIndex) {
	t.Helper()
	var pairs, twice []entryPair
	seen := map[string]bool{}
	for _, p := range want.pairs {
		if seen[p.tensor] {
			twice = append(twice, p)
		} else {
			pairs = append(pairs, p)
		}
		seen[p.tensor] = true
	}
	spelt := func(list []IndexEntry) (out []entryPair) {
		for _, e := range list {
			out = append(out, entryPair{table.Name(e.Key), x.Files[e.File]})
		}
		return out
	}
	if got := spelt(x.Entries); !slices.Equal(got, pairs) {
		t.Errorf("entries %q, want %q", got, pairs)
	}
	if got := spelt(x.Duplicates); !slices.Equal(got, twice) {
		t.Errorf("duplicates %q, want %q", got, twice)
	}
	for i, p := range pairs {
		key, ok := table.Find(p.tensor)
		at, there := x.Position(key)
		if !ok || !there || at != i {
			t.Errorf("%q is at %d, not at %d", p.tensor, at, i)
		}
	}
	if want.strange && len(x.Problems) == 0 {
		t.Error("a value that is no string raises no problem")
	}
	if n, err := strconv.ParseUint(want.total, 10, 63); err == nil && (!x.HasTotalSize || x.TotalSize != int64(n)) {
		t.Errorf("total_size %d, want %d", x.TotalSize, n)
	}
}
