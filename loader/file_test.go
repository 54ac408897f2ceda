package loader

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenFile(t *testing.T) {
	path, data := weights(t, 10_000)
	for _, direct := range []bool{true, false} {
		f := openWeights(t, path, direct)
		if f.Size != int64(len(data)) || f.Name != "weights.bin" || f.Path != path {
			t.Errorf("%+v", f)
		}
		if f.Direct != (f.Reason == "") || f.Direct != (f.Align > 1) || f.Direct && !direct || f.Align > pageSize {
			t.Errorf("direct %v, alignment %d, %q", f.Direct, f.Align, f.Reason)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if f := openWeights(t, empty, true); f.Size != 0 {
		t.Errorf("%d bytes", f.Size)
	}
}

func TestOpenFileRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenFile(dir, "x", true); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := OpenFile(filepath.Join(dir, "none"), "x", true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// A change of a file between two looks is seen, by whoever has it open.
func TestFileStat(t *testing.T) {
	path, _ := weights(t, 10_000)
	f := openWeights(t, path, true)
	before, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if same, err := f.Stat(); err != nil || same != before {
		t.Errorf("%+v, %v, before %+v", same, err, before)
	}
	if err := os.Truncate(path, 9_999); err != nil {
		t.Fatal(err)
	}
	if after, err := f.Stat(); err != nil || after == before {
		t.Errorf("%+v, %v", after, err)
	}
}

func TestStaging(t *testing.T) {
	for _, tc := range []struct {
		pinned, block int64
		slots         int
	}{{1, 64 << 10, 1}, {1 << 20, 64 << 10, 16}, {1<<20 + 5, 4096, 256}} {
		s, err := NewStaging(tc.pinned, tc.block)
		if err != nil {
			t.Fatal(err)
		}
		if s.Slots() != tc.slots || int64(len(s.Area())) != int64(tc.slots)*tc.block || s.Kind() == "" {
			t.Errorf("%d by %d: %d slots, %d bytes", tc.pinned, tc.block, s.Slots(), len(s.Area()))
		}
		for i := range s.Slots() {
			if slot := s.Slot(i); int64(len(slot)) != tc.block || cap(slot) != len(slot) || &slot[0] != &s.Area()[int64(i)*tc.block] {
				t.Fatalf("slot %d has %d bytes", i, len(slot))
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, block := range []int64{0, -4096, 1000} {
		if _, err := NewStaging(1<<20, block); err == nil {
			t.Errorf("slots of %d bytes", block)
		}
	}
	if _, err := NewStaging(1<<45, 1<<20); !errors.Is(err, ErrMemory) {
		t.Errorf("32 TiB: %v", err)
	}
}

func TestNewEngineUnknown(t *testing.T) {
	if _, _, err := NewEngine("mmap", EngineOptions{}); err == nil {
		t.Error("an engine that maps")
	}
}
