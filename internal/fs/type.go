package fs

import "fmt"

// typeNames names file systems by the magic number that statfs gives. The
// numbers are those of linux/magic.h where it has them; the others are from
// the sources of the file systems themselves.
var typeNames = map[uint32]string{
	0x0000ef53: "ext4", // ext2 and ext3 have the same number
	0x58465342: "xfs",
	0x9123683e: "btrfs",
	0x2fc12fc1: "zfs",
	0xca451a4e: "bcachefs",
	0xf2f52010: "f2fs",
	0x794c7630: "overlay",
	0x01021994: "tmpfs",
	0x858458f6: "ramfs",
	0x958458f6: "hugetlbfs",
	0x00006969: "nfs",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x65735546: "fuse",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x00c36400: "ceph",
	0x19830326: "beegfs",
	0x013111a8: "ibrix",
	0xaad7aaea: "panfs",
	0x6a656a63: "fakeowner",
	0x01021997: "9p",
	0x6a656a62: "virtiofs",
	0x73717368: "squashfs",
	0xe0f5e1e2: "erofs",
	0x00009660: "isofs",
	0x15013346: "udf",
	0x00004d44: "vfat",
	0x2011bab0: "exfat",
	0x5346544e: "ntfs",
	0x7366746e: "ntfs3",
	0x00009fa0: "proc",
	0x62656572: "sysfs",
	0x0027e0eb: "cgroup",
	0x63677270: "cgroup2",
	0x01161970: "gfs2",
	0x7461636f: "ocfs2",
	0x3153464a: "jfs",
	0x52654973: "reiserfs",
}

// typeName names a magic number, in hexadecimal where it is not in the table.
func typeName(magic uint32) string {
	if s, ok := typeNames[magic]; ok {
		return s
	}
	return fmt.Sprintf("unknown (0x%08x)", magic)
}

// Volume describes the file system that holds a path.
type Volume struct {
	Type     string // "xfs", "ext4", "overlay", …
	ReadOnly bool   // mounted read-only
	Total    int64  // bytes
	Free     int64  // bytes that this user may still write
	Block    int64  // preferred transfer size in bytes
}

// TypeOf names the file system that holds path, for messages: "unknown" where
// it cannot be told.
func TypeOf(path string) string {
	v, err := Stat(path)
	if err != nil {
		return "unknown"
	}
	return v.Type
}
