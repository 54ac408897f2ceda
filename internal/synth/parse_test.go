package synth

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entry is one tensor as an independent reader sees it.
type entry struct {
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
	file    string
	data    []byte
}

var widths = map[string]int64{"U8": 1, "BF16": 2, "F32": 4}

// parseDir reads every file of a checkpoint with the standard library, checks
// that tensors tile their files and that the index names them all, and returns
// them by name.
func parseDir(t *testing.T, dir string) map[string]entry {
	t.Helper()
	all := map[string]entry{}
	total := int64(0)
	for _, path := range weightFiles(t, dir) {
		for name, e := range parseFile(t, path) {
			if _, dup := all[name]; dup {
				t.Fatalf("%s comes twice", name)
			}
			all[name] = e
			total += e.Offsets[1] - e.Offsets[0]
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, IndexFile))
	if os.IsNotExist(err) {
		return all
	}
	var index struct {
		Metadata struct {
			TotalSize int64 `json:"total_size"`
		} `json:"metadata"`
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	if index.Metadata.TotalSize != total || len(index.WeightMap) != len(all) {
		t.Fatalf("index: %d bytes of %d tensors, files: %d of %d", index.Metadata.TotalSize, len(index.WeightMap), total, len(all))
	}
	for name, file := range index.WeightMap {
		if all[name].file != file {
			t.Fatalf("%s is in %q, index says %q", name, all[name].file, file)
		}
	}
	return all
}

func weightFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	slices.Sort(files)
	return files
}

func parseFile(t *testing.T, path string) map[string]entry {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(text)
	if n%8 != 0 {
		t.Errorf("%s: header of %d bytes", path, n)
	}
	header, payload := text[8:8+n], text[8+n:]
	var entries map[string]entry
	if err := json.Unmarshal(header, &entries); err != nil {
		t.Fatal(err)
	}
	ordered := make([]string, 0, len(entries))
	for name, e := range entries {
		size := widths[e.DType]
		for _, d := range e.Shape {
			size *= int64(d)
		}
		if size == 0 || e.Offsets[1]-e.Offsets[0] != size {
			t.Fatalf("%s: %+v", name, e)
		}
		e.file, e.data = filepath.Base(path), payload[e.Offsets[0]:e.Offsets[1]]
		entries[name] = e
		ordered = append(ordered, name)
	}
	slices.SortFunc(ordered, func(a, b string) int { return int(entries[a].Offsets[0] - entries[b].Offsets[0]) })
	end := int64(0)
	at := 0
	for i, name := range ordered {
		if entries[name].Offsets[0] != end {
			t.Fatalf("%s begins at %d, not %d", name, entries[name].Offsets[0], end)
		}
		end = entries[name].Offsets[1]
		next := strings.Index(string(header[at:]), `"`+name+`"`)
		if next < 0 {
			t.Fatalf("%s: keys are not in the order of the data", name)
		}
		at += next
		if i > 0 && !before(entries, ordered[i-1], name) {
			t.Fatalf("%s stands before %s", ordered[i-1], name)
		}
	}
	if end != int64(len(payload)) {
		t.Fatalf("%s: tensors end at %d of %d", path, end, len(payload))
	}
	return entries
}

// before is the order of official files: F32, BF16, U8, then by name.
func before(entries map[string]entry, a, b string) bool {
	rank := map[string]int{"F32": 0, "BF16": 1, "U8": 2}
	if c := rank[entries[a].DType] - rank[entries[b].DType]; c != 0 {
		return c < 0
	}
	return a < b
}
