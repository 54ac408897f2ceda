package house

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	readmeLines = 120
	sourceLines = 500
)

func TestReadme(t *testing.T) {
	r := repository(t)
	text := r.read("README.md")
	if text == "" {
		t.Fatal("there is no README.md")
	}
	if n := strings.Count(text, "\n"); n > readmeLines {
		t.Errorf("README.md has %d lines, at most %d are read", n, readmeLines)
	}
	if !strings.Contains(text, "go test ./...") {
		t.Error("README.md does not name the test command")
	}
}

// A file holds one noun. A longer one is only reported: some nouns are long.
func TestFileLength(t *testing.T) {
	for _, s := range repository(t).sources {
		if s.lines > sourceLines && !strings.HasSuffix(s.path, "_table.go") {
			t.Logf("%s has %d lines: more than one noun?", s.path, s.lines)
		}
	}
}

func TestPackageComments(t *testing.T) {
	r := repository(t)
	documented := map[string]bool{}
	for _, s := range r.sources {
		if s.test {
			continue
		}
		want := "Package " + s.syntax.Name.Name + " "
		if s.syntax.Name.Name == "main" {
			want = "Command "
		}
		documented[s.dir] = documented[s.dir] || strings.HasPrefix(s.syntax.Doc.Text(), want)
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no comment that begins with its name", dir)
		}
	}
}

// Places on the machine that somebody works on have no meaning elsewhere. The
// patterns are put together so that they do not find themselves.
func TestNoMachinePaths(t *testing.T) {
	r := repository(t)
	places := regexp.MustCompile(strings.Join([]string{"/wo" + "rk/", "/fa" + "rm/", "/ro" + "ot/", "/ho" + "me/[a-z]", "bash_" + "jobs"}, "|"))
	for _, f := range r.files {
		text := r.read(f)
		if binary(text) {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			if m := places.FindString(line); m != "" {
				t.Errorf("%s:%d: names the place %q", f, i+1, m)
			}
		}
	}
}

// binary tells by a NUL near the beginning, as git does.
func binary(text string) bool {
	return strings.IndexByte(text[:min(len(text), 8000)], 0) >= 0
}

// Every reader of foreign bytes is fuzzed.
func TestParsersAreFuzzed(t *testing.T) {
	r := repository(t)
	targets := map[string][]string{}
	for _, s := range r.sources {
		if s.test {
			s.functions(func(name string) {
				if strings.HasPrefix(name, "Fuzz") {
					targets[s.dir] = append(targets[s.dir], name)
				}
			})
		}
	}
	for _, dir := range []string{"safetensors", "gguf", "model", "audit", "shard"} {
		if r.has(dir) && len(targets[dir]) == 0 {
			t.Errorf("package %s reads foreign bytes and has no fuzz target", dir)
		}
	}
	var all []string
	for _, names := range targets {
		all = append(all, names...)
	}
	for _, noun := range []string{"Header", "Index", "Profile", "Config", "Plan"} {
		if !slices.ContainsFunc(all, func(name string) bool { return strings.Contains(name, noun) }) {
			t.Errorf("no fuzz target has %s in its name", noun)
		}
	}
}

var (
	threat = regexp.MustCompile(`(?m)^(\d+)\. `)
	named  = regexp.MustCompile("`([a-z][a-z0-9/]*)\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")
)

// Every abuse in docs/threats.md names the tests that hold it, and they exist.
func TestThreatsAreTested(t *testing.T) {
	r := repository(t)
	exists := map[string]bool{}
	for _, s := range r.sources {
		if s.test {
			s.functions(func(name string) { exists[s.dir+"."+name] = true })
		}
	}
	text := r.read("docs/threats.md")
	starts := threat.FindAllStringSubmatchIndex(text, -1)
	if len(starts) == 0 {
		t.Fatal("docs/threats.md lists nothing")
	}
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		number, tests := text[at[2]:at[3]], named.FindAllStringSubmatch(text[at[0]:end], -1)
		if len(tests) == 0 {
			t.Errorf("threat %s names no test", number)
		}
		for _, m := range tests {
			if !exists[m[1]+"."+m[2]] {
				t.Errorf("threat %s names %s.%s, which does not exist", number, m[1], m[2])
			}
		}
	}
}
