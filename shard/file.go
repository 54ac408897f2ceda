package shard

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"
)

// MaxPlan bounds the text of a plan, compressed or not, in bytes. The plan of a
// Kimi K3 over eight ranks has 294 kB, 38 kB compressed.
const MaxPlan = 8 << 20

// maxWindow bounds what the decompressor keeps. Our writer declares windows of
// 8 MiB, others up to this.
const maxWindow = 16 << 20

// Compressed says whether a plan file of this name is compressed.
func Compressed(name string) bool { return strings.HasSuffix(name, ".zst") }

// Write writes a plan with its program as one JSON document, compressed by
// Zstandard if so asked. Equal plans give equal bytes. A plan that Read would
// refuse for its size is not written: the error matches ErrFormat.
func (p *Plan) Write(w io.Writer, compress bool) error {
	text, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := bounded(text); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if !compress {
		_, err := w.Write(text)
		return err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		return err
	}
	_, err = z.Write(text)
	return errors.Join(err, z.Close())
}

// zstdMagic begins every Zstandard frame.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Read reads a plan file, compressed or not, of at most MaxPlan bytes. Duplicate
// and unknown fields, another schema, and numbers that are out of range or lead
// nowhere match ErrFormat. A plan that was read is well formed, not right: Prove
// says that.
func Read(r io.Reader) (*Plan, error) {
	source := &remembering{r: r}
	b := bufio.NewReader(source)
	head, err := b.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var in io.Reader = b
	if bytes.Equal(head, zstdMagic) {
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxWindow))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	}
	data, err := io.ReadAll(io.LimitReader(in, MaxPlan+1))
	switch {
	case source.err != nil:
		return nil, source.err
	case err != nil: // of the decompressor
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	case len(data) > MaxPlan:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrFormat, MaxPlan)
	}
	return parse(data)
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

// parse reads the document, which is counted before anything is kept. The schema is looked at first, so that a plan of
// another version is called that.
func parse(data []byte) (*Plan, error) {
	if err := bounded(data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var version struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if version.Schema != Schema {
		return nil, fmt.Errorf("%w: the schema is %.40q, not %q", ErrFormat, version.Schema, Schema)
	}
	p := &Plan{}
	if err := json.Unmarshal(data, p, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if p.Program == nil {
		return nil, fmt.Errorf("%w: there is no program; plans to keep are written with -o", ErrFormat)
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return p, nil
}
