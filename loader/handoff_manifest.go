package loader

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"ckpt/internal/pages"
	"ckpt/internal/unixsock"
	"ckpt/loader/client"
)

// keptBytes bounds the descriptions of ranks that are kept: one of a few thousand
// tensors has a few megabytes, one of half a million has 250.
const keptBytes = 256 << 20

// manifests writes the documents that clients are given.
type manifests struct {
	holdings Holdings
	head     client.Manifest // without orders and tensors; all arenas, without handles

	mu    sync.Mutex
	words describer
	kept  map[int][]byte // the tensors of a rank, a JSON list
	size  int64
}

// newManifests describes the first rank at once, so that the first client is
// served as fast as the others, and all where that is cheap.
func newManifests(id string, x Holdings, arenas []client.Arena) (*manifests, error) {
	p := x.Plan
	m := &manifests{holdings: x, words: describer{plan: p, hash: x.Hash}, kept: map[int][]byte{}}
	m.head = client.Manifest{
		Schema: client.Schema, Hold: id, Source: client.Source{Path: p.Source.Path, Format: p.Source.Format, Fingerprint: p.Source.Fingerprint},
		Profile: p.Profile, Layout: string(p.Layout), ALog: string(p.ALog), TP: p.TP, EP: p.EP, PP: p.PP,
		Verify: x.Verify, Arenas: arenas, Tensors: []client.Tensor{},
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, a := range x.Arenas {
		text, err := m.tensors(i)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", a.Rank, err)
		}
		if int64(len(text))*int64(len(x.Arenas)) > keptBytes {
			break
		}
	}
	return m, nil
}

// choose gives the places of ranks among the arenas; of all where none is named.
func (m *manifests) choose(ranks []int) ([]int, error) {
	if len(ranks) == 0 {
		for _, a := range m.holdings.Arenas {
			ranks = append(ranks, a.Rank)
		}
	}
	ranks = slices.Compact(slices.Sorted(slices.Values(ranks)))
	if n := unixsock.MostFiles - 1; len(ranks) > n {
		return nil, fmt.Errorf("%d ranks at once, at most %d; name those that you need", len(ranks), n)
	}
	for _, r := range ranks {
		if m.place(r) < 0 {
			return nil, fmt.Errorf("rank %d is not held", r)
		}
	}
	return ranks, nil
}

func (m *manifests) place(rank int) int {
	return slices.IndexFunc(m.holdings.Arenas, func(a HeldArena) bool { return a.Rank == rank })
}

// export makes fresh handles; also on an error those that were made are the
// caller's to close.
func (m *manifests) export(ranks []int) (handles []Handle, err error) {
	for _, r := range ranks {
		x, ok := m.holdings.Arenas[m.place(r)].Arena.(Exporter)
		if !ok {
			return handles, fmt.Errorf("rank %d: its device hands nothing over: %w", r, errors.ErrUnsupported)
		}
		h, err := x.Export()
		if err != nil {
			return handles, fmt.Errorf("rank %d: %w", r, err)
		}
		handles = append(handles, h)
	}
	return handles, nil
}

// write makes the manifest of some ranks as a sealed file.
func (m *manifests) write(ranks []int, handles []Handle) (*os.File, int64, error) {
	doc := m.head
	doc.Arenas = nil
	descriptor := 0
	for i, r := range ranks {
		a := m.head.Arenas[m.place(r)]
		a.Kind, a.Bytes, a.Handle = handles[i].Kind, handles[i].Bytes, hex.EncodeToString(handles[i].Data)
		if handles[i].File != nil {
			descriptor++
			a.Descriptor = descriptor
		}
		doc.Arenas = append(doc.Arenas, a)
	}
	text, err := m.text(&doc, ranks)
	if err != nil {
		return nil, 0, err
	}
	if len(text) > client.MaxManifest {
		return nil, 0, fmt.Errorf("the manifest has %d bytes, at most %d; name fewer ranks", len(text), client.MaxManifest)
	}
	f, err := pages.Sealed("ckpt-manifest", text)
	return f, int64(len(text)), err
}

// text puts the tensors of ranks, which are kept as text, into a document that
// has none.
func (m *manifests) text(doc *client.Manifest, ranks []int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lists [][]byte
	for _, r := range ranks {
		list, err := m.tensors(m.place(r))
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			lists = append(lists, list)
		}
	}
	doc.Orders = m.words.orders
	head, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	end := []byte("]}")
	head, ok := bytes.CutSuffix(head, end)
	if !ok {
		return nil, errors.New("a manifest does not end with its tensors")
	}
	return append(append(head, bytes.Join(lists, []byte(","))...), end...), nil
}

// tensors gives those of an arena as JSON, comma by comma. m.mu is held.
func (m *manifests) tensors(arena int) ([]byte, error) {
	if text, ok := m.kept[arena]; ok {
		return text, nil
	}
	text, err := json.Marshal(m.words.tensors(m.holdings.Arenas[arena].Rank, arena))
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("[")), []byte("]"))
	if m.size+int64(len(text)) <= keptBytes {
		m.kept[arena] = text
		m.size += int64(len(text))
	}
	return text, nil
}
