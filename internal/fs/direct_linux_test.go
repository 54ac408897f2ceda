package fs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func direct(t *testing.T, size int) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
	f, _, err := OpenRegular(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// What was read is in the cache, and is not after DropCache; direct reads leave it
// as it is.
func TestCache(t *testing.T) {
	const size = mib + 100
	f := direct(t, size)
	buf := make([]byte, size)
	if _, err := f.ReadAt(buf, 0); err != nil {
		t.Fatal(err)
	}
	n, err := Resident(f)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || n < size {
		t.Fatalf("%d bytes are in memory of %d that were just read, %v", n, size, err)
	}
	if err := DropCache(f); err != nil {
		t.Fatal(err)
	}
	if TypeOf(f.Name()) == "tmpfs" {
		t.Skip("the temporary directory lies in memory")
	}
	if n, err := Resident(f); err != nil || n != 0 {
		t.Errorf("%d bytes are left, %v", n, err)
	}
	if a, err := DirectAlign(f); err != nil || a.Offset <= 0 || a.Offset&(a.Offset-1) != 0 {
		t.Skip("no direct reads here:", a, err)
	}
	if err := SetDirect(f, true); err != nil {
		t.Skip("no direct reads here:", err)
	}
	cached, err := ProbeDirect(f, size)
	if err != nil {
		t.Skip("no direct reads here:", err)
	}
	if n, err := Resident(f); err != nil || (n != 0) != cached {
		t.Errorf("%d bytes are in memory, %v; the probe says %v", n, err, cached)
	}
}

// A file system that reads through the cache all the same is found out: here
// because the descriptor was never switched.
func TestProbeFindsTheCache(t *testing.T) {
	f := direct(t, mib)
	if err := DropCache(f); err != nil {
		t.Fatal(err)
	}
	if n, err := Resident(f); err != nil || n != 0 {
		t.Skip("the cache cannot be emptied here:", n, err)
	}
	if cached, err := ProbeDirect(f, mib); err != nil || !cached {
		t.Errorf("%v, %v", cached, err)
	}
}

func TestStateOf(t *testing.T) {
	f := direct(t, 100)
	before, err := StateOf(f)
	if err != nil || before.Size != 100 || before.Inode == 0 || before.Modified == 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	if same, err := StateOf(f); err != nil || same != before {
		t.Errorf("%+v, %v", same, err)
	}
	if err := os.Truncate(f.Name(), 99); err != nil {
		t.Fatal(err)
	}
	if after, err := StateOf(f); err != nil || after == before {
		t.Errorf("%+v, %v", after, err)
	}
}

func TestSectorsRead(t *testing.T) {
	for text, want := range map[string]int64{
		"   12 0 34 5 6 7 8 9 0 1 2": 34 * 512, "1 2": -1, "": -1, "a b c": -1,
	} {
		if got, err := sectorsRead(text); (err != nil) != (want == -1) || err == nil && got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	if n, err := DiskReads("/"); err == nil && n < 0 {
		t.Errorf("%d bytes", n)
	}
	if _, err := DiskReads("/proc"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("proc has a drive: %v", err)
	}
}
