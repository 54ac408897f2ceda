package fs

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestMemoryFree(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	meminfo := file("MemTotal: 4096 kB\nMemAvailable: 3072 kB\n")
	cases := map[string]struct {
		root fstest.MapFS
		free int64
	}{
		"no limit": {fstest.MapFS{"proc/meminfo": meminfo}, 3 << 20},
		"version 2": {fstest.MapFS{
			"proc/meminfo":           meminfo,
			"proc/self/cgroup":       file("0::/a/b\n"),
			"proc/self/mountinfo":    file("30 1 0:1 / /cg rw - cgroup2 cgroup2 rw\n"),
			"cg/a/memory.max":        file("2097152\n"),
			"cg/a/memory.current":    file("1572864\n"),
			"cg/a/memory.stat":       file("anon 1\ninactive_file 524288\nactive_file 7\n"),
			"cg/a/b/memory.max":      file("max\n"),
			"cg/a/b/memory.current":  file("1\n"),
			"cg/a/b/ignored.current": file("1\n"),
		}, 1 << 20},
		"version 1, used up": {fstest.MapFS{
			"proc/meminfo":             meminfo,
			"proc/self/cgroup":         file("4:memory:/\n"),
			"proc/self/mountinfo":      file("30 1 0:1 / /cg rw - cgroup cgroup rw,memory\n"),
			"cg/memory.limit_in_bytes": file("1048576\n"),
			"cg/memory.usage_in_bytes": file("1048577\n"),
		}, 0},
		"the machine has less": {fstest.MapFS{
			"proc/meminfo":             meminfo,
			"proc/self/cgroup":         file("4:memory:/\n"),
			"proc/self/mountinfo":      file("30 1 0:1 / /cg rw - cgroup cgroup rw,memory\n"),
			"cg/memory.limit_in_bytes": file("8388608\n"),
			"cg/memory.usage_in_bytes": file("nonsense\n"),
		}, 3 << 20},
	}
	if _, err := readMemory(fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), " /proc/meminfo: ") {
		t.Errorf("without meminfo: %v", err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := readMemory(c.root)
			if err != nil {
				t.Fatal(err)
			}
			if m.Free() != c.free {
				t.Errorf("%d free of %+v, want %d", m.Free(), m, c.free)
			}
		})
	}
}
