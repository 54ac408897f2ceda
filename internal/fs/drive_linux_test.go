package fs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes the files of a small /sys.
func sysTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadDrive(t *testing.T) {
	sys := sysTree(t, map[string]string{
		"devices/nvme0/nvme0n1/size":                 "1000215216\n",
		"devices/nvme0/nvme0n1/queue/rotational":     "0\n",
		"devices/nvme0/nvme0n1/device/model":         "SAMSUNG MZVL21T0HCLR-00B00              \n",
		"devices/nvme0/nvme0n1/nvme0n1p2/size":       "100\n",
		"devices/nvme0/nvme0n1/nvme0n1p2/partition":  "2\n",
		"devices/virtual/block/md0/size":             "8\n",
		"devices/virtual/block/md0/slaves/nvme1n1":   "",
		"devices/virtual/block/md0/slaves/nvme2n1":   "",
		"devices/virtual/block/md0/queue/rotational": "1\n",
		"dev/block/.keep":                            "",
	})
	for number, to := range map[string]string{"259:2": "devices/nvme0/nvme0n1/nvme0n1p2", "9:0": "devices/virtual/block/md0"} {
		if err := os.Symlink("../../"+to, filepath.Join(sys, "dev/block", number)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		major, minor uint32
		want         Drive
	}{
		{259, 2, Drive{Name: "nvme0n1", Kind: "nvme", Model: "SAMSUNG MZVL21T0HCLR-00B00", Bytes: 1000215216 * 512}},
		{9, 0, Drive{Name: "md0", Kind: "raid", Bytes: 4096, Rotational: true, Members: []string{"nvme1n1", "nvme2n1"}}},
	} {
		got, err := readDrive(sys, c.major, c.minor)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Error(d)
		}
	}
	if _, err := readDrive(sys, 1, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

func TestMountSource(t *testing.T) {
	table := filepath.Join(sysTree(t, map[string]string{"mountinfo": `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
40 35 0:27 / /data rw,relatime shared:9 - btrfs /dev/sdb1 rw,space_cache
41 35 0:30 / /tmp rw - tmpfs tmpfs rw
short
`}), "mountinfo")
	for minor, want := range map[uint32]string{27: "/dev/sdb1", 30: "tmpfs"} {
		if got, err := mountSource(table, 0, minor); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := mountSource(table, 0, 99); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

func TestDriveOfWhatHasNone(t *testing.T) {
	if d, err := DriveOf("/proc"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := DriveOf(filepath.Join(t.TempDir(), "no")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	d, err := DriveOf(t.TempDir())
	t.Logf("%+v %v", d, err)
}
