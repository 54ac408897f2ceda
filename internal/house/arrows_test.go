package house

import (
	"slices"
	"testing"
)

// arrows says, for each package, which packages of this module its own code
// (not its tests) may import: what stands to its left on the way
//
//	bytes -> safetensors, gguf -> checkpoint -> model -> audit
//	                                            shard -> loader
//	                                            convert <- quant
//
// and never what stands to its right. A package is listed once it exists; one
// that is not listed fails the test, so that somebody decides where it stands.
var arrows = map[string][]string{
	"dtype":                 {},
	"quant":                 {"dtype", "internal/cpu", "quant/internal/kernel"},
	"quant/internal/kernel": {"internal/cpu"},
	"safetensors":           with("dtype"),
	"gguf":                  with("dtype"),
	"checkpoint":            with("dtype", "safetensors", "gguf"),
	"model":                 {"dtype", "internal/names"},
	"shard":                 {"dtype", "quant", "checkpoint", "model", "internal/names"},
	"audit":                 with("dtype", "quant", "safetensors", "gguf", "checkpoint", "model"),
	"convert":               with("dtype", "quant", "safetensors", "gguf", "checkpoint", "model", "shard", "internal/hfconfig", "internal/jsonedit"),
	"loader": {
		"dtype", "shard", "loader/client", "internal/fs", "internal/newfile", "internal/uring", "internal/pages", "internal/unixsock",
		"internal/device", "internal/device/cuda", "internal/device/hip", "internal/device/opencl",
	},
	"loader/client": {"internal/pages", "internal/unixsock", "internal/device/cuda", "internal/device/hip"},

	"internal/uring":           {},
	"internal/pages":           {},
	"internal/pages/pagestest": {},
	"internal/unixsock":        {},
	"internal/device/dl":       {},
	"internal/device":          {},
	"internal/device/cuda":     {"internal/device", "internal/device/dl"},
	"internal/device/hip":      {"internal/device", "internal/device/dl"},
	"internal/device/opencl":   {"internal/device", "internal/device/dl"},

	"internal/binio":    {},
	"internal/cpu":      {},
	"internal/names":    {},
	"internal/fio":      {},
	"internal/fs":       {},
	"internal/newfile":  {"internal/fs"},
	"internal/jsonedit": {},
	"internal/hfconfig": {"internal/jsonedit"},
	"internal/ui":       {},
	"internal/house":    {},
	"internal/synth":    with("dtype", "quant", "safetensors", "gguf", "checkpoint", "model", "internal/hfconfig", "internal/jsonedit"),
}

// ground is what every package that touches files stands on.
var ground = []string{"internal/binio", "internal/fs", "internal/names", "internal/newfile"}

func with(packages ...string) []string { return append(packages, ground...) }

// leaves are programs: they import what they need and nobody imports them.
var leaves = []string{"cmd", "interop", "scripts"}

func isLeaf(dir string) bool {
	return slices.ContainsFunc(leaves, func(l string) bool { return under(dir, l) })
}

func TestArrows(t *testing.T) {
	r := repository(t)
	for _, s := range r.sources {
		if s.test || isLeaf(s.dir) || s.syntax.Name.Name == "main" {
			continue
		}
		allowed, listed := arrows[s.dir]
		if !listed {
			t.Errorf("%s: package %s has no place among the arrows", s.path, s.dir)
			continue
		}
		for _, p := range s.imports {
			dir, ok := inModule(p)
			if ok && !slices.Contains(allowed, dir) {
				t.Errorf("%s imports %s, which does not stand to its left", s.path, p)
			}
		}
	}
}

// Programs are imported by nobody, tests included.
func TestNothingImportsPrograms(t *testing.T) {
	for _, s := range repository(t).sources {
		for _, p := range s.imports {
			dir, ok := inModule(p)
			if !ok || !isLeaf(dir) {
				continue
			}
			if under(dir, "cmd/ckpt") && under(s.dir, "cmd/ckpt") {
				continue
			}
			t.Errorf("%s imports the program %s", s.path, p)
		}
	}
}

// The table has no cycle and no arrow to a package that it does not list, so
// that a typing error in it cannot open a way back.
func TestArrowsPointOneWay(t *testing.T) {
	const active, done = 1, 2
	state := map[string]int{}
	var visit func(string)
	visit = func(dir string) {
		switch state[dir] {
		case active:
			t.Fatalf("the arrows have a cycle through %s", dir)
		case done:
			return
		}
		state[dir] = active
		for _, next := range arrows[dir] {
			visit(next)
		}
		state[dir] = done
	}
	for dir := range arrows {
		visit(dir)
	}
}
