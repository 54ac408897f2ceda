package loader

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"ckpt/shard"
)

// Manifest lists the hashes that were taken; nil where none were.
func (l *Loaded) Manifest() *Manifest {
	if l.hashes == nil {
		return nil
	}
	h := l.hashes
	m := &Manifest{}
	for i, f := range l.Plan.Source.Files {
		m.Files = append(m.Files, ManifestFile{Name: f.Name, Bytes: f.Size, SHA256: h.files[i]})
	}
	h.each(func(r *run, n int64, name string, at, bytes int64) {
		f := &m.Files[r.file]
		f.Tensors = append(f.Tensors, ManifestTensor{name, bytes, h.sums[n]})
	})
	return m
}

// each goes over the tensors that were hashed, in the order of the files.
func (h *hashes) each(do func(r *run, n int64, name string, at, bytes int64)) {
	empty := xxh3.Hash128(nil).Bytes()
	for i := range h.runs {
		r := &h.runs[i]
		for k := range r.Records() {
			for p := range r.Pieces {
				c := &r.Pieces[p]
				n := r.first + k*int64(len(r.Pieces)) + int64(p)
				bytes := h.kinds[c.Template].bytes
				if bytes == 0 {
					h.sums[n], h.taken[n] = empty, true
				}
				if h.taken[n] {
					do(r, n, h.tensorName(r, c, k), r.from+k*r.stride+c.Offset, bytes)
				}
			}
		}
	}
}

// mostFailed bounds the mismatches that are listed.
const mostFailed = 20

func (v *VerifyResult) fail(m Mismatch) {
	if v.Failures++; len(v.Failed) < mostFailed {
		v.Failed = append(v.Failed, m)
	}
}

// compareManifest holds the hashes against those of another load. Tensors are
// found by name, wherever they lie.
func (l *load) compareManifest(m *Manifest) {
	v := &l.result.Verify
	type known struct {
		bytes int64
		sum   [16]byte
	}
	of := map[xxh3.Uint128]known{} // by the hash of the name, which is a tenth of it
	for i := range m.Files {
		for _, t := range m.Files[i].Tensors {
			of[xxh3.HashString128(t.Name)] = known{t.Bytes, t.XXH3}
		}
	}
	missing := int64(0)
	l.hashes.each(func(r *run, n int64, name string, at, bytes int64) {
		want, ok := of[xxh3.HashString128(name)]
		if !ok {
			missing++
			v.fail(Mismatch{Name: name, File: l.plan.Source.Files[r.file].Name, Offset: at, Want: "a hash in the manifest", Got: "none"})
			return
		}
		v.Compared++
		if got := l.hashes.sums[n]; want.bytes != bytes || want.sum != got {
			v.fail(Mismatch{
				Name: name, File: l.plan.Source.Files[r.file].Name, Offset: at,
				Want: fmt.Sprintf("%d bytes, xxh3-128 %x", want.bytes, want.sum), Got: fmt.Sprintf("%d bytes, xxh3-128 %x", bytes, got),
			})
		}
	})
	if missing > 0 {
		l.note("%d tensors are not in the manifest", missing)
	}
	l.compareFiles(m)
}

// compareFiles holds the files against a manifest: their sizes where it has them,
// and where whole files were hashed, each hash against one of the same name. What
// has no counterpart is a failure, for it was asked for.
func (l *load) compareFiles(m *Manifest) {
	v := &l.result.Verify
	listed := map[string]bool{}
	for _, f := range m.Files {
		i := slices.IndexFunc(l.plan.Source.Files, func(x shard.SourceFile) bool { return x.Name == f.Name })
		if i >= 0 && f.Bytes > 0 && f.Bytes != l.plan.Source.Files[i].Size {
			v.fail(Mismatch{Name: f.Name, File: f.Name, Want: fmt.Sprintf("%d bytes", f.Bytes), Got: fmt.Sprintf("%d bytes", l.plan.Source.Files[i].Size)})
		}
		if !l.o.SHA256 || f.SHA256 == "" {
			continue
		}
		if listed[f.Name] = true; !l.compareFile(f.Name, f.SHA256) {
			v.fail(Mismatch{Name: f.Name, File: f.Name, Want: "sha256 " + f.SHA256, Got: "no such file was hashed"})
		}
	}
	for i, f := range l.plan.Source.Files {
		if l.hashes.files[i] != "" && !listed[f.Name] {
			v.fail(Mismatch{Name: f.Name, File: f.Name, Want: "a SHA-256 in the manifest", Got: "none"})
		}
	}
}

// compareFile holds the SHA-256 of a file against another, and says whether
// both are there.
func (l *load) compareFile(name, want string) bool {
	v := &l.result.Verify
	for i, f := range l.plan.Source.Files {
		got := l.hashes.files[i]
		if f.Name != name || got == "" || want == "" {
			continue
		}
		if b, err := hex.DecodeString(want); err != nil || len(b) != 32 || !strings.EqualFold(want, got) {
			v.fail(Mismatch{Name: name, File: name, Want: "sha256 " + want, Got: "sha256 " + got})
		}
		return true
	}
	return false
}
