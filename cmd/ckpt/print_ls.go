package main

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"ckpt/checkpoint"
	"ckpt/internal/ui"
)

// lister writes what ls finds. Errors of the writer stay in it until it is
// flushed.
type lister struct {
	c      *checkpoint.Checkpoint
	w      *bufio.Writer
	style  ui.Style
	opts   lsOptions
	wanted *filter
}

func (l *lister) print() {
	switch {
	case l.opts.shards:
		l.printShards()
	case l.opts.tree:
		l.printTree()
	case l.opts.all:
		l.printAll()
	default:
		l.printFamilies()
	}
}

// summary is the first line of every listing.
func (l *lister) summary(files int, tensors, bytes int64) {
	fmt.Fprintf(l.w, "%s  %s, %s, %s, %s\n\n", l.style.Bold(shown(l.c.Path)), l.c.Format,
		ui.Plural(files, "file"), ui.Plural(tensors, "tensor"), ui.Size(bytes))
}

func (l *lister) families() []*family {
	all := group(l.c, l.wanted.keep)
	switch l.opts.sort {
	case "size":
		slices.SortStableFunc(all, func(a, b *family) int { return cmp.Compare(b.bytes, a.bytes) })
	case "offset":
		slices.SortStableFunc(all, func(a, b *family) int { return cmp.Compare(a.first, b.first) })
	}
	return all
}

func (l *lister) printFamilies() {
	all := l.families()
	var tensors, bytes int64
	for _, f := range all {
		tensors += f.count
		bytes += f.bytes
	}
	l.summary(l.files(), tensors, bytes)
	t := ui.Table{Columns: ui.Columns{Right: "rllrl"}}
	t.Row(l.headings("count", "dtype", "shape", "bytes", "family")...)
	for _, f := range all {
		spec := l.c.Spec(f.spec)
		t.Row(ui.Count(f.count), spec.DType.String(), shapeText(spec.Shape), ui.GB(f.bytes), ui.Escape(f.name(true)))
	}
	t.Write(l.w)
}

func (l *lister) headings(names ...string) []string {
	for i, n := range names {
		names[i] = l.style.Dim(n)
	}
	return names
}

func (l *lister) files() int {
	n := 0
	for _, f := range l.c.Files {
		if f.Indexed {
			n++
		}
	}
	return n
}

// place is a tensor in its file.
type place struct {
	file   *checkpoint.File
	record *checkpoint.Record
}

// tensors gives the wanted tensors in the order that was asked for.
func (l *lister) tensors() []place {
	var all []place
	for f, r := range records(l.c) {
		if l.wanted.keep(f, r) {
			all = append(all, place{f, r})
		}
	}
	switch l.opts.sort {
	case "size":
		slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(b.record.Size, a.record.Size) })
	case "name":
		type named struct {
			name string
			place
		}
		list := make([]named, len(all))
		for i, p := range all {
			list[i] = named{l.c.Names.Name(p.record.Key), p}
		}
		slices.SortStableFunc(list, func(a, b named) int { return naturally(a.name, b.name) })
		for i := range list {
			all[i] = list[i].place
		}
	}
	return all
}

func (l *lister) printAll() {
	all := l.tensors()
	var bytes int64
	columns := ui.Columns{Right: "llrlrl"}
	cells := make([]string, 6)
	shapes := make([]string, l.c.Specs())
	for i := range shapes {
		shapes[i] = shapeText(l.c.Spec(uint32(i)).Shape)
	}
	line := func(p place) []string {
		spec := p.record.Spec
		cells[0], cells[1], cells[2] = l.c.Spec(spec).DType.String(), shapes[spec], ui.Count(p.record.Size)
		cells[3], cells[4] = ui.Escape(p.file.Name), ui.Count(p.record.Offset)
		cells[5] = ui.Escape(l.c.Names.Name(p.record.Key))
		return cells
	}
	headings := l.headings("dtype", "shape", "bytes", "file", "offset", "tensor")
	columns.Fit(headings...)
	for _, p := range all {
		columns.Fit(line(p)...)
		bytes += p.record.Size
	}
	l.summary(l.files(), int64(len(all)), bytes)
	buf := columns.Append(nil, headings...)
	for _, p := range all {
		l.w.Write(buf)
		buf = columns.Append(buf[:0], line(p)...)
	}
	l.w.Write(buf)
}

