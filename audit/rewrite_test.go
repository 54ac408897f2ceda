package audit

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The editors of this file know nothing of the packages under test: they read
// with encoding/json and write by hand, and so can write what is wrong.

// header is a safetensors header that a test changes.
type header struct {
	entries []entry
	meta    string // JSON of __metadata__, "" for none
	pad     int    // the header is padded to a multiple of it; 8 by default
	text    func(string) string
}

// entry is a tensor in a header.
type entry struct {
	name       string
	dtype      string
	shape      []int64
	begin, end int64
	raw        string // JSON in place of all but the name
}

func (e *entry) size() int64 { return e.end - e.begin }

// find gives the entry of a tensor.
func (h *header) find(k *kit, name string) *entry {
	k.Helper()
	i := slices.IndexFunc(h.entries, func(e entry) bool { return e.name == name })
	if i < 0 {
		k.Fatalf("no tensor %q", name)
	}
	return &h.entries[i]
}

// json spells the header.
func (h *header) json() string {
	var parts []string
	if h.meta != "" {
		parts = append(parts, `"__metadata__":`+h.meta)
	}
	for _, e := range h.entries {
		body := e.raw
		if body == "" {
			shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(e.shape), "[]"), " ", ",")
			body = fmt.Sprintf(`{"dtype":%q,"shape":[%s],"data_offsets":[%d,%d]}`, e.dtype, shape, e.begin, e.end)
		}
		name, _ := json.Marshal(e.name)
		parts = append(parts, string(name)+":"+body)
	}
	text := "{" + strings.Join(parts, ",") + "}"
	if h.text != nil {
		text = h.text(text)
	}
	for h.pad > 0 && len(text)%h.pad != 0 {
		text += " "
	}
	return text
}

