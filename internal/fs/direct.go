package fs

// Alignment is what offsets, lengths and addresses of direct reads of a file
// have to be multiples of.
type Alignment struct {
	Memory, Offset int
	// Assumed: the file system does not say, the numbers are those that all
	// accept.
	Assumed bool
}

// State is what a file looks like from outside. A file with an equal one later is
// most probably unchanged: contents are not looked at. A field that the system
// does not have is 0.
type State struct {
	Size     int64
	Modified int64 // nanoseconds since 1970
	Changed  int64 // the same, of the inode
	Inode    uint64
	Device   uint64
}
