package uring

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func newRing(t *testing.T, entries int) *Ring {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	r, err := New(entries)
	if errors.Is(err, errors.ErrUnsupported) {
		if os.Getenv("CKPT_FORBID_SKIP") == "1" {
			t.Fatalf("%v, and CKPT_FORBID_SKIP is set", err)
		}
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func random(t *testing.T, size int) (*os.File, []byte) {
	t.Helper()
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(data)
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, data
}

// Each mode that kernels may have reads the same, with and without registered
// buffers and files.
func TestReads(t *testing.T) {
	defer func(all []uint32) { modes = all }(modes)
	for _, mode := range modes {
		modes = []uint32{mode}
		f, data := random(t, 1<<20)
		for name, register := range map[string]func(*Ring, []byte) error{
			"plain":   func(*Ring, []byte) error { return nil },
			"buffers": func(r *Ring, mem []byte) error { return r.RegisterBuffers([][]byte{mem[:1<<19], mem[1<<19:]}) },
			"files":   func(r *Ring, _ []byte) error { return r.RegisterFiles(3) },
		} {
			r := newRing(t, 4)
			got := make([]byte, len(data))
			if err := register(r, got); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if r.Files() > 0 {
				if err := r.SetFile(2, int(f.Fd())); err != nil {
					t.Fatal(err)
				}
			}
			readBy(t, r, f, got)
			if !bytes.Equal(got, data) {
				t.Errorf("%s, mode %q: other bytes", name, r.Mode())
			}
			for range 2 {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := r.Read(Request{Buf: got}); !errors.Is(err, os.ErrClosed) {
				t.Errorf("a closed ring reads: %v", err)
			}
		}
	}
}

// readBy reads a file into mem in pieces that the kernel may take in any order.
func readBy(t *testing.T, r *Ring, f *os.File, mem []byte) {
	t.Helper()
	const piece = 10_000
	for next := 0; next < len(mem) || r.Inflight() > 0; {
		for next < len(mem) {
			q := Request{FD: int(f.Fd()), Buf: mem[next:min(next+piece, len(mem))], Offset: int64(next), ID: uint64(next)}
			if r.Files() > 0 {
				q.FD, q.Fixed = 2, true
			}
			if err := r.Read(q); errors.Is(err, ErrFull) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			next += piece
		}
		if err := r.Wait(1); err != nil {
			t.Fatal(err)
		}
		for id, n, ok := r.Pop(); ok; id, n, ok = r.Pop() {
			if want := min(piece, len(mem)-int(id)); n != want {
				t.Fatalf("at %d: %d, want %d", id, n, want)
			}
		}
	}
}

// Reads that are complete when they are submitted leave none behind that completes
// later, however many of them there are.
func TestNoneStarves(t *testing.T) {
	defer func(all []uint32) { modes = all }(modes)
	for _, mode := range modes {
		modes = []uint32{mode}
		r, f := newRing(t, 4), pipe(t)
		cached, _ := random(t, 4096)
		const late = 99
		if err := r.Read(Request{FD: f[0], Buf: make([]byte, 1), ID: late}); err != nil {
			t.Fatal(err)
		}
		if err := r.Submit(); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Write(f[1], []byte{1}); err != nil {
			t.Fatal(err)
		}
		buf, came := make([]byte, 4096), false
		for i := 0; i < 100 && !came; i++ {
			if err := r.Read(Request{FD: int(cached.Fd()), Buf: buf}); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(r.Submit(), r.Wait(1)); err != nil {
				t.Fatal(err)
			}
			for id, _, ok := r.Pop(); ok; id, _, ok = r.Pop() {
				came = came || id == late
			}
		}
		if !came {
			t.Errorf("mode %q: 100 reads overtook one that was complete", r.Mode())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// pipe gives two descriptors that block.
func pipe(t *testing.T) [2]int {
	t.Helper()
	var f [2]int
	if err := unix.Pipe2(f[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(f[0]); unix.Close(f[1]) })
	return f
}

// Close waits: what is read after it would overwrite memory that others have.
func TestCloseWaits(t *testing.T) {
	f, data := random(t, 1<<20)
	r := newRing(t, 1)
	got := make([]byte, len(data))
	if err := r.Read(Request{FD: int(f.Fd()), Buf: got}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Submit(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, data) {
		t.Error("the ring was closed before the read ended")
	}
}

func TestErrorsOfReads(t *testing.T) {
	r := newRing(t, 2)
	defer r.Close()
	if err := r.Read(Request{FD: 1 << 20, Buf: make([]byte, 1), ID: 7}); err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(1); err != nil {
		t.Fatal(err)
	}
	if id, n, ok := r.Pop(); !ok || id != 7 || n != -int(unix.EBADF) {
		t.Errorf("%d, %d, %v", id, n, ok)
	}
	if err := r.SetFile(0, 0); err == nil {
		t.Error("a place of no table")
	}
}

// A ring leaves no descriptor and no mapping.
func TestNothingIsLeft(t *testing.T) {
	count := func() (fds, rings int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return len(list), bytes.Count(maps, []byte("io_uring"))
	}
	newRing(t, 8).Close()
	fds, _ := count()
	for range 10 {
		newRing(t, 8).Close()
	}
	if f, rings := count(); f != fds || rings != 0 {
		t.Errorf("%d descriptors, before %d; %d mappings", f, fds, rings)
	}
}

// Refusals are told apart.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		errno    unix.Errno
		disabled string
		want     string
	}{
		{unix.EPERM, "0", "seccomp"},
		{unix.EPERM, "", "seccomp"},
		{unix.EPERM, "2", "switched off by kernel.io_uring_disabled"},
		{unix.EPERM, "1", "io_uring_group"},
		{unix.ENOSYS, "0", "the kernel has none"},
		{unix.ENOMEM, "0", "ulimit -l"},
		{unix.EMFILE, "0", "ulimit -n"},
		{unix.EIO, "0", "input/output error"},
	} {
		if got := refusalWith(tc.errno, tc.disabled); !strings.Contains(got, tc.want) {
			t.Errorf("%v, %q: %q", tc.errno, tc.disabled, got)
		}
	}
}

// Older kernels know fewer modes; the next is tried on EINVAL, and only then.
func TestModesAreTriedInTurn(t *testing.T) {
	defer func(call func(uint32, *params) (int, unix.Errno)) { setupCall = call }(setupCall)
	for _, tc := range []struct {
		answer unix.Errno
		calls  int
	}{{unix.EINVAL, len(modes)}, {unix.EPERM, 1}} {
		calls := 0
		setupCall = func(uint32, *params) (int, unix.Errno) { calls++; return -1, tc.answer }
		_, err := New(4)
		if e := (*UnavailableError)(nil); !errors.As(err, &e) || !errors.Is(err, tc.answer) || calls != tc.calls {
			t.Errorf("%v: %d calls, %v", tc.answer, calls, err)
		}
	}
}
