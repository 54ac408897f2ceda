package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Reason is why a file's header could not be read.
type Reason uint8

// The reasons.
const (
	Missing     Reason = iota + 1 // the index names it and it is not there
	Dangling                      // a link that leads nowhere
	NotRegular                    // a directory, FIFO, socket or device
	Unreadable                    // permission or I/O error
	Empty                         // no bytes
	LFSPointer                    // a Git LFS pointer in its place
	WebPage                       // a web page or an error message in its place
	OtherFormat                   // another format under this name
	Outside                       // the index gives a name that leaves the directory
	Partial                       // only a partial download lies in its place
	Zeroed                        // begins with zero bytes: allocated, never written
)

var reasonNames = [...]string{Missing: "missing", Dangling: "dangling", NotRegular: "not regular", Unreadable: "unreadable",
	Empty: "empty", LFSPointer: "LFS pointer", WebPage: "web page", OtherFormat: "other format", Outside: "outside",
	Partial: "partial", Zeroed: "zeroed"}

func (r Reason) String() string { return reasonNames[r] }

// Fault says what stands in a file's place.
type Fault struct {
	Reason Reason
	Msg    string
	Detail string // the format, the link's target, oid and size, the beginning of the text
	Err    error  // of the file system, may be nil
}

func (f *Fault) Error() string {
	if f.Err != nil {
		return f.Msg + ": " + f.Err.Error()
	}
	return f.Msg
}

func (f *Fault) Unwrap() error { return f.Err }

// sniffLen is how much of a file is looked at to tell what it is.
const sniffLen = 512

// impostor tells what a file is that is no safetensors file, from its
// beginning; nil where that tells nothing.
func impostor(r io.ReaderAt, size int64) *Fault {
	head := make([]byte, min(sniffLen, size))
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	if f := lfsPointer(head); f != nil {
		return f
	}
	if f := webPage(head); f != nil {
		return f
	}
	if len(head) > 8 && head[8] == '{' {
		return nil // a header follows: its length may look like any magic
	}
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return &Fault{Reason: OtherFormat, Detail: m.name, Msg: "this is " + m.name + " under the name of a weight file"}
		}
	}
	return nil
}

// magics are the formats that have been met under the names of weight files.
var magics = []struct{ magic, name string }{
	{"PK\x03\x04", "a zip archive (a PyTorch pickle checkpoint)"},
	{"PK\x05\x06", "an empty zip archive"},
	{"GGUF", "a GGUF file"},
	{"\x1f\x8b", "a gzip archive"},
	{"\x28\xb5\x2f\xfd", "a zstandard archive"},
	{"BZh", "a bzip2 archive"},
	{"\xfd7zXZ\x00", "an xz archive"},
	{"\x80\x02", "a Python pickle"},
	{"\x80\x03", "a Python pickle"},
	{"\x80\x04", "a Python pickle"},
	{"\x80\x05", "a Python pickle"},
	{"\x93NUMPY", "a NumPy array"},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file"},
	{"\x89PNG", "a PNG picture"},
	{"%PDF", "a PDF document"},
	{"\x7fELF", "a program (ELF)"},
	{"ggml", "a GGML file"},
	{"tjgg", "a GGJT file"},
	{"Rar!", "a RAR archive"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
}

var (
	lfsOID  = regexp.MustCompile(`(?m)^oid (sha256:[0-9a-f]{64})\r?$`)
	lfsSize = regexp.MustCompile(`(?m)^size ([0-9]{1,19})\r?$`)
)

func lfsPointer(head []byte) *Fault {
	if !bytes.HasPrefix(head, []byte("version https://git-lfs.github.com/spec/")) &&
		!bytes.HasPrefix(head, []byte("version https://hawser.github.com/spec/")) {
		return nil
	}
	detail := "oid and size unreadable"
	oid, size := lfsOID.FindSubmatch(head), lfsSize.FindSubmatch(head)
	if oid != nil && size != nil {
		detail = fmt.Sprintf("oid %s, size %s", oid[1], size[1])
	}
	return &Fault{Reason: LFSPointer, Detail: detail, Msg: "a Git LFS pointer stands in place of the file: " + detail}
}

// webPage recognises text: markup, an error message of a server, anything that
// a person or a program wrote. No valid file begins so: of the eight bytes of
// its length the last four are zero.
func webPage(head []byte) *Fault {
	const shortest = 9
	if len(head) < shortest || !utf8.Valid(wholeRunes(head)) {
		return nil
	}
	for _, c := range head {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return nil
		}
	}
	text := strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff"))
	first, _, _ := strings.Cut(text, "\n")
	first = strings.ToValidUTF8(first[:min(len(first), 60)], "")
	what := "text"
	lower := strings.ToLower(text)
	for _, sign := range []string{"<!doctype", "<html", "<?xml", "<head", "<body"} {
		if strings.HasPrefix(lower, sign) {
			what = "a web page"
		}
	}
	return &Fault{Reason: WebPage, Detail: first, Msg: fmt.Sprintf("%s was saved as a weight file; it begins with %q", what, first)}
}

// wholeRunes leaves out what may be the first bytes of a longer character.
func wholeRunes(head []byte) []byte {
	for cut := 1; cut < utf8.UTFMax && cut <= len(head); cut++ {
		if b := head[len(head)-cut]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(head[len(head)-cut:]) {
				return head[:len(head)-cut]
			}
			break
		}
	}
	return head
}

// zeroed says whether a file begins with nothing but zero bytes: space that was
// allocated and never written. Eight bytes alone are too little to tell, and
// no header is as short as what is looked at.
func zeroed(r io.ReaderAt, size int64) bool {
	const look = 64
	if size <= 8 {
		return false
	}
	head := make([]byte, min(look, size))
	if n, _ := r.ReadAt(head, 0); n < len(head) {
		return false
	}
	for ; len(head) >= 8; head = head[8:] {
		if binary.LittleEndian.Uint64(head) != 0 {
			return false
		}
	}
	return len(bytes.Trim(head, "\x00")) == 0
}

// Pretender tells what stands in the place of a JSON document that does not
// parse, from its beginning: a Git LFS pointer or a page in markup; nil where
// that tells nothing.
func Pretender(head []byte) *Fault {
	if f := lfsPointer(head); f != nil {
		return f
	}
	if f := webPage(head); f != nil && strings.HasPrefix(f.Detail, "<") {
		return f
	}
	return nil
}
