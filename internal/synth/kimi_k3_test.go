package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// The release's own numbers, as its publisher lists them.
const (
	k3Index     = "a1c5210650ce71d2d3ae9ec5a101ac4afd3cf4b10091be589853437eb967febd"
	k3Config    = "9710e121a58d03ac92c8d6da287a19541994319afbbe6d6202af001ffd379213"
	k3TotalSize = 1_560_860_324_864
	k3FileBytes = 1_560_936_091_448
	k3Tensors   = 497_220
)

func TestFullKimiK3IsTheRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 136 MB")
	}
	dir := filepath.Join(t.TempDir(), "k3")
	r, err := Synth(t.Context(), "kimi-k3", dir, Options{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Tensors != k3Tensors || r.TotalSize != k3TotalSize || r.FileBytes != k3FileBytes || r.Files != 96 {
		t.Errorf("%+v", r)
	}
	if got := fileHash(t, filepath.Join(dir, "config.json")); got != k3Config {
		t.Errorf("config.json: %s", got)
	}
	if got := fileHash(t, filepath.Join(dir, IndexFile)); got != k3Index {
		t.Errorf("index: %s", got)
	}
	for _, s := range k3Shards(t) {
		size, hash := headerHash(t, filepath.Join(dir, s.File))
		if size != s.Bytes || hash != s.Header {
			t.Errorf("%s: %d bytes, header %s, not %d, %s", s.File, size, hash, s.Bytes, s.Header)
		}
	}
	if disk := diskUsage(t, dir); disk > 140<<20 {
		t.Errorf("%d bytes of disk", disk)
	}
}

type k3Shard struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	Header string `json:"header_sha256"`
}

func k3Shards(t *testing.T) []k3Shard {
	t.Helper()
	text, err := os.ReadFile("testdata/kimi-k3-shards.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Shards []k3Shard }
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Shards) != 96 {
		t.Fatalf("%d shards", len(doc.Shards))
	}
	return doc.Shards
}

func fileHash(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// headerHash is a file's size and the hash of its header without the prefix.
func headerHash(t *testing.T, path string) (int64, string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var prefix [8]byte
	if _, err := io.ReadFull(f, prefix[:]); err != nil {
		t.Fatal(err)
	}
	header := make([]byte, binary.LittleEndian.Uint64(prefix[:]))
	if _, err := io.ReadFull(f, header); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(header)
	return info.Size(), hex.EncodeToString(sum[:])
}
