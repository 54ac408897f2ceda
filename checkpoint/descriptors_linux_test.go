package checkpoint

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// descriptors counts what the process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

// A failed opening leaves nothing open, whatever it failed on.
func TestFailedOpensLeaveNothingOpen(t *testing.T) {
	root := t.TempDir()
	for name, spoil := range map[string]func(set map[string][]byte){
		"good":  func(map[string][]byte) {},
		"cut":   func(set map[string][]byte) { cut(set, "model-00001-of-00002.safetensors") },
		"empty": func(set map[string][]byte) { set["model-00001-of-00002.safetensors"] = nil },
		"html": func(set map[string][]byte) {
			set["model-00001-of-00002.safetensors"] = []byte("<html><body></body></html>")
		},
		"zeros":     func(set map[string][]byte) { clear(set["model-00001-of-00002.safetensors"]) },
		"bad index": func(set map[string][]byte) { cut(set, "model.safetensors.index.json") },
		"missing":   func(set map[string][]byte) { delete(set, "model-00001-of-00002.safetensors") },
	} {
		set := twoShards()
		spoil(set)
		put(t, filepath.Join(root, name), set)
	}
	special := put(t, filepath.Join(root, "special"), twoShards())
	for _, name := range []string{"model-00001-of-00002.safetensors", "config.json"} {
		os.Remove(filepath.Join(special, name))
		if err := unix.Mkfifo(filepath.Join(special, name), 0o644); err != nil {
			t.Skip(err)
		}
	}
	round := func() {
		list, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			_, _ = Open(t.Context(), filepath.Join(root, d.Name()), Options{Sparse: true})
			_, _ = Survey(t.Context(), filepath.Join(root, d.Name()), Options{})
		}
	}
	round()
	before := descriptors(t)
	for range 20 {
		round()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}

// At most Jobs files are open at a time: with three descriptors to spare two
// hundred files are read.
func TestDescriptorsAreBounded(t *testing.T) {
	const files, jobs, spare = 200, 2, 3
	set := map[string][]byte{}
	for i := range files {
		set[fmt.Sprintf("model-%05d-of-00200.safetensors", i+1)] = weights(toy{fmt.Sprintf("layers.%d.w", i), 8})
	}
	dir := put(t, t.TempDir(), set)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Skip(err)
	}
	highest, err := unix.Dup(0)
	if err != nil {
		t.Skip(err)
	}
	unix.Close(highest)
	lower := unix.Rlimit{Cur: uint64(highest + spare), Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lower); err != nil {
		t.Skip(err)
	}
	c, err := Survey(t.Context(), dir, Options{Headers: true, Sparse: true, Jobs: jobs})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Files {
		if !f.Usable() {
			t.Fatalf("%s: %v", f.Name, f.Fault)
		}
	}
	if len(c.Files) != files {
		t.Errorf("%d files", len(c.Files))
	}
}

// Nothing that could block is opened: pipes nobody writes to, sockets, devices.
func TestNothingBlocks(t *testing.T) {
	dir := put(t, t.TempDir(), twoShards())
	pipe := filepath.Join(dir, "pipe.safetensors")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Skip(err)
	}
	link(t, "pipe.safetensors", filepath.Join(dir, "linked.safetensors"))
	link(t, "/dev/zero", filepath.Join(dir, "zero.safetensors"))
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	link(t, dir, filepath.Join(short, "d"))
	l, err := net.Listen("unix", filepath.Join(short, "d", "socket.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, path := range []string{dir, pipe} {
		done := make(chan *Checkpoint, 1)
		go func() {
			c, err := Survey(ctx, path, Options{Headers: true, Sparse: true})
			if err != nil {
				t.Error(err)
			}
			done <- c
		}()
		select {
		case c := <-done:
			irregular := 0
			for _, f := range c.Files {
				if f.Fault != nil && f.Fault.Reason == NotRegular {
					irregular++
				}
			}
			if irregular != 4 {
				t.Errorf("%s: %d irregular files of 4", path, irregular)
			}
		case <-ctx.Done():
			t.Fatalf("%s: the survey blocks", path)
		}
	}
}
