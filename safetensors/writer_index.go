package safetensors

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"ckpt/internal/newfile"
)

// WriteIndex makes the index file path: total_size, the bytes of all tensors,
// then weight_map with the pairs of tensor and file in the order given. The
// form is that of json.dumps(indent=2), which Hugging Face's tools write, with
// no newline at the end. Names that come twice are refused, as is a path that
// exists; the file appears whole or not at all.
func WriteIndex(path string, totalSize int64, pairs iter.Seq2[string, string]) error {
	return newfile.WriteFrom(path, func(w io.Writer) error {
		return EncodeIndex(w, totalSize, pairs)
	})
}

// EncodeIndex writes what [WriteIndex] puts into its file.
func EncodeIndex(w io.Writer, totalSize int64, pairs iter.Seq2[string, string]) error {
	const buffer = 1 << 20 // an index of a K3 is 60 MB
	bw := bufio.NewWriterSize(w, buffer)
	line := append([]byte("{\n  \"metadata\": {\n    \"total_size\": "), strconv.FormatInt(totalSize, 10)...)
	line = append(line, "\n  },\n  \"weight_map\": {"...)
	seen := make(map[string]struct{})
	for name, file := range pairs {
		if _, dup := seen[name]; dup {
			return fmt.Errorf("index: tensor %q: %w", name, ErrLayoutDuplicate)
		}
		if !utf8.ValidString(name) || !utf8.ValidString(file) {
			return fmt.Errorf("index: tensor %q: %w", name, ErrLayoutName)
		}
		if len(seen) > 0 {
			line = append(line, ',')
		}
		seen[name] = struct{}{}
		line = appendASCII(append(line, "\n    "...), name)
		line = appendASCII(append(line, ": "...), file)
		if _, err := bw.Write(line); err != nil { // a bufio.Writer keeps its error, but a long write should end early
			return err
		}
		line = line[:0]
	}
	if len(seen) > 0 {
		line = append(line, "\n  "...)
	}
	line = append(line, "}\n}"...)
	if _, err := bw.Write(line); err != nil {
		return err
	}
	return bw.Flush()
}

// appendASCII quotes valid UTF-8 as Python's json.dumps does by default: all
// that is not printable ASCII becomes \uXXXX, in UTF-16.
func appendASCII(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			plain = false
			break
		}
	}
	if plain {
		return appendString(b, s)
	}
	b = append(b, '"')
	for _, r := range s {
		switch hi, lo := utf16.EncodeRune(r); {
		case r >= ' ' && r <= '~', r == '\b', r == '\t', r == '\n', r == '\f', r == '\r':
			quoted := appendString(nil, string(r))
			b = append(b, quoted[1:len(quoted)-1]...)
		case r > 0xffff:
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}
