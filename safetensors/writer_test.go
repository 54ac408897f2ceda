package safetensors

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ckpt/dtype"
)

func layoutOf(t testing.TB, specs ...Spec) *Layout {
	t.Helper()
	l, err := NewLayout(specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// twoTensors is a layout of a (8 bytes) and b (5 bytes).
func twoTensors(t testing.TB) *Layout {
	return layoutOf(t, Spec{"a", dtype.F32, []uint64{2}}, Spec{"b", dtype.U8, []uint64{5}})
}

func create(t testing.TB, path string, l *Layout) *Writer {
	t.Helper()
	w, err := Create(path, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Abort)
	return w
}

// names lists a directory, temporary files included.
func names(t testing.TB, dir string) string {
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

func TestWriterAnyOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	l := twoTensors(t)
	w := create(t, path, l)
	if err := w.WriteTensor("b", strings.NewReader("BBBBB")); err != nil {
		t.Fatal(err)
	}
	if err := w.WritePiece("a", 4, []byte("2222")); err != nil {
		t.Fatal(err)
	}
	if err := w.WritePiece("a", 0, []byte("1111")); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := string(l.Header()) + "11112222BBBBB"; string(got) != want {
		t.Errorf("got %q", got)
	}
	if got := names(t, filepath.Dir(path)); got != "x.safetensors" {
		t.Errorf("left behind: %s", got)
	}
}

func TestWriterRefusesGapsAndOverlaps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	w := create(t, path, twoTensors(t))
	if err := w.WritePiece("a", 2, []byte("xxx")); err != nil {
		t.Fatal(err)
	}
	if err := w.WritePiece("a", 4, []byte("yy")); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("overlap: %v", err)
	}
	for _, at := range []int64{-1, 6, 9} {
		if err := w.WritePiece("a", at, []byte("zzz")); err == nil {
			t.Errorf("piece at %d accepted", at)
		}
	}
	if _, err := w.WriteAt([]byte("h"), 3); err == nil {
		t.Error("the header was written over")
	}
	if err := w.WritePiece("c", 0, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown tensor: %v", err)
	}
	err := w.Commit()
	var ue *UnwrittenError
	if !errors.As(err, &ue) || ue.Tensor != "a" || ue.First != 0 || ue.Missing != 5 || ue.Others != 1 {
		t.Errorf("commit: %v", err)
	}
	if got := names(t, filepath.Dir(path)); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

func TestWriteTensorNeedsExactSource(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "x"), twoTensors(t))
	if err := w.WriteTensor("a", strings.NewReader("1234567")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short source: %v", err)
	}
	w = create(t, filepath.Join(t.TempDir(), "x"), twoTensors(t))
	if err := w.WriteTensor("a", strings.NewReader("123456789")); err == nil {
		t.Error("long source accepted")
	}
}

// llama.cpp 9498 and 12753: the output was an input, or an input was emptied.
func TestIssue12753NeverOverAnExistingFile(t *testing.T) {
	dir := t.TempDir()
	old, link, dangling := filepath.Join(dir, "old"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	if err := os.WriteFile(old, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	hard := filepath.Join(dir, "hard") // the same inode under another name
	if err := errors.Join(os.Symlink("old", link), os.Symlink("nowhere", dangling), os.Link(old, hard)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, link, dangling, hard, dir} {
		if _, err := Create(path, twoTensors(t)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got, err := os.ReadFile(old); string(got) != "precious" {
		t.Errorf("old file: %q %v", got, err)
	}
	if got := names(t, dir); got != "dangling hard link old" {
		t.Errorf("directory: %s", got)
	}
}

// What takes the name while the file is being written keeps it.
func TestCommitNeverReplaces(t *testing.T) {
	for _, kind := range []string{"file", "dangling link"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "x")
		w := create(t, path, layoutOf(t))
		var err error
		if kind == "file" {
			err = os.WriteFile(path, []byte("precious"), 0o600)
		} else {
			err = os.Symlink("target", path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", kind, err)
		}
		if got := names(t, dir); got != "x" {
			t.Errorf("%s: directory: %s", kind, got)
		}
		if got, _ := os.ReadFile(path); kind == "file" && string(got) != "precious" {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	w := create(t, filepath.Join(dir, "x"), twoTensors(t))
	if names(t, dir) == "" {
		t.Fatal("no temporary file")
	}
	w.Abort()
	w.Abort()
	if got := names(t, dir); got != "" {
		t.Errorf("left behind: %s", got)
	}
	if err := w.Commit(); err == nil {
		t.Error("commit after abort accepted")
	}
}

func TestSkipAllIsSparse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	l := layoutOf(t, Spec{"big", dtype.U8, []uint64{1 << 42}}) // 4.4 TB
	if _, err := Create(path, l); err == nil {
		t.Skip("a disk with 4 TB free")
	} else if se := new(SpaceError); !errors.As(err, &se) || se.Need != l.Size() {
		t.Errorf("without space: %v", err)
	}
	w, err := CreateSparse(path, l)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	w.SkipAll()
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != l.Size() {
		t.Errorf("%v %v", info, err)
	}
}

func TestWriterManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	want := make([]byte, 1<<16)
	for i := range want {
		want[i] = byte(i * 7)
	}
	w := create(t, path, layoutOf(t, Spec{"a", dtype.U8, []uint64{uint64(len(want))}}))
	var wg sync.WaitGroup
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(want) / 64) {
		wg.Go(func() {
			if err := w.WritePiece("a", int64(i*64), want[i*64:][:64]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(got, want) {
		t.Errorf("content differs: %v", err)
	}
}

// Pieces in any order, some twice, some never: the cover says what a byte map
// says.
func TestCoverProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 24
		var c cover
		var taken [size]bool
		for range rapid.IntRange(0, 20).Draw(t, "pieces") {
			begin := rapid.Int64Range(0, size).Draw(t, "begin")
			end := rapid.Int64Range(begin, size).Draw(t, "end")
			first, clash := int64(0), false
			for i := begin; i < end && !clash; i++ {
				first, clash = i, taken[i]
			}
			at, ok := c.claim(begin, end)
			if ok == clash || clash && at != first {
				t.Fatalf("claim [%d,%d): %d %v, taken %v", begin, end, at, ok, taken)
			}
			for i := begin; ok && i < end; i++ {
				taken[i] = true
			}
		}
		begin := rapid.Int64Range(0, size).Draw(t, "from")
		end := rapid.Int64Range(begin, size).Draw(t, "to")
		wantFirst, want := end, int64(0)
		for i := end - 1; i >= begin; i-- {
			if !taken[i] {
				wantFirst = i
				want++
			}
		}
		if first, n := c.missing(begin, end); n != want || first != wantFirst {
			t.Fatalf("missing [%d,%d): %d from %d, want %d from %d, taken %v", begin, end, n, first, want, wantFirst, taken)
		}
		for i := 1; i < len(c.spans); i++ {
			if c.spans[i-1].end >= c.spans[i].begin {
				t.Fatalf("spans %v", c.spans)
			}
		}
	})
}
