//go:build unix

package fs

import (
	"os"
	"syscall"
)

// statBlock is the unit of st_blocks, whatever the file system's block is.
const statBlock = 512

// Sparse reports whether fewer bytes are allocated to a file than it is long.
// It costs nothing beyond the stat that gave fi, and it is only half an
// answer: space reserved in advance (fallocate) is allocated, and for [Holes]
// still a hole until it is written.
func Sparse(fi os.FileInfo) bool {
	n, ok := Allocated(fi)
	return ok && n < fi.Size()
}

// Allocated gives the bytes that the file system has set aside for a file.
func Allocated(fi os.FileInfo) (int64, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Blocks * statBlock, true
}