func (l *lister) printShards() {
	var tensors, bytes int64
	t := ui.Table{Columns: ui.Columns{Right: "rrrl"}}
	t.Row(l.headings("tensors", "header", "bytes", "file")...)
	for _, f := range l.shards() {
		name := ui.Escape(f.Name)
		if !f.Indexed {
			name += l.style.Yellow("  (no index names it)")
		} else {
			tensors += int64(len(f.Records))
			bytes += payload(f)
		}
		t.Row(ui.Count(len(f.Records)), ui.Count(headerLen(f)), ui.Count(f.Size), name)
	}
	l.summary(l.files(), tensors, bytes)
	t.Write(l.w)
}

// shards are the files in the order that was asked for; they come by name.
func (l *lister) shards() []*checkpoint.File {
	files := slices.Clone(l.c.Files)
	if l.opts.sort == "size" {
		slices.SortStableFunc(files, func(a, b *checkpoint.File) int { return cmp.Compare(b.Size, a.Size) })
	}
	return files
}

func payload(f *checkpoint.File) int64 {
	var n int64
	for i := range f.Records {
		n += f.Records[i].Size
	}
	return n
}

func headerLen(f *checkpoint.File) int64 {
	if f.Header == nil {
		return 0
	}
	return f.Header.Len
}

// lsDocument is ckpt.ls/v1 but for its list: tensors, shards or families.
type lsDocument struct {
	Schema  string `json:"schema"`
	Path    string `json:"path"`
	PathHex string `json:"path_hex,omitzero"`
	Format  string `json:"format"`
}

type lsTensor struct {
	Name    string   `json:"name"`
	NameHex string   `json:"name_hex,omitzero"`
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	File    string   `json:"file"`
	Offset  int64    `json:"offset"`
	Bytes   int64    `json:"bytes"`
}

type lsFamily struct {
	Pattern string   `json:"pattern"`
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Count   int64    `json:"count"`
	Bytes   int64    `json:"bytes"`
}

type lsShard struct {
	File    string `json:"file"`
	FileHex string `json:"file_hex,omitzero"`
	Indexed bool   `json:"indexed"`
	Tensors int    `json:"tensors"`
	Header  int64  `json:"header_bytes"`
	Bytes   int64  `json:"file_bytes"`
}

func (l *lister) json() error {
	doc := lsDocument{Schema: "ckpt.ls/v1", Format: l.c.Format.String()}
	doc.Path, doc.PathHex = exact(l.c.Path)
	switch {
	case l.opts.all:
		return writeDocument(l.w, doc, "tensors", l.jsonTensors())
	case l.opts.shards:
		return writeDocument(l.w, doc, "shards", l.jsonShards())
	default:
		return writeDocument(l.w, doc, "families", l.jsonFamilies())
	}
}

func (l *lister) jsonTensors() iter.Seq[lsTensor] {
	return func(yield func(lsTensor) bool) {
		for _, p := range l.tensors() {
			spec := l.c.Spec(p.record.Spec)
			t := lsTensor{DType: spec.DType.String(), Shape: spec.Shape, Offset: p.record.Offset, Bytes: p.record.Size}
			t.Name, t.NameHex = exact(l.c.Names.Name(p.record.Key))
			t.File, _ = exact(p.file.Name)
			if !yield(t) {
				return
			}
		}
	}
}

func (l *lister) jsonShards() iter.Seq[lsShard] {
	return func(yield func(lsShard) bool) {
		for _, f := range l.shards() {
			s := lsShard{Indexed: f.Indexed, Tensors: len(f.Records), Header: headerLen(f), Bytes: f.Size}
			s.File, s.FileHex = exact(f.Name)
			if !yield(s) {
				return
			}
		}
	}
}

func (l *lister) jsonFamilies() iter.Seq[lsFamily] {
	return func(yield func(lsFamily) bool) {
		for _, f := range l.families() {
			spec := l.c.Spec(f.spec)
			pattern, _ := exact(f.name(false))
			if !yield(lsFamily{pattern, spec.DType.String(), spec.Shape, f.count, f.bytes}) {
				return
			}
		}
	}
}

// exact is a name for JSON: bytes that are not UTF-8 become U+FFFD, with all
// bytes in hexadecimal beside.
func exact(name string) (text, bytes string) {
	if utf8.ValidString(name) {
		return name, ""
	}
	return strings.ToValidUTF8(name, "\ufffd"), hex.EncodeToString([]byte(name))
}
