package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// A rule forbids an import outside of some places.
type rule struct {
	path   string // the import path and everything below it
	only   []string
	tests  bool // whether tests are bound too
	reason string
}

var rules = []rule{
	{"encoding/json", nil, false, "it accepts duplicate names and bad UTF-8: jsontext reads"},
	{"golang.org/x/sys", []string{"internal"}, false, "what depends on the system lives in internal"},
	{"github.com/ebitengine/purego", []string{"internal/device"}, true, "devices are bound in internal/device"},
	{"github.com/spf13/cobra", []string{"cmd"}, true, "libraries know no flags"},
	{"github.com/spf13/pflag", []string{"cmd"}, true, "libraries know no flags"},
	{"golang.org/x/term", []string{"cmd", "internal/ui"}, true, "libraries know no terminals"},
	{"unsafe", []string{"internal", "quant"}, false, "unsafe stays in internal and in kernels"},
	{"plugin", nil, true, "the binary is static"},
	{"C", nil, true, "the binary is built without cgo"},
	{"log", nil, false, "libraries do not log, commands report"},
	{"testing", nil, false, "tests are tests"},
	{"io/ioutil", nil, true, "deprecated"},
	{"net/http", []string{"internal/remote"}, false, "nothing goes over the network but the remote reader"},

	// Element and block types know no files, profiles know no disks.
	{"os", []string{"checkpoint", "safetensors", "gguf", "audit", "convert", "shard", "loader",
		"internal", "cmd", "interop", "scripts", "model/profile.go"}, false, "types, numbers and families know no files"},
}

func (r rule) matches(importPath string) bool {
	return importPath == r.path || strings.HasPrefix(importPath, r.path+"/")
}

func (r rule) excuses(s source) bool {
	return s.test && !r.tests || slices.ContainsFunc(r.only, func(place string) bool {
		return under(s.path, place)
	})
}

func TestForbiddenImports(t *testing.T) {
	for _, s := range repository(t).sources {
		for _, p := range s.imports {
			for _, r := range rules {
				if r.matches(p) && !r.excuses(s) {
					t.Errorf("%s imports %s: %s", s.path, p, r.reason)
				}
			}
		}
	}
}

// Files are read, never mapped: a mapping of a file that shrinks, or of a file
// system that fails, kills the process. Rings and devices map their own memory,
// pages maps memory files.
func TestNothingIsMapped(t *testing.T) {
	for _, s := range repository(t).sources {
		if under(s.dir, "internal/uring") || under(s.dir, "internal/pages") || under(s.dir, "internal/device") || under(s.dir, "internal/house") {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Mmap") {
				t.Errorf("%s uses %s", s.path, sel.Sel.Name)
			}
			return true
		})
	}
}

// lists name the profiles that are embedded, and the schemes.
var lists = []string{"model/embedded.go", "model/reading.go", "quant/scheme_table.go", "quant/layout_table.go"}

// What a family is called is said in profiles, not in code.
func TestFamiliesAreData(t *testing.T) {
	general := []string{"dtype", "quant", "safetensors", "gguf", "checkpoint", "model", "shard", "audit", "loader"}
	for _, s := range repository(t).sources {
		if s.test || !slices.Contains(general, s.dir) || slices.Contains(lists, s.path) {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			for _, family := range []string{"kimi", "llama"} {
				value := strings.ReplaceAll(strings.ToLower(lit.Value), "llama.cpp", "")
				if strings.Contains(value, family) {
					t.Errorf("%s names a family in %s", s.path, lit.Value)
				}
			}
			return true
		})
	}
}
