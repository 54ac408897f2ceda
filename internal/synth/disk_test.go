package synth

import (
	"io/fs"
	"path/filepath"
	"testing"

	ckptfs "ckpt/internal/fs"
)

// diskUsage is what the files of a directory take on the disk.
func diskUsage(t *testing.T, dir string) int64 {
	t.Helper()
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n, _ := ckptfs.Allocated(info)
		sum += n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
