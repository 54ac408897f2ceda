package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ckpt/internal/synth"
)

// The good checkpoint of the tests: a complete small Kimi K3 of 8 layers and
// 16 experts, in 11 shards.
const (
	shards    = 11
	indexName = "model.safetensors.index.json"

	// moeShard holds layer 1, the first with experts; headShard the head and
	// the embedding.
	denseShard, moeShard, headShard = 1, 2, 9
	layer0                          = "language_model.model.layers.0."
	layer1                          = "language_model.model.layers.1."
	experts1                        = layer1 + "block_sparse_moe.experts."
)

// shard is the name of a shard by its number.
func shard(n int) string { return fmt.Sprintf("model-%05d-of-%06d.safetensors", n, shards) }

// made are the checkpoints that a test process has made, by options.
var made struct {
	sync.Mutex
	dirs map[string]string
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	code := m.Run()
	for _, dir := range made.dirs {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// good gives the directory of a family's checkpoint, made once. Tests take
// copies of it.
func good(t testing.TB, family string, opts synth.Options) string {
	t.Helper()
	made.Lock()
	defer made.Unlock()
	key := fmt.Sprint(family, opts)
	if dir, ok := made.dirs[key]; ok {
		return dir
	}
	dir, err := os.MkdirTemp("", "ckpt-audit-")
	if err != nil {
		t.Fatal(err)
	}
	if made.dirs == nil {
		made.dirs = map[string]string{}
	}
	made.dirs[key] = dir
	if _, err := synth.Synth(t.Context(), family, dir, opts); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kit is a copy of a good checkpoint that a test may spoil.
type kit struct {
	testing.TB
	dir string
}

// mini is a copy of the small Kimi K3.
func mini(t testing.TB) *kit {
	t.Helper()
	return copyOf(t, good(t, "kimi-k3", synth.Options{Preset: "mini"}))
}

// copyOf links the files of a directory into one of the test's own. The kit's
// methods never write into a file that is there: they put a new one in its
// place.
func copyOf(t testing.TB, from string) *kit {
	t.Helper()
	k := &kit{t, t.TempDir()}
	list, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if os.Link(filepath.Join(from, d.Name()), k.path(d.Name())) != nil {
			k.write(d.Name(), (&kit{t, from}).read(d.Name()))
		}
	}
	return k
}

// check fails the test for an error.
func (k *kit) check(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) path(name string) string { return filepath.Join(k.dir, name) }

func (k *kit) read(name string) []byte {
	k.Helper()
	data, err := os.ReadFile(k.path(name))
	k.check(err)
	return data
}

// write puts a new file in the place of name.
func (k *kit) write(name string, data []byte) {
	k.Helper()
	if err := os.Remove(k.path(name)); err != nil && !os.IsNotExist(err) {
		k.Fatal(err)
	}
	k.check(os.WriteFile(k.path(name), data, 0o644))
}

func (k *kit) text(name, content string) { k.Helper(); k.write(name, []byte(content)) }

func (k *kit) remove(names ...string) {
	k.Helper()
	for _, name := range names {
		k.check(os.RemoveAll(k.path(name)))
	}
}

func (k *kit) rename(from, to string) { k.Helper(); k.check(os.Rename(k.path(from), k.path(to))) }

func (k *kit) link(target, name string) {
	k.Helper()
	k.remove(name)
	k.check(os.Symlink(target, k.path(name)))
}

// edit changes the bytes of a file.
func (k *kit) edit(name string, change func([]byte) []byte) {
	k.Helper()
	k.write(name, change(k.read(name)))
}

// replace changes a text that a file holds once.
func (k *kit) replace(name, old, with string) {
	k.Helper()
	data := k.read(name)
	if n := bytes.Count(data, []byte(old)); n != 1 {
		k.Fatalf("%s holds %q %d times", name, old, n)
	}
	k.write(name, bytes.Replace(data, []byte(old), []byte(with), 1))
}

// audit runs an audit of a path in the directory, "" for all of it.
func (k *kit) audit(path string, opts Options) *Report {
	k.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan *Report, 1)
	go func() {
		r, err := Run(ctx, filepath.Join(k.dir, path), opts)
		if err != nil {
			k.Errorf("no audit was made: %v", err)
		}
		done <- r
	}()
	select {
	case r := <-done:
		if r == nil {
			k.FailNow()
		}
		return r
	case <-ctx.Done():
		k.Fatal("the audit blocks")
		return nil
	}
}

// found renders the findings of a report one a line, as the tables have them:
// code, severity, count, file and tensor of the first instance. Shards of the
// good checkpoint are named by their number (#2), and it is told how they
// differ from what the good checkpoint has.
func found(r *Report) []string {
	out := make([]string, 0, len(r.Findings))
	for _, f := range r.Findings {
		s := fmt.Sprintf("%s %s", f.ID, f.Severity)
		if f.Count > 1 {
			s += fmt.Sprintf(" x%d", f.Count)
		}
		if f.File != "" {
			s += " " + short(f.File)
		}
		if f.Tensor != "" {
			s += " " + short(f.Tensor)
		}
		if f.Ignored != nil {
			s += " (ignored)"
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// short abbreviates the names that occur in every table.
func short(name string) string {
	for n := 1; n <= shards; n++ {
		if name == shard(n) {
			return fmt.Sprintf("#%d", n)
		}
	}
	if name == indexName {
		return "index"
	}
	name = strings.ReplaceAll(name, "language_model.model.layers.", "L")
	return strings.ReplaceAll(name, "block_sparse_moe.experts.", "E")
}

// baseline is what is true of every checkpoint that synth makes: companions
// are not made, and the config names code.
var baseline = []string{"CF005 warning x7 chat_template.jinja", "SE001 info config.json"}

// messages joins all that a report says, for tests that look for a word.
func messages(r *Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s: %s; expected %s, actual %s; %s\n", f.ID, f.Message, f.Expected, f.Actual, f.Fix)
		for _, e := range f.Examples {
			fmt.Fprintf(&b, "  %s %s: %s; expected %s, actual %s\n", e.File, e.Tensor, e.Message, e.Expected, e.Actual)
		}
	}
	return b.String()
}

// forbidSkip turns the skip of a test into a failure where CI asks for it.
func skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CKPT_FORBID_SKIP") == "1" {
		t.Fatalf("skipping is forbidden: "+format, args...)
	}
	t.Skipf(format, args...)
}

// tree describes every file below dir: mode, size, times, inode, contents.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		line := fmt.Sprintf("%s %v %d %d %s", rel, info.Mode(), info.Size(), info.ModTime().UnixNano(), identity(info))
		if info.Mode().IsRegular() {
			line += " " + digest(t, path)
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func digest(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

func mkdirAll(path string) error { return os.MkdirAll(path, 0o755) }
