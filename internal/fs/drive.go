package fs

// Drive is the block device that a file system lies on.
type Drive struct {
	Name       string   // "nvme0n1", "vda", "md0"
	Kind       string   // "nvme", "virtio", "scsi", "raid", "mapped", "loop"; empty where it is another
	Model      string   // as the drive says it; may be empty
	Bytes      int64    // its size
	Rotational bool     // a disk that turns, or one that says so
	Members    []string // the devices that it is put together from
}
