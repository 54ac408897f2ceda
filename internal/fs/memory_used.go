package fs

import (
	"bytes"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Free is the memory that this process could still fill: what is available, or
// what its control groups leave where that is less.
func (m Memory) Free() int64 {
	if m.Limit > 0 {
		return max(0, min(m.Available, m.Limit-m.Used))
	}
	return m.Available
}

// cgroupUsed is what a control group uses and could not give back at once, by
// the file of its limit: all it is charged for without the page cache that
// nobody uses. 0 where it is not said.
func cgroupUsed(root fs.FS, from string) int64 {
	if from == "" {
		return 0
	}
	usage, cache := "memory.current", "inactive_file"
	if path.Base(from) == "memory.limit_in_bytes" {
		usage, cache = "memory.usage_in_bytes", "total_inactive_file"
	}
	dir := strings.TrimPrefix(path.Dir(from), "/")
	data, err := fs.ReadFile(root, path.Join(dir, usage))
	if err != nil {
		return 0
	}
	used, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || used < 0 {
		return 0
	}
	stat, err := fs.ReadFile(root, path.Join(dir, "memory.stat"))
	if err != nil {
		return used
	}
	for line := range bytes.Lines(stat) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if n, err := strconv.ParseInt(value, 10, 64); name == cache && err == nil && n > 0 {
			return max(0, used-n)
		}
	}
	return used
}
