package safetensors

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ckpt/dtype"
)

// childEnv tells the test binary to be a child process: what to do and where.
const childEnv = "CKPT_WRITER_TEST_CHILD"

// TestChild is what child processes run; in the parent it does nothing.
func TestChild(t *testing.T) {
	what, path, ok := strings.Cut(os.Getenv(childEnv), ":")
	if !ok {
		return
	}
	map[string]func(*testing.T, string){"limit": childLimit, "die": childDie}[what](t, path)
}

func child(what, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+what+":"+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// bigLayout is two tensors of 64 KiB.
func bigLayout(t *testing.T) *Layout {
	return layoutOf(t, Spec{"a", dtype.U8, []uint64{1 << 16}}, Spec{"b", dtype.U8, []uint64{1 << 16}})
}

// tmpfs mounts a file system of 256 KiB.
func tmpfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// llama.cpp 3521 and 6493: a full disk gave a silent corrupt file.
func TestIssue3521DiskFull(t *testing.T) {
	dir := tmpfs(t)
	l := layoutOf(t, Spec{"a", dtype.U8, []uint64{1 << 20}})
	_, err := Create(filepath.Join(dir, "x"), l)
	var se *SpaceError
	if !errors.As(err, &se) || !errors.Is(err, syscall.ENOSPC) || se.Need != l.Size() || se.Free > 256<<10 || se.Free == 0 {
		t.Errorf("no room at the start: %v", err)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// The disk fills up while the file is written.
func TestIssue6493DiskFullMidway(t *testing.T) {
	dir := tmpfs(t)
	path := filepath.Join(dir, "x")
	w := create(t, path, bigLayout(t))
	if err := w.WritePiece("a", 0, make([]byte, 1<<16)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 160<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	err := w.WritePiece("b", 0, make([]byte, 1<<16))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path+":") {
		t.Errorf("write: %v", err)
	}
	if err := w.Commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("commit: %v", err)
	}
	if got := names(t, dir); got != "filler" {
		t.Errorf("left behind: %s", got)
	}
}

// A limit of the process, or a quota, without root.
func TestWriteOverLimit(t *testing.T) {
	dir := t.TempDir()
	if out, err := child("limit", filepath.Join(dir, "x")).Output(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// childLimit may write files of 64 KiB and tries one of 128 KiB.
func childLimit(t *testing.T, path string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 1 << 16, Max: 1 << 16}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, bigLayout(t)); !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), path+":") {
		t.Fatal(err)
	}
}

// unsloth 1122: a run died and what it left looked finished.
func TestIssue1122KilledMidway(t *testing.T) {
	dir := t.TempDir()
	cmd := child("die", filepath.Join(dir, "x.safetensors"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "half\n" {
		t.Errorf("child said %q: %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
	got := names(t, dir)
	if !strings.HasPrefix(got, ".x.safetensors.") || !strings.HasSuffix(got, ".tmp") || strings.Contains(got, " ") {
		t.Errorf("directory: %s", got)
	}
}

// childDie writes half of a file and waits for its end.
func childDie(t *testing.T, path string) {
	w, err := Create(path, bigLayout(t)) // and no Abort
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePiece("a", 0, make([]byte, 1<<16)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString("half\n"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
}
