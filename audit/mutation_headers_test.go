package audit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// headerMutations spoil the header of shard 3.
func headerMutations() []mutation {
	const (
		gate   = "language_model.model.layers.2.block_sparse_moe.gate.weight"
		norm   = "language_model.model.layers.2.input_layernorm.weight"
		packed = "language_model.model.layers.2.block_sparse_moe.experts.0.w1.weight_packed"
	)
	text := func(old, with string) func(k *kit) {
		return func(k *kit) {
			k.rehead(shard(3), func(h *header) {
				h.text = func(s string) string {
					if strings.Count(s, old) != 1 {
						k.Fatalf("the header holds %q %d times", old, strings.Count(s, old))
					}
					return strings.Replace(s, old, with, 1)
				}
			})
		}
	}
	entryOf := func(name string, change func(e *entry)) func(k *kit) {
		return func(k *kit) { k.rehead(shard(3), func(h *header) { change(h.find(k, name)) }) }
	}
	refetch := []string{"#3"}
	return []mutation{
		{name: "header length beyond the file", do: func(k *kit) {
			k.edit(shard(3), func(b []byte) []byte { binary.LittleEndian.PutUint64(b, uint64(len(b))); return b })
		}, want: []string{"ST002 error #3"}, refetch: refetch},
		{name: "header length over the cap", do: func(k *kit) {
			k.edit(shard(3), func(b []byte) []byte { binary.LittleEndian.PutUint64(b, 100_000_001); return b })
		}, want: []string{"ST003 error #3"}, refetch: refetch, says: []string{"100000001"}},
		{name: "header length with the sign bit", do: func(k *kit) {
			k.edit(shard(3), func(b []byte) []byte { b[7] = 0xff; return b })
		}, want: []string{"ST003 error #3"}, refetch: refetch},
		{name: "header not UTF-8", do: text(`2.input_layernorm`, "2.\xffnput_layernorm"), want: []string{"ST004 error #3"}, refetch: refetch},
		{name: "header without a brace", do: text(`{"language`, ` "language`), want: []string{"ST005 error #3"}, refetch: refetch},
		{name: "header with a flipped bit", do: func(k *kit) {
			k.edit(shard(3), func(b []byte) []byte { b[bytes.IndexByte(b, ',')] ^= 1; return b })
		}, want: []string{"ST005 error #3"}, refetch: refetch},
		{name: "header with an unknown field", do: entryOf(norm, func(e *entry) {
			e.raw = fmt.Sprintf(`{"dtype":"BF16","shape":[256],"data_offsets":[%d,%d],"crc":1}`, e.begin, e.end)
		}), want: []string{"ST005 error #3 L2.input_layernorm.weight"}, refetch: refetch},
		{name: "header with a fraction", do: entryOf(norm, func(e *entry) {
			e.raw = fmt.Sprintf(`{"dtype":"BF16","shape":[256.0],"data_offsets":[%d,%d]}`, e.begin, e.end)
		}), want: []string{"ST005 error #3 L2.input_layernorm.weight"}, refetch: refetch},
		{name: "header padded with NUL", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) { h.text = func(s string) string { return s + "\x00" } })
		}, want: []string{"ST005 error #3"}, refetch: refetch},
		{name: "duplicate name", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) { h.entries = append(h.entries, *h.find(k, norm)) })
		}, want: []string{"ST006 error #3 L2.input_layernorm.weight"}, refetch: refetch},
		{name: "unknown dtype", do: entryOf(norm, func(e *entry) { e.dtype = "BF17" }),
			want: []string{"ST007 error #3 L2.input_layernorm.weight"}, refetch: refetch, says: []string{"BF17"}},
		{name: "hole", do: func(k *kit) {
			h, payload := parse(k, k.read(shard(3)))
			for i := range h.entries[1:] {
				h.entries[i+1].begin += 64
				h.entries[i+1].end += 64
			}
			first := h.entries[0].end
			payload = append(append(append([]byte{}, payload[:first]...), make([]byte, 64)...), payload[first:]...)
			k.write(shard(3), file(h, payload))
		}, want: []string{"ST008 error #3 L2.self_attn.A_log"}, refetch: refetch, says: []string{"a hole of 64 bytes"}},
		{name: "hole between experts", do: func(k *kit) {
			h, payload := parse(k, k.read(shard(3)))
			at := h.find(k, packed).begin
			for i := range h.entries {
				if h.entries[i].begin > at {
					h.entries[i].begin += 8
					h.entries[i].end += 8
				}
			}
			k.write(shard(3), file(h, append(payload, make([]byte, 8)...)))
		}, want: []string{"ST008 error #3 L2.E0.w1.weight_scale"}, refetch: refetch},
		{name: "overlap", do: entryOf(norm, func(e *entry) { e.begin -= 8; e.end -= 8 }),
			want: []string{"ST008 error x2 #3 L2.input_layernorm.weight"}, refetch: refetch},
		{name: "reversed offsets", do: entryOf(norm, func(e *entry) { e.begin, e.end = e.end, e.begin }),
			want: []string{"ST008 error #3 L2.input_layernorm.weight"}, refetch: refetch, says: []string{"reversed"}},
		{name: "entries in another order", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) {
				for i, j := 0, len(h.entries)-1; i < j; i, j = i+1, j-1 {
					h.entries[i], h.entries[j] = h.entries[j], h.entries[i]
				}
			})
		}},
		{name: "shape that does not fit its bytes", do: entryOf(gate, func(e *entry) { e.shape[1]++ }),
			want: []string{"ST009 error #3 L2.block_sparse_moe.gate.weight"}, refetch: refetch},
		{name: "dtype that does not fit its bytes", do: entryOf(gate, func(e *entry) { e.dtype = "F32" }),
			want: []string{"ST009 error #3 L2.block_sparse_moe.gate.weight"}, refetch: refetch},
		{name: "shape that overflows", do: entryOf(gate, func(e *entry) { e.shape = []int64{1 << 40, 1 << 40, 0} }),
			want: []string{"ST010 error #3 L2.block_sparse_moe.gate.weight"}, refetch: refetch},
		{name: "sub-byte tensor with half a byte", do: entryOf(packed, func(e *entry) { e.dtype = "F4"; e.shape = []int64{3, 3} }),
			want: []string{"ST011 error #3 L2.E0.w1.weight_packed"}, refetch: refetch},
		{name: "metadata with a number", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) { h.meta = `{"format":1}` })
		}, want: []string{"ST012 error #3"}, refetch: refetch},
		{name: "metadata as a list", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) { h.meta = `["pt"]` })
		}, want: []string{"ST012 error #3"}, refetch: refetch},
		{name: "metadata of strings", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) { h.meta = `{"format":"pt"}` })
		}},
		{name: "data start not aligned", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) { h.pad = 0; h.text = oddLength })
		}, want: []string{"ST013 info #3"}},
		{name: "unsafe name", do: func(k *kit) {
			const name = "evil\x1b[31m\u202e"
			k.rewrite(shard(3), func(b *body) {
				b.tensors = append(b.tensors, piece{entry{name: name, dtype: "U8", shape: []int64{8}}, make([]byte, 8)})
			})
			k.reindex(func(x *indexDoc) { x.pairs = append(x.pairs, pair{name, shard(3)}); x.add(k, 8) })
		}, want: []string{"ST014 warning #3 evil\x1b[31m\u202e", "MD002 error #3 evil\x1b[31m\u202e"}},
		{name: "two faults in one header", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) { h.find(k, norm).dtype = "BF17"; h.find(k, gate).shape[1]++ })
		}, want: []string{"ST007 error #3 L2.input_layernorm.weight", "ST009 error #3 L2.block_sparse_moe.gate.weight"}, refetch: refetch},
		{name: "faults in two shards", do: func(k *kit) {
			k.rehead(shard(3), func(h *header) { h.find(k, norm).dtype = "BF17" })
			k.edit(shard(4), func(b []byte) []byte { return b[:len(b)-8] })
		}, want: []string{"ST007 error #3 L2.input_layernorm.weight", "FS003 error #4 L3.E9.w3.weight_scale"}, refetch: []string{"#3", "#4"}},
	}
}

// oddLength pads a header to a length that leaves the data unaligned.
func oddLength(s string) string {
	for len(s)%8 != 1 {
		s += " "
	}
	return s
}
