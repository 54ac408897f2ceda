package shard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
// sizes and headers, wherever they lie now. The error is a *StaleError.
func (p *Plan) Check(c *checkpoint.Checkpoint) error {
	var now []SourceFile
	for _, f := range c.Files {
		if f.Indexed && f.Header != nil {
			now = append(now, SourceFile{f.Name, f.Size, f.Header.DataStart, hex.EncodeToString(f.Header.SHA256[:])})
		}
	}
	if p.Source.Fingerprint == fingerprint(now) && p.Source.Fingerprint == fingerprint(p.Source.Files) {
		return nil
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
