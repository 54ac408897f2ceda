package fs

import (
	"errors"
	"testing"
	"testing/fstest"
)

func TestTypeName(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x58465342: "xfs", 0xef53: "ext4", 0x0bd00bd0: "lustre", 0x6969: "nfs",
		0x12345678: "unknown (0x12345678)",
	} {
		if got := typeName(magic); got != want {
			t.Errorf("%#x: %q, want %q", magic, got, want)
		}
	}
}

func TestExtentsMerge(t *testing.T) {
	var e Extents
	var prev extent
	for _, x := range []extent{
		{logical: 0, physical: 1000, length: 100},
		{logical: 100, physical: 1100, length: 100}, // follows
		{logical: 200, physical: 5000, length: 100},
		{logical: 300, length: 10, unplaced: true},
		{logical: 310, length: 10, unplaced: true}, // follows
	} {
		e.add(prev, x)
		prev = x
	}
	if e != (Extents{Count: 5, Runs: 3}) {
		t.Errorf("%+v", e)
	}
}

func TestUnsupported(t *testing.T) {
	err := error(&UnsupportedError{Feature: "FIEMAP", Reason: "because"})
	if !errors.Is(err, errors.ErrUnsupported) || err.Error() != "FIEMAP: because" {
		t.Errorf("%v", err)
	}
}

const mountsV2 = "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
const mountsV1 = "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
	"32 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"

func tree(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:       1000 kB\nMemAvailable:    600 kB\n")}}
	for name, data := range files {
		root[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return root
}

func TestMemory(t *testing.T) {
	for _, tc := range []struct {
		name   string
		files  map[string]string
		limit  int64
		usable int64
	}{
		{"no groups", nil, 0, 1024000},
		{"version 2, none", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountsV2,
			"sys/fs/cgroup/memory.max": "max\n",
		}, 0, 1024000},
		{"version 2, the parent is tighter", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": mountsV2,
			"sys/fs/cgroup/a/memory.max": "4096\n", "sys/fs/cgroup/a/b/memory.max": "8192\n",
		}, 4096, 4096},
		{"version 1", map[string]string{
			"proc/self/cgroup": "4:memory:/job\n0::/\n", "proc/self/mountinfo": mountsV1 + mountsV2,
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "500000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, 500000, 500000},
		{"in a container the group lies outside the mount", map[string]string{
			"proc/self/cgroup":         "0::/kube/pod/x\n",
			"proc/self/mountinfo":      "29 23 0:26 /other /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory.max": "4096\n",
		}, 4096, 4096},
		{"a limit above the machine", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mountsV2,
			"sys/fs/cgroup/memory.max": "99999999\n",
		}, 99999999, 1024000},
		{"nonsense", map[string]string{
			"proc/self/cgroup": "x\n0\n::\n", "proc/self/mountinfo": "a b - c\n\n - cgroup2 x y\n",
		}, 0, 1024000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := readMemory(tree(tc.files))
			if err != nil {
				t.Fatal(err)
			}
			if m.Total != 1024000 || m.Available != 614400 || m.Limit != tc.limit || m.Usable() != tc.usable {
				t.Errorf("%+v usable %d, want limit %d usable %d", m, m.Usable(), tc.limit, tc.usable)
			}
		})
	}
	if _, err := readMemory(fstest.MapFS{}); err == nil {
		t.Error("no error without /proc")
	}
}

func TestQuota(t *testing.T) {
	for _, tc := range []struct {
		files map[string]string
		want  float64
	}{
		{nil, 0},
		{map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"}, 0},
		{map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 1.5},
		{map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "150000 0\n"}, 0},
	} {
		if got := cpuQuota(tree(tc.files)); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.files, got, tc.want)
		}
	}
}
