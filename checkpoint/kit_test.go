package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toy is a tensor of U8 in a file of the tests.
type toy struct {
	name string
	size int
}

// weights spells a file by hand.
func weights(tensors ...toy) []byte {
	var parts []string
	at := 0
	for _, t := range tensors {
		name, _ := json.Marshal(t.name)
		parts = append(parts, fmt.Sprintf(`%s:{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]}`, name, t.size, at, at+t.size))
		at += t.size
	}
	text := "{" + strings.Join(parts, ",") + "}"
	for len(text)%8 != 0 {
		text += " "
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(out, text...), make([]byte, at)...)
}

// entryPair is an entry of a weight map.
type entryPair struct{ tensor, file string }

// indexOf spells an index.
func indexOf(pairs ...entryPair) []byte {
	var parts []string
	for _, p := range pairs {
		name, _ := json.Marshal(p.tensor)
		file, _ := json.Marshal(p.file)
		parts = append(parts, string(name)+": "+string(file))
	}
	return []byte(`{"metadata": {"total_size": 1}, "weight_map": {` + strings.Join(parts, ", ") + "}}")
}

// put writes files into a directory, the empty name standing for a directory.
func put(t testing.TB, dir string, files map[string][]byte) string {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func surveyed(t testing.TB, path string) *Checkpoint {
	t.Helper()
	c, err := Survey(t.Context(), path, Options{Headers: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
}

// twoShards is a set with an index.
func twoShards() map[string][]byte {
	return map[string][]byte{
		"config.json":                      []byte("{}"),
		"model-00001-of-00002.safetensors": weights(toy{"a", 8}, toy{"layers.0.w", 16}),
		"model-00002-of-00002.safetensors": weights(toy{"layers.1.w", 24}),
		"model.safetensors.index.json": indexOf(entryPair{"layers.1.w", "model-00002-of-00002.safetensors"},
			entryPair{"a", "model-00001-of-00002.safetensors"}, entryPair{"layers.0.w", "model-00001-of-00002.safetensors"}),
	}
}
