package synth

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A disk without room is named before and while files are written, and what
// was made is taken away.
func TestDiskFullLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	for name, opts := range map[string]Options{"preset": {Preset: "mini"}, "sparse": {Full: true, Layers: 8, Experts: 4000}} {
		_, err := Synth(t.Context(), "kimi-k3", filepath.Join(dir, "x"), opts)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v %v", name, left, err)
		}
	}
}
