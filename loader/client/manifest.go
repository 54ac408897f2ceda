package client

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
)

// Schema is the value of a manifest's "schema" field.
const Schema = "ckpt.handoff/v1"

// MaxManifest bounds a manifest, in bytes. That of a release of half a
// million tensors that nobody stacks has 250 MB a rank.
const MaxManifest = 1 << 30

// ErrManifest: a manifest that is none, or that contradicts itself.
var ErrManifest = errors.New("not a manifest of a hand-off")

// The kinds of arenas: how their handles are opened.
const (
	KindMemfd   = "memfd"    // a sealed memory file
	KindCUDAFD  = "cuda-fd"  // cuMemImportFromShareableHandle, a POSIX descriptor
	KindCUDAIPC = "cuda-ipc" // cuIpcOpenMemHandle, the bytes of Arena.Handle
	KindHIPFD   = "hip-fd"   // hipMemImportFromShareableHandle, a POSIX descriptor
	KindHIPIPC  = "hip-ipc"  // hipIpcOpenMemHandle, the bytes of Arena.Handle
)

// Manifest says what a holder hands over. docs/handoff.md describes every field.
type Manifest struct {
	Schema  string  `json:"schema"`
	Hold    string  `json:"hold"` // names this hold among all
	Source  Source  `json:"source"`
	Profile string  `json:"profile"`
	Layout  string  `json:"layout"` // whose names, shapes and order: engine or checkpoint
	ALog    string  `json:"a_log"`
	TP      int     `json:"tp"`
	EP      int     `json:"ep"`
	PP      int     `json:"pp"`
	Verify  Verify  `json:"verify"`
	Arenas  []Arena `json:"arenas"`
	// Orders are lists of slots that origins name.
	Orders  [][]int64 `json:"orders,omitempty"`
	Tensors []Tensor  `json:"tensors"`
}

// Source is the checkpoint that was loaded.
type Source struct {
	Path        string `json:"path"`
	Format      string `json:"format"`
	Fingerprint string `json:"fingerprint"`
}

// Verify says how what is handed over was verified.
type Verify struct {
	Mode      string `json:"mode"`
	Algorithm string `json:"algorithm"`
	Status    string `json:"status"` // ok, recorded or none; what failed is not handed over
	Reference string `json:"reference"`
}

// Arena is one allocation.
type Arena struct {
	Arena  int    `json:"arena"` // its number among all of the hold
	Rank   int    `json:"rank"`
	Stage  int    `json:"stage"`
	Device string `json:"device"`
	Kind   string `json:"kind"`
	// Descriptor is which of the descriptors opens it, counted from 1 behind
	// the manifest's own, 0; absent where Handle does.
	Descriptor int    `json:"descriptor,omitzero"`
	Handle     string `json:"handle,omitempty"` // in hexadecimal
	// Bytes is the allocation, Used the part of it that holds tensors.
	Bytes    int64    `json:"bytes"`
	Used     int64    `json:"used_bytes"`
	Canaries []Canary `json:"canaries"`
}

// Canary is what an arena has at a place, by which a wrong mapping is known.
type Canary struct {
	Offset int64  `json:"offset"`
	Hex    string `json:"hex"`
}

// Tensor is one tensor in an arena. Numbers are little-endian and lie row by row.
type Tensor struct {
	Name  string   `json:"name"`
	Rank  int      `json:"rank"`
	Arena int      `json:"arena"`
	DType string   `json:"dtype"`
	Shape []uint64 `json:"shape"`
	// Strides are in elements of DType.
	Strides []uint64 `json:"strides"`
	Offset  int64    `json:"offset"` // in the arena
	Bytes   int64    `json:"bytes"`
	// Global is the shape on all ranks together, Axis the one that is split,
	// null for none, Range the part of it that lies here.
	Global     []uint64 `json:"global_shape"`
	Axis       *int     `json:"axis"`
	Range      []uint64 `json:"range,omitempty"`
	Replicated bool     `json:"replicated"`
	// Layout says how the bytes lie: LayoutSlice or LayoutRearranged. Transform
	// is what was done to the numbers beyond that.
	Layout    string `json:"layout"`
	Transform string `json:"transform,omitempty"`
	// Hash is the xxh3-128 of the bytes in the arena, where it is known.
	Hash    string   `json:"xxh3_128,omitempty"`
	Sources []Origin `json:"sources"`
}

// The layouts of tensors.
const (
	// LayoutSlice: the bytes of the source or, of a split tensor, of its range
	// along the axis, in their order; of a stack, slot after slot.
	LayoutSlice = "slice"
	// LayoutRearranged: in the order that the engine wants, or a part of the
	// source that no range says.
	LayoutRearranged = "rearranged"
)

// Origin is a tensor of the checkpoint, or Count of them, Stride bytes apart: the
// experts of a stack.
type Origin struct {
	Name   string `json:"name"` // of the first
	File   string `json:"file"`
	Offset int64  `json:"offset"`         // of the first, in the file
	Bytes  int64  `json:"bytes"`          // of each
	Count  int64  `json:"count,omitzero"` // absent for one
	Stride int64  `json:"stride,omitzero"`
	// Slot is the place of the first in the stack. The others follow it, or
	// have the slots of the list Order of Orders, counted from 1.
	Slot  int64  `json:"slot,omitzero"`
	Order int    `json:"order,omitzero"`
	Hash  string `json:"xxh3_128,omitempty"` // of a single one, where it was taken
}

