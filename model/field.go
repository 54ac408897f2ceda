package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// The types of a field; see fieldJSON.
const (
	kindInt      = "int"
	kindBool     = "bool"
	kindInts     = "ints"
	kindPerLayer = "per_layer"
	kindKinds    = "kinds"
)

// maxKinds bounds the values of a field of kinds: hybrids have two or three.
const maxKinds = 64

func (f *field) isList() bool {
	return f.kind == kindInts || f.kind == kindPerLayer || f.kind == kindKinds
}

func (b *builder) fields() {
	for _, s := range b.p.sections {
		_, found := b.at.base[s.name]
		b.in.Vars[s.name] = truth(found)
	}
	for i := range b.p.fields {
		f := &b.p.fields[i]
		if b.wants(f.when) && b.reachable(f) {
			b.field(f)
		}
	}
}

// reachable is false for a field whose section is missing, which is a problem
// of its own.
func (b *builder) reachable(f *field) bool {
	return slices.ContainsFunc(f.paths, func(r ref) bool { _, ok := b.at.base[r.section]; return ok })
}

func (b *builder) field(f *field) {
	v, path, ok := b.at.lookup(f.paths)
	problem := ConfigProblem{Field: path, Expected: f.expected(), Actual: "absent", Bounds: true}
	if !ok || v.IsNull() {
		if err := b.absent(f, path); err != nil {
			problem.Msg = err.Error()
			b.fail(problem)
		}
		return
	}
	b.sources[f.name] = path
	if err := f.read(v, &b.scope); err != nil {
		problem.Actual, problem.Msg = v.String(), fmt.Sprintf("%s: %v", path, err)
		b.fail(problem)
	}
}

// absent gives a field its default.
func (b *builder) absent(f *field, path string) error {
	if f.isList() && f.optional {
		b.scope.lists[f.name] = nil
		b.sources[f.name] = path + " is absent"
		return nil
	}
	if f.fallback == nil {
		return errors.New(path + " is missing")
	}
	n, err := f.fallback.eval(&b.scope)
	if err == nil {
		err = f.check(n)
	}
	if err == nil {
		b.sources[f.name] = path + " is absent; the family's default"
		err = f.set(n, &b.scope)
	}
	if err != nil {
		return fmt.Errorf("%s is missing, and its default cannot be: %w", path, err)
	}
	return nil
}

func (f *field) expected() string {
	switch f.kind {
	case kindBool:
		return "true or false"
	case kindInts:
		return fmt.Sprintf("a list of at most %d integers in %d…%d", f.longest, f.min, f.max)
	case kindPerLayer:
		return fmt.Sprintf("an integer in %d…%d, or one for each layer", f.min, f.max)
	case kindKinds:
		return fmt.Sprintf("one of %q for each layer", f.values)
	}
	return fmt.Sprintf("an integer in %d…%d", f.min, f.max)
}

func (f *field) check(n int64) error {
	if f.kind != kindBool && (n < f.min || n > f.max) {
		return fmt.Errorf("%d is not in %d…%d", n, f.min, f.max)
	}
	return nil
}

// set gives the field a checked number: the number itself, or one for every
// layer.
func (f *field) set(n int64, to *scope) error {
	if f.kind != kindPerLayer {
		to.ints[f.name] = n
		return nil
	}
	count, err := to.layerCount()
	if err != nil {
		return err
	}
	to.lists[f.name] = slices.Repeat([]int64{n}, int(count))
	return nil
}

// layerCount is the number of layers, once it is known and bounded.
func (in *scope) layerCount() (int64, error) {
	n, ok := in.ints[layersName]
	if !ok || n < 0 || n > maxLayers {
		return 0, errors.New("the number of layers is not known")
	}
	return n, nil
}

func (f *field) read(v Value, to *scope) error {
	switch f.kind {
	case kindBool:
		b, ok := v.Bool()
		if !ok {
			return fmt.Errorf("must be true or false, is %s", v)
		}
		return f.set(truth(b), to)
	case kindInts:
		return f.readInts(v, f.longest, to)
	case kindKinds:
		return f.readKinds(v, to)
	case kindPerLayer:
		if v.raw.Kind() == '[' {
			return f.readLayers(v, to)
		}
	}
	n, err := v.Int()
	if err == nil {
		err = f.check(n)
	}
	if err != nil {
		return err
	}
	return f.set(n, to)
}

func (f *field) readInts(v Value, longest int, to *scope) error {
	list, err := v.Ints(longest)
	if err != nil {
		return err
	}
	for i, n := range list {
		if err := f.check(n); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
	}
	to.lists[f.name] = list
	return nil
}

// readLayers reads a list that must have an entry for each layer.
func (f *field) readLayers(v Value, to *scope) error {
	count, err := to.layerCount()
	if err != nil {
		return err
	}
	if err := f.readInts(v, maxLayers, to); err != nil {
		return err
	}
	return eachLayer(len(to.lists[f.name]), count)
}

// eachLayer demands an entry for each layer.
func eachLayer(entries int, layers int64) error {
	if int64(entries) != layers {
		return fmt.Errorf("%d entries for %d layers", entries, layers)
	}
	return nil
}

func (f *field) readKinds(v Value, to *scope) error {
	count, err := to.layerCount()
	if err != nil {
		return err
	}
	if v.object != nil || v.raw.Kind() != '[' {
		return fmt.Errorf("must be a list of strings, is %s", v)
	}
	var list []int64
	err = v.each(func(item jsontext.Value) error {
		if int64(len(list)) == count {
			return fmt.Errorf("more than %d entries, one for each layer", count)
		}
		text, ok := Value{raw: item}.Text()
		kind := slices.Index(f.values, text)
		if !ok || kind < 0 {
			return fmt.Errorf("entry %d is %s, which is none of %q", len(list), Value{raw: item}, f.values)
		}
		list = append(list, int64(kind))
		return nil
	})
	if err != nil {
		return err
	}
	to.lists[f.name] = list
	return eachLayer(len(list), count)
}
