package synth

import (
	"fmt"
	"slices"

	"ckpt/internal/names"
	"ckpt/safetensors"
)

// tensor is one tensor: its family and its numbers. Half a million of them
// make a K3, so names are made when they are needed.
type tensor struct {
	family  *family
	numbers [names.Slots]uint32
}

func (t tensor) name() string {
	return string(names.Pattern{Text: t.family.text, Slots: t.family.slots}.Append(nil, t.numbers))
}

// last is the last number of the name: its expert or block, else its layer.
func (t tensor) last() uint32 {
	if t.family.slots == 0 {
		return 0
	}
	return t.numbers[t.family.slots-1]
}

// shard is one weight file.
type shard struct {
	name    string
	group   int // of the layout
	layer   int // -1 outside layers
	number  int // from 1
	tensors []tensor
}

// specs are the tensors in the order of the file.
func (s *shard) specs() []safetensors.Spec {
	out := make([]safetensors.Spec, len(s.tensors))
	for i, t := range s.tensors {
		out[i] = safetensors.Spec{Name: t.name(), DType: t.family.dtype, Shape: t.family.shape}
	}
	safetensors.SerializeOrder(out)
	return out
}

// singleFile is the name of a checkpoint's only file.
const singleFile = "model.safetensors"

// shards deals the families' tensors out to files.
func (l *layout) shards(families []*family) ([]*shard, error) {
	var all []*shard
	taken := map[*family]bool{}
	for i, g := range l.Groups {
		all = append(all, l.groupShards(i, g, families, taken)...)
	}
	for _, f := range families {
		if !taken[f] {
			return nil, fmt.Errorf("the layout has no file for %s", f.pattern())
		}
	}
	all = slices.DeleteFunc(all, func(s *shard) bool { return len(s.tensors) == 0 })
	if l.MaxShard > 0 {
		all = refill(all, l.MaxShard)
		if len(all) == 1 {
			all[0].name = singleFile
		}
	}
	for i, s := range all {
		s.number = i + 1
		s.name = fileName(s.name, map[string]int{"n": i + 1, "files": len(all), "layer": s.layer})
	}
	return all, nil
}

func (l *layout) groupShards(at int, g group, families []*family, taken map[*family]bool) []*shard {
	byLayer := map[int][]*shard{}
	shardsOf := func(layer int) []*shard {
		if byLayer[layer] == nil {
			for _, p := range g.Parts {
				name := p.Name
				if name == "" {
					name = l.Name
				}
				byLayer[layer] = append(byLayer[layer], &shard{name: name, group: at, layer: layer})
			}
		}
		return byLayer[layer]
	}
	for i, p := range g.Parts {
		for _, f := range families {
			if taken[f] || !p.takes(f.pattern()) {
				continue
			}
			taken[f] = true
			for t := range f.tensors() {
				layer := -1
				if g.Each == "layer" {
					layer = int(t.numbers[0])
				}
				s := shardsOf(layer)[i]
				s.tensors = append(s.tensors, t)
			}
		}
	}
	var out []*shard
	for _, layer := range slices.Sorted(keys(byLayer)) {
		out = append(out, byLayer[layer]...)
	}
	return out
}

// refill cuts the run of tensors anew, into files of at most limit bytes of
// data; a larger tensor has a file of its own.
func refill(all []*shard, limit int64) []*shard {
	var out []*shard
	var room int64
	for _, s := range all {
		for _, t := range s.tensors {
			if len(out) == 0 || t.family.bytes > room {
				out = append(out, &shard{name: s.name, layer: -1})
				room = limit
			}
			last := out[len(out)-1]
			last.tensors = append(last.tensors, t)
			room -= t.family.bytes
		}
	}
	return out
}
