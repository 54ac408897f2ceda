package convert

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"ckpt/internal/synth"
)

// Space is asked for before the first byte, and holes need none.
func TestSliceAsksForSpace(t *testing.T) {
	sparse := source(t, "kimi-k3", synth.Options{Full: true, Layers: 3})
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	dst := filepath.Join(dir, "x")
	if _, err := Slice(t.Context(), shared, dst, 4, SliceOptions{}); !errors.Is(err, syscall.ENOSPC) || list(t, dir) != "" {
		t.Errorf("%v, directory: %s", err, list(t, dir))
	}
	if _, err := Slice(t.Context(), sparse, dst, 2, SliceOptions{}); err != nil {
		t.Error(err)
	}
}
