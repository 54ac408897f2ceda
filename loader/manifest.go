package loader

import (
	"errors"
	"io"
)

// ManifestSchema is the value of a manifest's "schema" field.
const ManifestSchema = "ckpt.manifest/v1"

// Manifest is the hashes of the tensors of a checkpoint: see docs/manifest.md.
type Manifest struct {
	Files []ManifestFile
}

// ManifestFile is one weight file.
type ManifestFile struct {
	Name    string
	Bytes   int64
	SHA256  string // of all of it, in hexadecimal; empty where it was not taken
	Tensors []ManifestTensor
}

// ManifestTensor is one tensor of a file.
type ManifestTensor struct {
	Name  string
	Bytes int64
	XXH3  [16]byte // xxh3-128, as it is written
}

// ReadManifest reads a manifest. What is none matches ErrManifest.
func ReadManifest(r io.Reader) (*Manifest, error) { return nil, errors.ErrUnsupported }

// Write writes it; equal manifests give equal bytes.
func (m *Manifest) Write(w io.Writer) error { return errors.ErrUnsupported }

// ErrManifest is matched by errors about files that are no manifests.
var ErrManifest = errors.New("not a manifest")