// ParseManifest reads a manifest and checks that it contradicts nothing: every
// tensor lies in one arena, apart from all others, and every canary in its own.
// Fields that this version does not know are left out. The error matches
// ErrManifest.
func ParseManifest(data []byte) (*Manifest, error) {
	if len(data) > MaxManifest {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrManifest, len(data), MaxManifest)
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return m, nil
}

func (m *Manifest) check() error {
	if m.Schema != Schema {
		return fmt.Errorf("schema %.60q, want %q", m.Schema, Schema)
	}
	for i := range m.Arenas {
		if i > 0 && m.Arenas[i].Arena <= m.Arenas[i-1].Arena {
			return fmt.Errorf("arena %d behind arena %d", m.Arenas[i].Arena, m.Arenas[i-1].Arena)
		}
		if err := m.Arenas[i].check(); err != nil {
			return fmt.Errorf("arena %d: %w", m.Arenas[i].Arena, err)
		}
	}
	for i := range m.Tensors {
		if err := m.checkTensor(&m.Tensors[i]); err != nil {
			return fmt.Errorf("tensor %.200q: %w", m.Tensors[i].Name, err)
		}
	}
	return m.apart()
}

func (a *Arena) check() error {
	switch {
	case a.Arena < 0 || a.Rank < 0 || a.Stage < 0 || a.Descriptor < 0:
		return errors.New("a number below 0")
	case a.Used < 0 || a.Bytes < a.Used:
		return fmt.Errorf("%d of %d bytes are used", a.Used, a.Bytes)
	case (a.Descriptor == 0) == (a.Handle == ""):
		return errors.New("it wants a descriptor or a handle")
	}
	if _, err := hex.DecodeString(a.Handle); err != nil {
		return err
	}
	for _, c := range a.Canaries {
		want, err := hex.DecodeString(c.Hex)
		if err != nil {
			return err
		}
		if !within(c.Offset, int64(len(want)), a.Bytes) {
			return fmt.Errorf("a canary at %d", c.Offset)
		}
	}
	return nil
}

// within says whether n bytes from a place on lie in so many bytes.
func within(at, n, bytes int64) bool { return at >= 0 && n >= 0 && at <= bytes && n <= bytes-at }

// arena finds an arena by its number.
func (m *Manifest) arena(number int) (int, bool) {
	return slices.BinarySearchFunc(m.Arenas, number, func(a Arena, n int) int { return cmp.Compare(a.Arena, n) })
}

func (m *Manifest) checkTensor(t *Tensor) error {
	i, ok := m.arena(t.Arena)
	if !ok {
		return fmt.Errorf("there is no arena %d", t.Arena)
	}
	a := &m.Arenas[i]
	switch {
	case t.Rank != a.Rank:
		return fmt.Errorf("rank %d in an arena of rank %d", t.Rank, a.Rank)
	case !within(t.Offset, t.Bytes, a.Used):
		return fmt.Errorf("%d bytes at %d of an arena with %d", t.Bytes, t.Offset, a.Used)
	case len(t.Strides) != len(t.Shape):
		return fmt.Errorf("%d strides for %d dimensions", len(t.Strides), len(t.Shape))
	case t.Axis != nil && (*t.Axis < 0 || *t.Axis >= len(t.Shape)):
		return fmt.Errorf("axis %d of %d dimensions", *t.Axis, len(t.Shape))
	case len(t.Range) != 0 && (len(t.Range) != 2 || t.Axis == nil || t.Range[0] > t.Range[1]):
		return fmt.Errorf("range %v", t.Range)
	}
	for i := range t.Sources {
		if err := m.checkOrigin(&t.Sources[i]); err != nil {
			return fmt.Errorf("source %d: %w", i, err)
		}
	}
	return nil
}

func (m *Manifest) checkOrigin(o *Origin) error {
	switch {
	case o.Offset < 0 || o.Bytes < 0 || o.Count < 0 || o.Stride < 0 || o.Slot < 0:
		return errors.New("a number below 0")
	case o.Order < 0 || o.Order > len(m.Orders):
		return fmt.Errorf("there is no order %d", o.Order)
	case o.Order > 0 && int64(len(m.Orders[o.Order-1])) != o.Count:
		return fmt.Errorf("%d slots for %d tensors", len(m.Orders[o.Order-1]), o.Count)
	}
	return nil
}

// apart makes sure that no two tensors share a byte.
func (m *Manifest) apart() error {
	order := make([]*Tensor, 0, len(m.Tensors))
	for i := range m.Tensors {
		if m.Tensors[i].Bytes > 0 {
			order = append(order, &m.Tensors[i])
		}
	}
	slices.SortFunc(order, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(a.Arena, b.Arena), cmp.Compare(a.Offset, b.Offset))
	})
	for i := 1; i < len(order); i++ {
		a, b := order[i-1], order[i]
		if a.Arena == b.Arena && b.Offset < a.Offset+a.Bytes {
			return fmt.Errorf("tensors %.200q and %.200q overlap", a.Name, b.Name)
		}
	}
	return nil
}
