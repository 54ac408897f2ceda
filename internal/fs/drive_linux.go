package fs

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// DriveOf says which drive holds a path. File systems without one, in memory or
// on a network, are an *UnsupportedError.
func DriveOf(path string) (Drive, error) {
	major, minor, err := driveNumber(path)
	if err != nil {
		return Drive{}, err
	}
	return readDrive("/sys", major, minor)
}

// driveNumber is the device number of the drive below a path. File systems that
// span devices (btrfs, overlays) have a number of their own; the mount table then
// names the device.
func driveNumber(path string) (major, minor uint32, err error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	major, minor = unix.Major(st.Dev), unix.Minor(st.Dev)
	if major != 0 {
		return major, minor, nil
	}
	source, err := mountSource("/proc/self/mountinfo", major, minor)
	if err != nil {
		return 0, 0, err
	}
	if !strings.HasPrefix(source, "/dev/") || unix.Stat(source, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return 0, 0, &UnsupportedError{"drive", fmt.Sprintf("%s lies on %s", TypeOf(path), source)}
	}
	return unix.Major(st.Rdev), unix.Minor(st.Rdev), nil
}

// mountSource finds what is mounted with a device number.
func mountSource(table string, major, minor uint32) (string, error) {
	f, err := os.Open(table)
	if err != nil {
		return "", err
	}
	defer f.Close()
	number := fmt.Sprintf("%d:%d", major, minor)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// ID parent major:minor root mount-point options optional… - type source …
		left, right, _ := strings.Cut(lines.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) > 2 && len(r) > 1 && l[2] == number {
			return r[1], nil
		}
	}
	return "", errors.Join(lines.Err(), &UnsupportedError{"drive", "the mount table does not have device " + number})
}

// readDrive reads what the kernel says of a device, of a partition's whole drive.
func readDrive(sys string, major, minor uint32) (Drive, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(sys, "dev/block", fmt.Sprintf("%d:%d", major, minor)))
	if err != nil {
		return Drive{}, &UnsupportedError{"drive", err.Error()}
	}
	if _, err := os.Lstat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	d := Drive{Name: filepath.Base(dir), Model: sysText(dir, "device/model"), Rotational: sysText(dir, "queue/rotational") == "1"}
	if n, err := strconv.ParseInt(sysText(dir, "size"), 10, 54); err == nil {
		d.Bytes = n * 512
	}
	members, _ := os.ReadDir(filepath.Join(dir, "slaves"))
	for _, m := range members {
		d.Members = append(d.Members, m.Name())
	}
	for _, k := range []struct{ prefix, kind string }{
		{"nvme", "nvme"}, {"vd", "virtio"}, {"sd", "scsi"}, {"md", "raid"}, {"dm-", "mapped"}, {"loop", "loop"},
	} {
		if strings.HasPrefix(d.Name, k.prefix) {
			d.Kind = k.kind
		}
	}
	return d, nil
}

func sysText(dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
