package fs

// Extents says how a file lies on its device.
type Extents struct {
	// Count is the number of extents that the file system keeps. A file in
	// one piece has several where one extent has a limit (128 MiB on ext4).
	Count int
	// Runs is the number of pieces that do not follow each other on the
	// device: 1 for a file in one piece, 0 for one without data.
	Runs int
}

// extent is one record of the file system's map, in bytes.
type extent struct {
	logical, physical, length uint64
	unplaced                  bool // has no place on the device yet
}

// add counts one more extent, which follows prev in the file.
func (e *Extents) add(prev, next extent) {
	if e.Count == 0 || !follows(prev, next) {
		e.Runs++
	}
	e.Count++
}

func follows(prev, next extent) bool {
	if prev.unplaced || next.unplaced {
		return prev.unplaced && next.unplaced
	}
	return prev.physical+prev.length == next.physical
}
