package model

import (
	"fmt"
	"slices"
	"strings"
)

// sets computes the layer sets and checks the partitions.
func (b *builder) sets() {
	if b.stuck || len(b.p.sets) == 0 {
		return
	}
	if n := b.in.Vars[layersName]; n < 0 || n > maxLayers {
		b.fail(ConfigProblem{Field: layersName, Expected: fmt.Sprintf("at most %d", maxLayers), Actual: fmt.Sprint(n),
			Msg: fmt.Sprintf("%d layers are not in 0…%d", n, maxLayers), Bounds: true})
		return
	}
	for i := range b.p.sets {
		s := &b.p.sets[i]
		var layers []uint32
		var err error
		switch {
		case s.where != nil:
			layers, err = b.scope.layersWhere(s.where, b.in.Vars[layersName])
		case s.list != "":
			layers, err = s.fromList(b.scope.lists[s.list], b.in.Vars[layersName])
		default:
			layers, err = s.fromRange(&b.scope)
		}
		if err != nil {
			field := b.listPath(s.list)
			b.fail(ConfigProblem{Field: field, Expected: "a set of layers", Actual: err.Error(),
				Msg: fmt.Sprintf("%s: %v", field, err), Bounds: true})
			continue
		}
		b.in.Sets[s.name] = layers
	}
	if b.stuck {
		return
	}
	for _, partition := range b.p.partitions {
		b.partition(partition)
	}
}

// listPath is where the config has a list field.
func (b *builder) listPath(name string) string {
	for i := range b.p.fields {
		if b.p.fields[i].name == name {
			_, path, _ := b.at.lookup(b.p.fields[i].paths)
			return path
		}
	}
	return "layers"
}

func (s *layerSet) fromRange(in *scope) ([]uint32, error) {
	from, err := s.from.eval(in)
	if err != nil {
		return nil, err
	}
	to, err := s.to.eval(in)
	if err != nil {
		return nil, err
	}
	if from < 0 || to < from || to > maxLayers {
		return nil, fmt.Errorf("set %s from %d to %d is not in 0…%d", s.name, from, to, maxLayers)
	}
	layers := make([]uint32, 0, to-from)
	for n := from; n < to; n++ {
		layers = append(layers, uint32(n))
	}
	return layers, nil
}

// layersWhere gives the layers for which a condition holds.
func (in *scope) layersWhere(where *expr, count int64) ([]uint32, error) {
	var layers []uint32
	for n := range count {
		holds, err := in.ofLayer(where, n)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", n, err)
		}
		if holds != 0 {
			layers = append(layers, uint32(n))
		}
	}
	return layers, nil
}

// ofLayer computes an expression that may speak of a layer's number.
func (in *scope) ofLayer(e *expr, layer int64) (int64, error) {
	in.ints[layerName] = layer
	defer delete(in.ints, layerName)
	return e.eval(in)
}

// fromList takes layers from a list of the config, which may count from one.
func (s *layerSet) fromList(list []int64, count int64) ([]uint32, error) {
	layers := make([]uint32, 0, len(list))
	for i, n := range list {
		if n < s.base || n-s.base >= count {
			return nil, fmt.Errorf("entry %d is %d; layers are %d…%d", i, n, s.base, s.base+count-1)
		}
		layers = append(layers, uint32(n-s.base))
	}
	slices.Sort(layers)
	for i := 1; i < len(layers); i++ {
		if layers[i] == layers[i-1] {
			return nil, fmt.Errorf("%d occurs twice", int64(layers[i])+s.base)
		}
	}
	return layers, nil
}

// partition checks that every layer is in exactly one of the sets. Without
// that the kind of a layer is open, and so are the names and shapes in it.
func (b *builder) partition(sets []string) {
	count := make([]uint8, b.in.Vars[layersName])
	for _, name := range sets {
		for _, layer := range b.in.Sets[name] {
			if int(layer) < len(count) && count[layer] < 2 {
				count[layer]++
			}
		}
	}
	for layer, n := range count {
		if n == 1 {
			continue
		}
		actual := "in none of them"
		if n > 1 {
			actual = "in more than one"
		}
		fields := make([]string, len(sets))
		for i, name := range sets {
			fields[i] = name
			if at := slices.IndexFunc(b.p.sets, func(s layerSet) bool { return s.name == name }); b.p.sets[at].list != "" {
				fields[i] = b.listPath(b.p.sets[at].list)
			}
		}
		field := strings.Join(fields, ", ")
		b.fail(ConfigProblem{Field: field, Expected: "every layer in exactly one",
			Actual: fmt.Sprintf("layer %d (counted from 0) is %s", layer, actual),
			Msg:    fmt.Sprintf("%s: layer %d (counted from 0) is %s", field, layer, actual)})
		return
	}
}
