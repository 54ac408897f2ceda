package checkpoint

import (
	"crypto/sha256"
	"fmt"

	"ckpt/internal/fs"
	"ckpt/internal/names"
	"ckpt/safetensors"
)

// Index is a checkpoint's index.
type Index struct {
	Name         string
	Size         int64 // bytes
	SHA256       [sha256.Size]byte
	Err          error // why it could not be read: I/O, or a *safetensors.FormatError
	TotalSize    int64 // bytes of all tensors, if HasTotalSize
	HasTotalSize bool
	Problems     []*safetensors.FormatError // with which it can be read
	Entries      []IndexEntry               // in the order of the file
	Files        []string                   // as the weight map spells them, by first occurrence
	Duplicates   []IndexEntry               // further entries of names that were there already
	where        *names.Map
}

// IndexEntry says that a tensor is in a file.
type IndexEntry struct {
	Key  names.Key
	File uint32 // of Index.Files
}

// Find finds the first entry of a name.
func (x *Index) Find(k names.Key) (*IndexEntry, bool) {
	i, ok := x.where.Get(k)
	if !ok {
		return nil, false
	}
	return &x.Entries[i], true
}

// Position is the place of a name in Entries.
func (x *Index) Position(k names.Key) (int, bool) {
	i, ok := x.where.Get(k)
	return int(i), ok
}

// readIndex reads the index at path.
func readIndex(path, name string, table *names.Table) *Index {
	x := &Index{Name: name, where: &names.Map{}}
	data, err := fs.ReadRegular(path, safetensors.MaxIndex)
	if err != nil {
		x.Err = err
		return x
	}
	x.Size = int64(len(data))
	hashed := make(chan struct{})
	go func() { // beside the parsing: neither needs the other
		defer close(hashed)
		x.SHA256 = sha256.Sum256(data)
	}()
	x.parse(data, table)
	<-hashed
	return x
}

func (x *Index) parse(data []byte, table *names.Table) {
	// An entry of the weight map takes at least 8 bytes: "":"a.b",
	const typical = 110
	x.Entries = make([]IndexEntry, 0, len(data)/typical+16)
	cache := table.NewCache()
	files := map[string]uint32{}
	last, lastID := "", uint32(0)
	info, err := safetensors.ScanIndex(data, func(name, file []byte, _ int) {
		if string(file) != last || len(x.Files) == 0 {
			id, ok := files[string(file)]
			if !ok {
				id = uint32(len(x.Files))
				x.Files = append(x.Files, string(file))
				files[x.Files[id]] = id
			}
			last, lastID = x.Files[id], id
		}
		e := IndexEntry{cache.Intern(name), lastID}
		if _, added := x.where.Put(e.Key, uint32(len(x.Entries))); !added {
			x.Duplicates = append(x.Duplicates, e)
			return
		}
		x.Entries = append(x.Entries, e)
	}, func(p *safetensors.FormatError) {
		const most = 1000
		if len(x.Problems) < most {
			x.Problems = append(x.Problems, p)
		}
	})
	if err != nil {
		x.Err = fmt.Errorf("%s: %w", x.Name, err)
		return
	}
	if len(x.Entries) == 0 {
		x.Err = fmt.Errorf("%s: %w", x.Name, &safetensors.FormatError{Kind: safetensors.Syntax, Msg: "the weight map gives no tensor a file"})
		return
	}
	x.TotalSize, x.HasTotalSize = info.TotalSize, info.HasTotalSize
}
