package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "ckpt"

// A source is one Go file of the module.
type source struct {
	path    string // from the root, with slashes
	dir     string // "." at the root
	test    bool
	syntax  *ast.File
	imports []string
	lines   int
}

// A tree is the repository as it lies on disk.
type tree struct {
	root    string
	files   []string // every file, from the root, with slashes
	sources []source
	fset    *token.FileSet
}

var load = sync.OnceValues(readTree)

// repository parses the tree once for all tests.
func repository(t *testing.T) *tree {
	t.Helper()
	r, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.sources) == 0 {
		t.Fatal("no Go files found")
	}
	return r
}

func readTree() (*tree, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	r := &tree{root: root, fset: token.NewFileSet()}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel == ".git" || rel == "bin" || d.Name() == "__pycache__" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		r.files = append(r.files, rel)
		if !isSource(rel) {
			return nil
		}
		s, err := r.parse(rel)
		r.sources = append(r.sources, s)
		return err
	})
	return r, err
}

func isSource(rel string) bool {
	return strings.HasSuffix(rel, ".go") && !strings.Contains("/"+rel, "/testdata/")
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", os.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
}

func (r *tree) parse(rel string) (source, error) {
	data := []byte(r.read(rel))
	f, err := parser.ParseFile(r.fset, rel, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{
		path:   rel,
		dir:    path.Dir(rel),
		test:   strings.HasSuffix(rel, "_test.go"),
		syntax: f,
		lines:  strings.Count(string(data), "\n"),
	}
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, p)
	}
	return s, nil
}

// read returns a file of the tree, or nothing when it is gone.
func (r *tree) read(rel string) string {
	data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(rel)))
	if err != nil {
		return ""
	}
	return string(data)
}

func (r *tree) has(dir string) bool {
	for _, s := range r.sources {
		if s.dir == dir {
			return true
		}
	}
	return false
}

// inModule cuts the module's name off an import path.
func inModule(importPath string) (dir string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// under reports whether dir is parent or lies below it.
func under(dir, parent string) bool {
	return dir == parent || strings.HasPrefix(dir, parent+"/")
}

// functions calls visit for every top-level function of the file.
func (s *source) functions(visit func(name string)) {
	for _, d := range s.syntax.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			visit(f.Name.Name)
		}
	}
}
