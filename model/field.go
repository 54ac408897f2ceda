package model

import (
	"fmt"
	"slices"
)

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
		if f.fallback == nil {
			problem.Msg = path + " is missing"
			b.fail(problem)
			return
		}
		n, err := f.fallback.eval(&b.scope)
		if err == nil {
			err = f.check(n)
		}
		if err != nil {
			problem.Msg = fmt.Sprintf("%s is missing, and its default cannot be: %v", path, err)
			b.fail(problem)
			return
		}
		b.in.Vars[f.name] = n
		return
	}
	if err := f.read(v, &b.scope); err != nil {
		problem.Actual, problem.Msg = v.String(), fmt.Sprintf("%s: %v", path, err)
		b.fail(problem)
	}
}

func (f *field) expected() string {
	switch f.kind {
	case "bool":
		return "true or false"
	case "ints":
		return fmt.Sprintf("a list of at most %d integers in %d…%d", f.longest, f.min, f.max)
	}
	return fmt.Sprintf("an integer in %d…%d", f.min, f.max)
}

func (f *field) check(n int64) error {
	if f.kind != "bool" && (n < f.min || n > f.max) {
		return fmt.Errorf("%d is not in %d…%d", n, f.min, f.max)
	}
	return nil
}

func (f *field) read(v Value, to *scope) error {
	switch f.kind {
	case "bool":
		b, ok := v.Bool()
		if !ok {
			return fmt.Errorf("must be true or false, is %s", v)
		}
		to.ints[f.name] = truth(b)
		return nil
	case "ints":
		list, err := v.Ints(f.longest)
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
	n, err := v.Int()
	if err == nil {
		err = f.check(n)
	}
	if err != nil {
		return err
	}
	to.ints[f.name] = n
	return nil
}
