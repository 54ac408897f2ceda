package safetensors

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"testing"
)

func pairs(list ...string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := 0; i < len(list); i += 2 {
			if !yield(list[i], list[i+1]) {
				return
			}
		}
	}
}

// The expected bytes are those of Python's json.dumps(…, indent=2).
func TestEncodeIndex(t *testing.T) {
	for want, list := range map[string][]string{
		"{\n  \"metadata\": {\n    \"total_size\": 7\n  },\n  \"weight_map\": {}\n}":                                                                             nil,
		"{\n  \"metadata\": {\n    \"total_size\": 7\n  },\n  \"weight_map\": {\n    \"b\": \"f1\",\n    \"a\": \"f2\"\n  }\n}":                                  {"b", "f1", "a", "f2"},
		"{\n  \"metadata\": {\n    \"total_size\": 7\n  },\n  \"weight_map\": {\n    \"\\u00e9\\ud83d\\ude00\\u007f\\\"\\\\\\n\\u0001\\u2028/<\": \"f\"\n  }\n}": {"é😀\x7f\"\\\n\x01\u2028/<", "f"},
	} {
		var b bytes.Buffer
		if err := EncodeIndex(&b, 7, pairs(list...)); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("got %s\nwant %s", b.String(), want)
		}
	}
}

func TestEncodeIndexRefuses(t *testing.T) {
	if err := EncodeIndex(&bytes.Buffer{}, 0, pairs("a", "f", "a", "g")); !errors.Is(err, ErrLayoutDuplicate) {
		t.Errorf("duplicate: %v", err)
	}
	if err := EncodeIndex(&bytes.Buffer{}, 0, pairs("a\xff", "f")); err == nil {
		t.Error("name that is not UTF-8 accepted")
	}
}

func TestWriteIndexLeavesNothingOnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.safetensors.index.json")
	if err := WriteIndex(path, 0, pairs("a", "f", "a", "f")); err == nil {
		t.Error("duplicate accepted")
	}
	if got := names(t, dir); got != "" {
		t.Errorf("left behind: %s", got)
	}
	if err := WriteIndex(path, 1, pairs("a", "f")); err != nil {
		t.Fatal(err)
	}
	if err := WriteIndex(path, 2, pairs("a", "f")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an existing index: %v", err)
	}
	if got, _ := os.ReadFile(path); !bytes.Contains(got, []byte(`"total_size": 1`)) {
		t.Errorf("index: %s", got)
	}
}
