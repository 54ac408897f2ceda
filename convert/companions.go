package convert

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ckpt/checkpoint"
	ckptfs "ckpt/internal/fs"
	"ckpt/internal/jsonedit"
	"ckpt/internal/newfile"
)

// Companions that count what a slice has fewer of.
const (
	synthMarker   = "ckpt-synth.json"    // layers
	layerManifest = "tinygrad-kimi.json" // files, tensors and bytes
)

// maxMended bounds the companions that are read whole to be mended.
const maxMended = 16 << 20

// weightSuffixes end the names of weights in any format: a slice has its own.
var weightSuffixes = []string{".safetensors", ".gguf", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".index.json"}

// copyCompanions copies the other files of the source.
func (s *slice) copyCompanions(ctx context.Context, out *newfile.Directory) error {
	if s.source.Single {
		return nil
	}
	for i := range s.source.Entries {
		e := &s.source.Entries[i]
		if e.Name == s.source.Config.Name || isWeight(e.Name) {
			continue
		}
		if !e.Regular() || checkpoint.PartialOf(e.Name) != "" {
			s.result.Skipped = append(s.result.Skipped, e.Name)
			continue
		}
		if err := s.copyCompanion(ctx, e, out); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return nil
}

func isWeight(name string) bool {
	return slices.ContainsFunc(weightSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) ||
		strings.HasPrefix(name, "pytorch_model") && strings.HasSuffix(name, ".bin")
}

func (s *slice) copyCompanion(ctx context.Context, e *checkpoint.Entry, out *newfile.Directory) error {
	from := filepath.Join(s.source.Dir, e.Name)
	if mended, ok := s.mend(e.Name, from); ok {
		s.result.Mended = append(s.result.Mended, e.Name)
		return out.Write(e.Name, mended)
	}
	s.result.Companions = append(s.result.Companions, e.Name)
	return copySmall(ctx, e, from, out)
}

// mend gives the new text of a companion that counts layers or files. One that
// has another form than ours is not changed.
func (s *slice) mend(name, from string) ([]byte, bool) {
	edit := map[string]func([]byte) ([]jsonedit.Edit, error){
		synthMarker:   s.mendMarker,
		layerManifest: s.mendManifest,
	}[name]
	if edit == nil {
		return nil, false
	}
	text, err := ckptfs.ReadRegular(from, maxMended)
	if err != nil {
		return nil, false
	}
	edits, err := edit(text)
	if err != nil {
		return nil, false
	}
	mended, err := jsonedit.Replace(text, edits)
	return mended, err == nil
}

func (s *slice) mendMarker([]byte) ([]jsonedit.Edit, error) {
	return []jsonedit.Edit{{Pointer: "/layers", Value: strconv.Itoa(s.result.Layers)}}, nil
}

// mendManifest leaves the files that the slice has, in their order, and counts
// anew.
func (s *slice) mendManifest(text []byte) ([]jsonedit.Edit, error) {
	old, ok, err := jsonedit.Find(text, "/files")
	if err != nil || !ok {
		return nil, cmp.Or(err, jsonedit.ErrAbsent)
	}
	files, err := jsonedit.Elements(old)
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(files, func(f string) bool {
		name, err := strconv.Unquote(f)
		return err != nil || s.renamed[name] == ""
	})
	return []jsonedit.Edit{
		{Pointer: "/files", Value: jsonedit.Array(old, kept)},
		{Pointer: "/tensor_count", Value: strconv.Itoa(s.result.Tensors)},
		{Pointer: "/logical_bytes", Value: strconv.FormatInt(s.result.TotalSize, 10)},
	}, nil
}
