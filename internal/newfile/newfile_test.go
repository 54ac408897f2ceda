package newfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := Write(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second write: %v", err)
	}
	if got, err := os.ReadFile(path); string(got) != "one" {
		t.Errorf("content %q %v", got, err)
	}
	if got := list(t, dir); got != "a.json" {
		t.Errorf("directory: %s", got)
	}
}

func TestNothingUnderTheNameBeforeCommit(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	got := list(t, dir)
	if !strings.HasPrefix(got, ".a.json.") || !strings.HasSuffix(got, Suffix) {
		t.Errorf("directory: %s", got)
	}
}

func TestFailedContentLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("broken")
	err := WriteFrom(filepath.Join(dir, "a"), func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return broken
	})
	if !errors.Is(err, broken) || list(t, dir) != "" {
		t.Errorf("%v, directory: %s", err, list(t, dir))
	}
}

func TestReserveNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.reserve(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("reserve: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.reserve(); err != nil || list(t, dir) != "a" {
		t.Errorf("reserve: %v, directory: %s", err, list(t, dir))
	}
}

func TestMakeDir(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.Mkdir(at("empty"), 0o700), os.Mkdir(at("full"), 0o700),
		os.WriteFile(at("full/x"), nil, 0o600), os.WriteFile(at("file"), nil, 0o600),
		os.Symlink("empty", at("link")), os.Symlink("nowhere", at("dangling")))
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"empty": true, "new": true, "full": false, "file": false, "link": false, "dangling": false, "no/parent": false,
	} {
		if _, err := MakeDir(at(name)); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := MakeDir(at("full")); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("full: %v", err)
	}
}

func TestLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
	if err := Write(path, nil); err != nil {
		t.Error(err)
	}
}

func TestDiscardTakesOnlyWhatWasMade(t *testing.T) {
	for _, made := range []bool{true, false} {
		parent := t.TempDir()
		path := filepath.Join(parent, "out")
		if !made {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		d, err := MakeDir(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Write("a", nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.Path("other"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.Write("other", nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("other: %v", err)
		}
		if err := d.Discard(); err != nil || list(t, path) != "other" {
			t.Errorf("%v, directory: %s", err, list(t, path))
		}
		if err := errors.Join(os.Remove(d.Path("other")), d.Discard()); err != nil {
			t.Error(err)
		}
		if got := list(t, parent); (got == "") != made {
			t.Errorf("made %v: parent: %s", made, got)
		}
	}
}
