package fs

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Memory is what the machine has and what this process may use of it, in
// bytes. A field that the system does not tell is 0.
type Memory struct {
	Total     int64 // physical
	Available int64 // without swapping, by the kernel's own estimate
	Limit     int64 // least limit of the control groups around this process; 0 is none
	LimitFrom string
	Used      int64 // by the group of that limit
}

// Usable is the memory that this process may fill: the limit of its control
// groups where that is less than the machine has.
func (m Memory) Usable() int64 {
	if m.Limit > 0 && (m.Total == 0 || m.Limit < m.Total) {
		return m.Limit
	}
	return m.Total
}

// noLimit is where a control group's number stops to be a limit: version 1
// writes the largest page-aligned int64 for "none".
const noLimit = math.MaxInt64 / 2

// readMemory reads proc and sys below root.
func readMemory(root fs.FS) (Memory, error) {
	var m Memory
	info, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) { // says it as the file system below root has it
			err = &fs.PathError{Op: at.Op, Path: "/" + at.Path, Err: at.Err}
		}
		return m, err
	}
	m.Total = meminfo(info, "MemTotal")
	m.Available = meminfo(info, "MemAvailable")
	m.Limit, m.LimitFrom = cgroupLimit(root)
	m.Used = cgroupUsed(root, m.LimitFrom)
	return m, nil
}

// meminfo gives one line of /proc/meminfo in bytes, 0 when it is not there.
func meminfo(data []byte, name string) int64 {
	for line := range bytes.Lines(data) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || string(key) != name {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimSpace(string(value)), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n > math.MaxInt64/1024 {
			return 0
		}
		return n * 1024
	}
	return 0
}

// cgroupLimit gives the least memory limit on the way from this process's
// control group to the root, and the file that says so.
func cgroupLimit(root fs.FS) (limit int64, from string) {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, ""
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return 0, ""
	}
	for _, m := range cgroupMounts(mounts) {
		group, ok := groupOf(own, m.v2)
		if !ok {
			continue
		}
		file := "memory.limit_in_bytes"
		if m.v2 {
			file = "memory.max"
		}
		for dir := below(group, m.root); ; dir = path.Dir(dir) {
			p := path.Join(m.point, dir, file)
			if n, ok := readLimit(root, p); ok && (limit == 0 || n < limit) {
				limit, from = n, p
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit, from
}

// readLimit reads one limit; "max", the number that stands for none, and a
// file that is not there are no limit.
func readLimit(root fs.FS, p string) (int64, bool) {
	data, err := fs.ReadFile(root, strings.TrimPrefix(p, "/"))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || n <= 0 || n >= noLimit {
		return 0, false
	}
	return n, true
}

type cgroupMount struct {
	root, point string
	v2          bool
}

// cgroupMounts finds the hierarchies with a memory controller. A line reads
// "36 35 98:0 /root /point options … - type source superoptions".
func cgroupMounts(mountinfo []byte) []cgroupMount {
	var out []cgroupMount
	sc := bufio.NewScanner(bytes.NewReader(mountinfo))
	for sc.Scan() {
		left, right, ok := strings.Cut(sc.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		m := cgroupMount{root: l[3], point: l[4], v2: r[0] == "cgroup2"}
		if m.v2 || r[0] == "cgroup" && hasOption(r[2], "memory") {
			out = append(out, m)
		}
	}
	return out
}

// groupOf finds the process's own group: the line "0::/path" in version 2,
// the line whose controllers name memory in version 1.
func groupOf(own []byte, v2 bool) (string, bool) {
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		if v2 && f[0] == "0" && f[1] == "" || !v2 && hasOption(f[1], "memory") {
			return path.Clean("/" + f[2]), true
		}
	}
	return "", false
}

// below gives a group as seen from the root that is mounted. In a container
// the group may lie outside it; then the mount point itself is the group.
func below(group, root string) string {
	if root == "/" {
		return group
	}
	if rest, ok := strings.CutPrefix(group, root); ok && (rest == "" || rest[0] == '/') {
		return path.Clean("/" + rest)
	}
	return "/"
}

func hasOption(list, want string) bool {
	for o := range strings.SplitSeq(list, ",") {
		if o == want {
			return true
		}
	}
	return false
}

// cpuQuota gives the processors that version 2 control groups allow this
// process, as cpu.max says them; 0 is no limit.
func cpuQuota(root fs.FS) float64 {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	group, ok := groupOf(own, true)
	if !ok {
		return 0
	}
	least := 0.0
	for dir := group; ; dir = path.Dir(dir) {
		q, err := readQuota(root, path.Join("sys/fs/cgroup", dir, "cpu.max"))
		if err == nil && (least == 0 || q < least) {
			least = q
		}
		if dir == "/" {
			return least
		}
	}
}

var errNoQuota = errors.New("no limit")

func readQuota(root fs.FS, p string) (float64, error) {
	data, err := fs.ReadFile(root, p)
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(data))
	if len(f) != 2 {
		return 0, errNoQuota
	}
	quota, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		return 0, errNoQuota // "max"
	}
	period, err := strconv.ParseFloat(f[1], 64)
	if err != nil || period <= 0 || quota <= 0 {
		return 0, errNoQuota
	}
	return quota / period, nil
}
