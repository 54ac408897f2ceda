package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLinks(t *testing.T) {
	repo := t.TempDir()
	hash := strings.Repeat("ab", 32)
	snapshot := filepath.Join(repo, "snapshots", "rev")
	put(t, repo, map[string][]byte{
		"blobs/" + hash:                  []byte("blob"),
		"store":                          []byte("shared"),
		"snapshots/rev/real":             []byte("real"),
		"elsewhere/file":                 []byte("else"),
		"snapshots/rev/nested/file":      nil,
		"blobs/" + strings.ToUpper(hash): nil,
	})
	short := strings.Repeat("cd", 20)
	link(t, "../store", filepath.Join(repo, "blobs", short))
	want := map[string]struct {
		target string
		kind   LinkKind
		hash   string
	}{
		"hub":        {"../../blobs/" + hash, HubLink, hash},
		"two-hop":    {"../../blobs/" + short, HubLink, short},
		"inside":     {"real", InsideLink, ""},
		"outside":    {"../../elsewhere/file", OutsideLink, ""},
		"absolute":   {filepath.Join(repo, "elsewhere", "file"), OutsideLink, ""},
		"upper":      {"../../blobs/" + strings.ToUpper(hash), OutsideLink, ""},
		"broken":     {"nothing", BrokenLink, ""},
		"broken-hub": {"../../blobs/" + strings.Repeat("00", 32), BrokenLink, strings.Repeat("00", 32)},
		"circle":     {"circle", BrokenLink, ""},
		"through":    {"real/file", BrokenLink, ""},
	}
	for name, w := range want {
		link(t, w.target, filepath.Join(snapshot, name))
	}
	entries, err := readDir(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		e := &entries[i]
		w, linked := want[e.Name]
		if !linked {
			if e.Link != NoLink || e.Regular() != (e.Name == "real") {
				t.Errorf("%s: link %d, regular %v", e.Name, e.Link, e.Regular())
			}
			continue
		}
		if e.Link != w.kind || e.HubHash() != w.hash || e.Target != w.target || e.Regular() != (w.kind != BrokenLink) {
			t.Errorf("%s: link %d, hash %q, target %q, regular %v", e.Name, e.Link, e.HubHash(), e.Target, e.Regular())
		}
	}
	if len(entries) != len(want)+2 {
		t.Errorf("%d entries", len(entries))
	}
}

// A directory that cannot be listed is an error of the file system, named.
func TestDirectoryThatIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readDir(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}
