package shard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"ckpt/checkpoint"
)

// fingerprint is the SHA-256 over a line a file: its name in quotes, its size
// and the hash of its header. Two checkpoints with one fingerprint have the same
// tensors in the same places.
func fingerprint(files []SourceFile) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%q %d %s\n", f.Name, f.Size, f.HeaderSHA256)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Check compares the checkpoint with the one that was planned: the same files,
// sizes and headers, wherever they lie now; and every tensor of the program with
// the header that has it. The error is a *StaleError.
func (p *Plan) Check(c *checkpoint.Checkpoint) error {
	var now []SourceFile
	for _, f := range c.Files {
		if f.Indexed && f.Header != nil {
			now = append(now, SourceFile{f.Name, f.Size, f.Header.DataStart, hex.EncodeToString(f.Header.SHA256[:])})
		}
	}
	if p.Source.Fingerprint == fingerprint(now) && p.Source.Fingerprint == fingerprint(p.Source.Files) {
		return p.agrees(c)
	}
	var list []string
	there := map[string]SourceFile{}
	for _, f := range now {
		there[f.Name] = f
	}
	for _, was := range p.Source.Files {
		is, ok := there[was.Name]
		delete(there, was.Name)
		switch {
		case !ok:
			list = append(list, was.Name+" is gone")
		case is.Size != was.Size:
			list = append(list, fmt.Sprintf("%s has %d bytes, %d were planned", was.Name, is.Size, was.Size))
		case is.HeaderSHA256 != was.HeaderSHA256:
			list = append(list, was.Name+" has another header")
		}
	}
	for _, f := range now {
		if _, ok := there[f.Name]; ok {
			list = append(list, f.Name+" is new")
		}
	}
	if len(list) == 0 {
		list = append(list, "the fingerprint is not that of the files")
	}
	return &StaleError{list}
}

// agrees compares the pieces of the program with the tensors of the headers, in
// the order of both.
func (p *Plan) agrees(c *checkpoint.Checkpoint) error {
	if p.Program == nil {
		return nil
	}
	a := agreement{Plan: p, c: c, next: -1}
	for _, f := range c.Files {
		if f.Indexed && f.Header != nil {
			a.files = append(a.files, inOrder(f.Records))
		}
	}
	for i := range p.Program.Extents {
		e := &p.Program.Extents[i]
		for k := range e.Runs {
			r := &e.Runs[k]
			for record := range r.Records() {
				for n := range r.Pieces {
					if why := a.piece(e.File, r, &r.Pieces[n], record); why != "" {
						return &StaleError{[]string{why}}
					}
				}
			}
		}
	}
	return nil
}

// agreement walks along the records of the files.
type agreement struct {
	*Plan
	c         *checkpoint.Checkpoint
	files     [][]checkpoint.Record
	file      int
	next      int // record of file; −1 before the first piece
	has, want []byte
}

func (a *agreement) piece(file int, r *Run, c *Piece, record int64) string {
	if file != a.file || a.next < 0 {
		a.file, a.next = file, 0
	}
	t := &a.Program.Templates[c.Template]
	f := &a.Families[t.Family]
	at := r.Offset + record*r.Stride + c.Offset
	list := a.files[file]
	a.want = appendFilled(a.want[:0], f.Pattern, c.Layer, a.Program.expert(r, c, record), c.Block)
	for ; a.next < len(list); a.next++ {
		x := &list[a.next]
		if x.Offset < at || x.Offset == at && x.Size != t.Bytes {
			continue
		}
		if a.has = a.c.Names.Append(a.has[:0], x.Key); x.Offset == at && x.Size == 0 && string(a.has) != string(a.want) {
			continue // one of several tensors without bytes
		}
		spec := a.c.Spec(x.Spec)
		if x.Offset > at || string(a.has) != string(a.want) || spec.DType.String() != f.DType || !slices.Equal(spec.Shape, f.Shape) {
			break
		}
		a.next++
		return ""
	}
	return fmt.Sprintf("%s has no tensor %s, %s %v, at %d", a.Source.Files[file].Name, a.want, f.DType, f.Shape, at)
}
