package loader

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// restricted runs a test again in a process of its own, which calls restrict
// first, in all its threads where that matters; what it says is returned.
func restricted(t *testing.T, restrict func() error, test func(t *testing.T)) {
	t.Helper()
	const mark = "CKPT_TEST_RESTRICTED"
	if os.Getenv(mark) == t.Name() {
		if err := restrict(); err != nil {
			fmt.Println("cannot restrict:", err)
			return
		}
		runtime.LockOSThread()
		test(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, reason, ok := strings.Cut(string(out), "cannot restrict: "); ok {
		skipEngine(t, strings.TrimSpace(strings.SplitN(reason, "\n", 2)[0]))
	}
	t.Logf("%s", out)
}

// loadsWith reads a file with the engine that there is, and returns how.
func loadsWith(t *testing.T) EngineInfo {
	t.Helper()
	const size = 9*testBlock + 99
	path, data := weights(t, size)
	f, s := openWeights(t, path, true), newStaging(t, 10, testBlock)
	e, info, err := NewEngine("auto", EngineOptions{Depth: 4, Staging: s})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range readAll(t, e, f, s) {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	if !bytes.Equal(s.Area()[:size], data) {
		t.Error("other bytes")
	}
	t.Logf("%q %q", info.Ladder, f.Reason)
	return info
}

// forbidRings installs a filter on all threads that answers io_uring's calls with
// an error number, as containers do.
func forbidRings(errno syscall.Errno) error {
	return forbid(errno, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER)
}

// forbid does so with two calls.
func forbid(errno syscall.Errno, first, second uint32) error {
	const load, jumpEq, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: load}, // the number of the call
		{Code: jumpEq, Jt: 2, K: first},
		{Code: jumpEq, Jt: 1, K: second},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if e != 0 {
		return e
	}
	return nil
}

func TestRingsForbidden(t *testing.T) { ringsForbidden(t, syscall.EPERM, "seccomp") }

func TestRingsMissing(t *testing.T) { ringsForbidden(t, syscall.ENOSYS, "kernel has none") }

// A ring that can be made and not be entered is none.
func TestRingsNotEntered(t *testing.T) {
	enter := func() error { return forbid(syscall.EPERM, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_ENTER) }
	ringsRestricted(t, enter, syscall.EPERM, "a read through it fails")
}

func ringsForbidden(t *testing.T, errno syscall.Errno, word string) {
	ringsRestricted(t, func() error { return forbidRings(errno) }, errno, word)
}

func ringsRestricted(t *testing.T, restrict func() error, errno syscall.Errno, word string) {
	restricted(t, restrict, func(t *testing.T) {
		info := loadsWith(t)
		if info.Name != "pread" || !strings.Contains(info.Reason, word) || len(info.Ladder) < 2 {
			t.Errorf("%+v", info)
		}
		if _, _, err := NewEngine("uring", EngineOptions{}); !errors.Is(err, ErrUnavailable) || !errors.Is(err, errno) {
			t.Errorf("asked for all the same: %v", err)
		}
	})
}

// asNobody gives up the right to lock any amount of memory, with all others.
func asNobody(limit uint64) error {
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	if os.Getuid() != 0 {
		return nil
	}
	if err := syscall.Setuid(65534); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ckpt") // a directory of root's own will not do
	if err != nil {
		return err
	}
	return os.Remove(dir)
}

// Where so little memory may be locked, reads into unregistered memory do.
func TestLittleLockedMemory(t *testing.T) {
	restricted(t, func() error { return asNobody(64 << 10) }, func(t *testing.T) {
		info := loadsWith(t)
		if info.Name == "uring" && (info.Fixed || !strings.Contains(info.FixedReason, "ulimit -l")) {
			t.Errorf("%+v", info)
		}
	})
}

func TestNoHugePages(t *testing.T) {
	restricted(t, func() error { return unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) }, func(t *testing.T) {
		loadsWith(t)
		s := newStaging(t, 4, 4<<20)
		if s.Kind() != "plain" || s.Huge() != 0 || s.Reason() == "" {
			t.Errorf("%s, %d, %q", s.Kind(), s.Huge(), s.Reason())
		}
	})
}

// An engine and its ring need few descriptors, whatever the number of files.
func TestFewDescriptors(t *testing.T) {
	restricted(t, func() error {
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 32, Max: 32})
	}, func(t *testing.T) {
		path, data := weights(t, testBlock)
		s := newStaging(t, 1, testBlock)
		e, _, err := NewEngine("auto", EngineOptions{Depth: 2, Staging: s})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for i := range 96 {
			copied := filepath.Join(t.TempDir(), "weights.bin")
			if err := os.Link(path, copied); err != nil {
				t.Fatal(err)
			}
			f, err := OpenFile(copied, copied, true)
			if err != nil {
				t.Fatal(err)
			}
			clear(s.Area())
			if c := readAll(t, e, f, s)[0]; c.Err != nil || !bytes.Equal(s.Area(), data) {
				t.Fatalf("file %d: other bytes, or %v", i, c.Err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// tmpfs takes O_DIRECT on newer kernels and has nothing to read around.
func TestFilesInMemory(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "ckpt")
	if err != nil {
		skipEngine(t, err.Error())
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "weights.bin")
	if err := os.WriteFile(path, make([]byte, 5000), 0o644); err != nil {
		t.Fatal(err)
	}
	f := openWeights(t, path, true)
	if f.Direct || f.Align != 1 || !strings.Contains(f.Reason, "tmpfs") {
		t.Errorf("direct %v, alignment %d, %q", f.Direct, f.Align, f.Reason)
	}
}

// A mount that cannot be written to is read like others.
func TestReadOnlyMount(t *testing.T) {
	dir := t.TempDir()
	_, data := weights(t, testBlock)
	if err := os.WriteFile(filepath.Join(dir, "weights.bin"), data, 0o444); err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	if err := unix.Mount(dir, at, "", unix.MS_BIND, ""); err != nil {
		t.Skip("mounting is not permitted:", err)
	}
	defer unix.Unmount(at, unix.MNT_DETACH)
	if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip("mounting is not permitted:", err)
	}
	withEngines(t, engineKits(), func(t *testing.T, k engineKit) {
		f, err := OpenFile(filepath.Join(at, "weights.bin"), "weights.bin", true)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.DropCache(); err != nil {
			t.Error(err)
		}
		s := newStaging(t, 1, testBlock)
		e := k.make(t, EngineOptions{Depth: 1, Staging: s})
		defer e.Close()
		if c := readAll(t, e, f, s)[0]; c.Err != nil || !bytes.Equal(s.Area(), data) {
			t.Errorf("other bytes, or %v", c.Err)
		}
	})
}