// parse reads a good file.
func parse(k *kit, data []byte) (h *header, payload []byte) {
	k.Helper()
	n := binary.LittleEndian.Uint64(data)
	h = &header{pad: 8}
	dec := json.NewDecoder(bytes.NewReader(data[8 : 8+n]))
	_, err := dec.Token()
	k.check(err)
	for dec.More() {
		name, err := dec.Token()
		k.check(err)
		if name == "__metadata__" {
			var meta json.RawMessage
			k.check(dec.Decode(&meta))
			h.meta = string(meta)
			continue
		}
		var body struct {
			DType   string   `json:"dtype"`
			Shape   []int64  `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}
		k.check(dec.Decode(&body))
		h.entries = append(h.entries, entry{name: name.(string), dtype: body.DType, shape: body.Shape, begin: body.Offsets[0], end: body.Offsets[1]})
	}
	return h, data[8+n:]
}

func file(h *header, payload []byte) []byte {
	text := h.json()
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(out, text...), payload...)
}

// rehead changes the header of a file and leaves the data.
func (k *kit) rehead(name string, change func(h *header)) {
	k.Helper()
	h, payload := parse(k, k.read(name))
	change(h)
	k.write(name, file(h, payload))
}

// body is a file as tensors with their bytes, in order.
type body struct {
	k       *kit
	tensors []piece
}

// piece is a tensor with its bytes.
type piece struct {
	entry
	data []byte
}

func (b *body) index(name string) int {
	b.k.Helper()
	i := slices.IndexFunc(b.tensors, func(p piece) bool { return p.name == name })
	if i < 0 {
		b.k.Fatalf("no tensor %q", name)
	}
	return i
}

func (b *body) find(name string) *piece { b.k.Helper(); return &b.tensors[b.index(name)] }

func (b *body) take(name string) piece {
	b.k.Helper()
	i := b.index(name)
	p := b.tensors[i]
	b.tensors = slices.Delete(b.tensors, i, i+1)
	return p
}

// reshape gives a tensor another dtype and shape, and bytes to fit.
func (b *body) reshape(name, dtype string, bytesEach int64, shape ...int64) {
	b.k.Helper()
	p := b.find(name)
	p.dtype, p.shape = dtype, shape
	n := bytesEach
	for _, d := range shape {
		n *= d
	}
	p.data = bytes.Repeat([]byte{1}, int(n))
}

// rewrite changes the tensors of a file; offsets follow.
func (k *kit) rewrite(name string, change func(b *body)) {
	k.Helper()
	h, payload := parse(k, k.read(name))
	b := &body{k: k}
	for _, e := range h.entries {
		b.tensors = append(b.tensors, piece{e, payload[e.begin:e.end]})
	}
	change(b)
	h.entries, payload = nil, nil
	for _, p := range b.tensors {
		p.begin = int64(len(payload))
		payload = append(payload, p.data...)
		p.end = int64(len(payload))
		h.entries = append(h.entries, p.entry)
	}
	k.write(name, file(h, payload))
}

// indexDoc is an index that a test changes.
type indexDoc struct {
	total string // JSON of total_size
	pairs []pair
	text  func(string) string
}

// pair is an entry of the weight map.
type pair struct{ tensor, file string }

func (x *indexDoc) find(k *kit, tensor string) *pair {
	k.Helper()
	i := slices.IndexFunc(x.pairs, func(p pair) bool { return p.tensor == tensor })
	if i < 0 {
		k.Fatalf("the index has no %q", tensor)
	}
	return &x.pairs[i]
}

func (x *indexDoc) drop(names ...string) {
	x.pairs = slices.DeleteFunc(x.pairs, func(p pair) bool { return slices.Contains(names, p.tensor) })
}

// reindex changes the index.
func (k *kit) reindex(change func(x *indexDoc)) {
	k.Helper()
	dec := json.NewDecoder(bytes.NewReader(k.read(indexName)))
	x := &indexDoc{}
	var meta struct {
		Total json.RawMessage `json:"total_size"`
	}
	for range 3 { // { "metadata"
		if tok, err := dec.Token(); err != nil || tok == "metadata" {
			break
		}
	}
	k.check(dec.Decode(&meta))
	x.total = string(meta.Total)
	for range 2 { // "weight_map" {
		_, err := dec.Token()
		k.check(err)
	}
	for dec.More() {
		name, err := dec.Token()
		k.check(err)
		file, err := dec.Token()
		k.check(err)
		x.pairs = append(x.pairs, pair{name.(string), file.(string)})
	}
	change(x)
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"metadata\": {\n    \"total_size\": %s\n  },\n  \"weight_map\": {", x.total)
	for i, p := range x.pairs {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(p.tensor)
		file, _ := json.Marshal(p.file)
		fmt.Fprintf(&b, "\n    %s: %s", name, file)
	}
	b.WriteString("\n  }\n}\n")
	text := b.String()
	if x.text != nil {
		text = x.text(text)
	}
	k.text(indexName, text)
}

// drop takes tensors out of a shard, the index and total_size alike, as an
// export does that never had them.
func (k *kit) drop(file string, tensors ...string) {
	k.Helper()
	bytes := int64(0)
	k.rewrite(file, func(b *body) {
		for _, name := range tensors {
			bytes += int64(len(b.take(name).data))
		}
	})
	k.reindex(func(x *indexDoc) {
		x.drop(tensors...)
		x.add(k, -bytes)
	})
}

// change alters the tensors of a shard and keeps total_size right.
func (k *kit) change(file string, change func(b *body)) {
	k.Helper()
	delta := int64(0)
	k.rewrite(file, func(b *body) {
		for _, p := range b.tensors {
			delta -= int64(len(p.data))
		}
		change(b)
		for _, p := range b.tensors {
			delta += int64(len(p.data))
		}
	})
	k.reindex(func(x *indexDoc) { x.add(k, delta) })
}

func (x *indexDoc) add(k *kit, bytes int64) {
	k.Helper()
	var n int64
	_, err := fmt.Sscan(x.total, &n)
	k.check(err)
	x.total = fmt.Sprint(n + bytes)
}

// config replaces one line of config.json, found by its beginning.
func (k *kit) config(field, value string) {
	k.Helper()
	lines := strings.Split(string(k.read("config.json")), "\n")
	n := 0
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), `"`+field+`":`) {
			comma := ""
			if strings.HasSuffix(line, ",") {
				comma = ","
			}
			lines[i] = fmt.Sprintf(`"%s": %s%s`, field, value, comma)
			n++
		}
	}
	if n == 0 {
		k.Fatalf("config.json has no %s", field)
	}
	k.text("config.json", strings.Join(lines, "\n"))
}
