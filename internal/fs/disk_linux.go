package fs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// DiskReads is how many bytes the block device below a path has read so far, for
// anyone. A file system that has no single device of its own, such as overlay or
// nfs, is an error that matches errors.ErrUnsupported.
func DiskReads(path string) (int64, error) {
	major, minor, err := driveNumber(path)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", major, minor))
	if err != nil {
		return 0, &UnsupportedError{Feature: "disk statistics", Reason: "the file system has no block device of its own"}
	}
	return sectorsRead(string(text))
}

// sectorsRead takes the third number of a block device's statistics, which counts
// 512 bytes whatever the device's sectors are.
func sectorsRead(text string) (int64, error) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return 0, &UnsupportedError{Feature: "disk statistics", Reason: "the kernel gives them in another form"}
	}
	n, err := strconv.ParseUint(fields[2], 10, 53)
	if err != nil {
		return 0, &UnsupportedError{Feature: "disk statistics", Reason: "the kernel gives them in another form"}
	}
	return int64(n) * 512, nil
}
