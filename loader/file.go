package loader

import "os"

// File is one weight file, open for reading.
type File struct {
	Name string // as in the plan
	Path string
	Size int64
	// Align is what offsets, lengths and addresses of direct reads are
	// multiples of; 1 where the file is read through the page cache.
	Align  int
	Direct bool
	// Reason says why the file is not read directly, where it is not.
	Reason string

	f *os.File
}
