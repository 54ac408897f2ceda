package fs

import (
	"math"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// Stat describes the file system that holds path.
func Stat(path string) (Volume, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(path, &st)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return Volume{}, &os.PathError{Op: "statfs", Path: path, Err: err}
		}
	}
	return Volume{
		Type:     typeName(uint32(st.Type)),
		ReadOnly: st.Flags&unix.ST_RDONLY != 0,
		Total:    blocks(st.Blocks, st.Bsize),
		Free:     blocks(st.Bavail, st.Bsize),
		Block:    st.Bsize,
	}, nil
}

// blocks is n blocks in bytes, at most MaxInt64: some network file systems
// answer with a number of blocks that stands for "no limit".
func blocks(n uint64, size int64) int64 {
	hi, lo := bits.Mul64(n, uint64(max(size, 0)))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}
