package loader

import (
	ckptfs "ckpt/internal/fs"
)

// cool looks at what of the files lies in memory, after it was dropped where
// that was asked for.
func (l *load) cool() error {
	c := &l.result.Cold
	c.Asked = l.o.Cold
	if l.o.Cold {
		for _, f := range l.files {
			if err := f.drop(); err != nil {
				l.note("%s stays in the page cache: %v", f.Name, err)
				break
			}
		}
	}
	if c.Before = resident(l.files); l.o.Cold && c.Before > 0 {
		l.note("%d bytes of the files are in the page cache although they were dropped", c.Before)
	}
	return nil
}

func (s *sourceFile) drop() error {
	f, _, err := ckptfs.OpenRegular(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return ckptfs.DropCache(f)
}

// resident is how many bytes of the files lie in memory, -1 where that is not
// known.
func resident(list []*sourceFile) int64 {
	sum := int64(0)
	for _, s := range list {
		f, _, err := ckptfs.OpenRegular(s.path)
		if err != nil {
			return -1
		}
		n, err := ckptfs.Resident(f)
		f.Close()
		if err != nil {
			return -1
		}
		sum += n
	}
	return sum
}

// diskReads is what the drive below a path has read so far.
func diskReads(path string) (int64, bool) {
	n, err := ckptfs.DiskReads(path)
	return n, err == nil
}

// disk fills in what the drive read meanwhile.
func (l *load) disk(before int64, known bool) {
	after, ok := diskReads(l.dir)
	if !known || !ok {
		return
	}
	b := &l.result.Bytes
	if b.Disk = after - before; b.Payload > 0 {
		b.Drive = float64(b.Disk) / float64(b.Payload)
	}
}
