// Command verdict reads paths of safetensors files from standard input, one a
// line, and prints for each one line of JSON: whether package safetensors
// accepts the file, the audit codes of what it found, and what is in it. The
// interop suite compares these lines with the official package.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"

	"ckpt/safetensors"
)

// A line is what is said of one file.
type line struct {
	Path     string            `json:"path"`
	Accepted bool              `json:"accepted"`
	Kinds    []string          `json:"kinds"`
	Error    string            `json:"error"`
	Tensors  []tensor          `json:"tensors"`
	Metadata map[string]string `json:"metadata"`
}

type tensor struct {
	Name   string   `json:"name"`
	DType  string   `json:"dtype"`
	Shape  []uint64 `json:"shape"`
	Bytes  int64    `json:"bytes"`
	SHA256 string   `json:"sha256"`
}

// codes are the audit codes of what makes a file invalid.
var codes = map[safetensors.Kind]string{
	safetensors.TooShort:         "ST001",
	safetensors.HeaderBeyondFile: "ST002",
	safetensors.HeaderTooLong:    "ST003",
	safetensors.NotUTF8:          "ST004",
	safetensors.Syntax:           "ST005",
	safetensors.Duplicate:        "ST006",
	safetensors.UnknownDType:     "ST007",
	safetensors.BadOffsets:       "ST008",
	safetensors.SizeMismatch:     "ST009",
	safetensors.Overflow:         "ST010",
	safetensors.PartialByte:      "ST011",
	safetensors.BadMetadata:      "ST012",
	safetensors.Truncated:        "FS003",
	safetensors.Trailing:         "FS004",
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "verdict:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	w := bufio.NewWriter(out)
	paths := bufio.NewScanner(in)
	for paths.Scan() {
		data, err := json.Marshal(judge(paths.Text()))
		if err != nil {
			return err
		}
		if _, err := w.Write(append(data, '\n')); err != nil {
			return err
		}
	}
	return errors.Join(paths.Err(), w.Flush())
}

func judge(path string) line {
	h, err := safetensors.Open(path, nil)
	if err != nil {
		return line{Path: path, Kinds: kinds(err), Error: err.Error()}
	}
	defer h.Close()
	l := line{Path: path, Accepted: true, Metadata: h.Metadata}
	for _, t := range h.Tensors {
		sum := sha256.New()
		if _, err := io.Copy(sum, io.NewSectionReader(h, t.Offset, t.Size)); err != nil {
			return line{Path: path, Error: err.Error()}
		}
		l.Tensors = append(l.Tensors, tensor{
			Name:   t.Name,
			DType:  t.DType.String(),
			Shape:  t.Shape,
			Bytes:  t.Size,
			SHA256: hex.EncodeToString(sum.Sum(nil)),
		})
	}
	return l
}

// kinds lists the codes of every format error in err.
func kinds(err error) []string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []string
		for _, e := range joined.Unwrap() {
			all = append(all, kinds(e)...)
		}
		return all
	}
	var format *safetensors.FormatError
	if !errors.As(err, &format) {
		return nil
	}
	if code, ok := codes[format.Kind]; ok {
		return []string{code}
	}
	return []string{fmt.Sprintf("kind %d", format.Kind)}
}
