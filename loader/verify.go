package loader

import (
	"context"
	"fmt"
	"strings"
)

// verify compares what was hashed, and what lies in the arenas, with what it
// should be.
func (l *load) verify(ctx context.Context) error {
	v := &l.result.Verify
	*v = VerifyResult{Mode: l.o.Verify, Status: StatusNone, Reference: ReferenceNone}
	var references, algorithms []string
	if l.hashes != nil {
		algorithms = append(algorithms, ManifestAlgorithm)
		references = l.compareHashes(&algorithms)
	}
	if l.o.Verify == VerifyDevice {
		v.Tensors = 0
		if err := l.readBack(ctx); err != nil {
			return err
		}
		references, algorithms = append(references, ReferenceReadBack), append(algorithms, "bytes")
	}
	v.Algorithm = strings.Join(algorithms, ", ")
	if len(references) > 0 {
		v.Reference, v.Status = strings.Join(references, ", "), StatusOK
	}
	if v.Failures > 0 {
		v.Status = StatusFailed
		return fmt.Errorf("%w: %s is not what it should be%s", ErrVerify, v.Failed[0].Name, more(v.Failures-1))
	}
	return nil
}

func more(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

// compareHashes compares what was hashed with whatever there is to compare with.
func (l *load) compareHashes(algorithms *[]string) (references []string) {
	v := &l.result.Verify
	v.Status = StatusRecorded
	l.hashes.each(func(*run, int64, string, int64, int64) { v.Tensors++ })
	for i, sum := range l.hashes.files {
		if sum == "" {
			continue
		}
		v.Files++
		for k := range l.result.Files {
			if f := &l.result.Files[k]; f.Name == l.plan.Source.Files[i].Name {
				f.SHA256 = sum
			}
		}
	}
	if v.Files > 0 {
		*algorithms = append(*algorithms, "sha256")
	}
	if l.o.SHA256 && len(l.o.Release) > 0 {
		found := 0
		for _, f := range l.plan.Source.Files {
			if l.compareFile(f.Name, l.o.Release[f.Name]) {
				found++
			} else {
				v.fail(Mismatch{Name: f.Name, File: f.Name, Want: "a SHA-256 in the release's list", Got: "none"})
			}
		}
		if found > 0 {
			references = append(references, ReferenceRelease)
		}
	}
	if l.o.Manifest != nil {
		l.compareManifest(l.o.Manifest)
		references = append(references, ReferenceManifest)
	}
	return references
}
