package loader

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/zeebo/xxh3"
)

// ManifestSchema is the value of a manifest's "schema" field.
const ManifestSchema = "ckpt.manifest/v1"

// ManifestAlgorithm is the hash of tensors in manifests.
const ManifestAlgorithm = "xxh3-128"

// MaxManifest bounds the text of a manifest in bytes. That of a Kimi K3, of
// 497,220 tensors, has 75 MB.
const MaxManifest = 512 << 20

// maxManifestName bounds names in a manifest, as safetensors headers do not.
const maxManifestName = 64 << 10

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

// ErrManifest is matched by errors about files that are no manifests.
var ErrManifest = errors.New("not a manifest")

// The document, file by file.
type (
	manifestHead struct {
		Schema    string `json:"schema"`
		Algorithm string `json:"algorithm"`
	}
	manifestFile struct {
		Name    string           `json:"name"`
		Bytes   int64            `json:"bytes"`
		SHA256  string           `json:"sha256,omitzero"`
		Tensors []manifestTensor `json:"tensors"`
	}
	manifestTensor struct {
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
		Hash  string `json:"hash"`
	}
)

// Write writes it; equal manifests give equal bytes. One tensor stands on a line.
func (m *Manifest) Write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<20)
	fmt.Fprintf(b, "{\"schema\":%q,\"algorithm\":%q,\"files\":[", ManifestSchema, ManifestAlgorithm)
	for i, f := range m.Files {
		b.WriteString(separator(i))
		text, err := json.Marshal(struct {
			Name   string `json:"name"`
			Bytes  int64  `json:"bytes"`
			SHA256 string `json:"sha256,omitzero"`
		}{f.Name, f.Bytes, f.SHA256})
		if err != nil {
			return err
		}
		b.Write(text[:len(text)-1])
		b.WriteString(",\"tensors\":[")
		for k, t := range f.Tensors {
			text, err := json.Marshal(manifestTensor{t.Name, t.Bytes, hex.EncodeToString(t.XXH3[:])})
			if err != nil {
				return err
			}
			b.WriteString(separator(k))
			b.Write(text)
		}
		b.WriteString("]}")
	}
	b.WriteString("]}\n")
	return b.Flush()
}

func separator(i int) string {
	if i == 0 {
		return "\n"
	}
	return ",\n"
}

// ReadManifest reads a manifest of at most MaxManifest bytes. Duplicate and
// unknown fields, files and tensors that are listed twice, another schema and
// hashes that are none match ErrManifest.
func ReadManifest(r io.Reader) (*Manifest, error) {
	in := &io.LimitedReader{R: r, N: MaxManifest + 1}
	source := &remembering{r: in}
	m, err := readManifest(jsontext.NewDecoder(source))
	switch {
	case source.err != nil:
		return nil, source.err
	case in.N <= 0:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrManifest, MaxManifest)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return m, nil
}

// remembering keeps the error of a reader, so that it is told from errors about
// what was read.
type remembering struct {
	r   io.Reader
	err error
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// readManifest takes the members in the order in which Write has them: whoever
// wants to know the schema before half a gigabyte is read finds it first.
func readManifest(d *jsontext.Decoder) (*Manifest, error) {
	if err := expect(d, '{'); err != nil {
		return nil, err
	}
	head := manifestHead{}
	if err := member(d, "schema", &head.Schema); err != nil {
		return nil, err
	}
	if head.Schema != ManifestSchema {
		return nil, fmt.Errorf("the schema is %.40q, not %q", head.Schema, ManifestSchema)
	}
	if err := member(d, "algorithm", &head.Algorithm); err != nil {
		return nil, err
	}
	if head.Algorithm != ManifestAlgorithm {
		return nil, fmt.Errorf("hashes of %.40q are not known", head.Algorithm)
	}
	if err := memberName(d, "files"); err != nil {
		return nil, err
	}
	if err := expect(d, '['); err != nil {
		return nil, err
	}
	m := &Manifest{}
	seen, tensors := map[string]bool{}, map[xxh3.Uint128]bool{} // the latter by the hash of the name
	for d.PeekKind() != ']' {
		f, err := readManifestFile(d)
		if err != nil {
			return nil, err
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("%.200q is listed twice", f.Name)
		}
		seen[f.Name] = true
		for i := range f.Tensors {
			name := xxh3.HashString128(f.Tensors[i].Name)
			if tensors[name] {
				return nil, fmt.Errorf("the tensor %.200q is listed twice", f.Tensors[i].Name)
			}
			tensors[name] = true
		}
		m.Files = append(m.Files, f)
	}
	for _, kind := range []jsontext.Kind{']', '}'} {
		if err := expect(d, kind); err != nil {
			return nil, err
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is something behind the document")
	}
	return m, nil
}

func readManifestFile(d *jsontext.Decoder) (ManifestFile, error) {
	var f manifestFile
	if err := json.UnmarshalDecode(d, &f, json.RejectUnknownMembers(true)); err != nil {
		return ManifestFile{}, err
	}
	out := ManifestFile{Name: f.Name, Bytes: f.Bytes, SHA256: f.SHA256, Tensors: make([]ManifestTensor, 0, len(f.Tensors))}
	if f.SHA256 != "" {
		if b, err := hex.DecodeString(f.SHA256); err != nil || len(b) != 32 || hex.EncodeToString(b) != f.SHA256 {
			return out, fmt.Errorf("%.80q is no SHA-256 in lower case", f.SHA256)
		}
	}
	if f.Bytes < 0 || f.Name == "" || len(f.Name) > maxManifestName {
		return out, fmt.Errorf("a file %.80q of %d bytes", f.Name, f.Bytes)
	}
	for _, t := range f.Tensors {
		x := ManifestTensor{Name: t.Name, Bytes: t.Bytes}
		b, err := hex.DecodeString(t.Hash)
		if err != nil || len(b) != len(x.XXH3) || hex.EncodeToString(b) != t.Hash {
			return out, fmt.Errorf("%.80q is no xxh3-128 in lower case", t.Hash)
		}
		if t.Bytes < 0 || t.Bytes > f.Bytes || len(t.Name) > maxManifestName {
			return out, fmt.Errorf("a tensor %.80q of %d bytes in a file of %d", t.Name, t.Bytes, f.Bytes)
		}
		copy(x.XXH3[:], b)
		out.Tensors = append(out.Tensors, x)
	}
	return out, nil
}

func expect(d *jsontext.Decoder, kind jsontext.Kind) error {
	t, err := d.ReadToken()
	if err == nil && t.Kind() != kind {
		err = fmt.Errorf("%v where %v is expected", t.Kind(), kind)
	}
	return err
}

func memberName(d *jsontext.Decoder, name string) error {
	t, err := d.ReadToken()
	if err == nil && (t.Kind() != '"' || t.String() != name) {
		err = fmt.Errorf("%q does not come where it is expected", name)
	}
	return err
}

func member(d *jsontext.Decoder, name string, value *string) error {
	if err := memberName(d, name); err != nil {
		return err
	}
	return json.UnmarshalDecode(d, value)
}
