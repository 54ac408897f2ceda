package loader

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ckpt/shard"
)

// loadsWhole loads a model and compares all of its arenas, and gives what was said.
func loadsWhole(t *testing.T) *Result {
	dir, p := mini(t, shard.Topology{TP: 4}, shard.Options{})
	d := NewHost()
	o := small(d)
	o.Verify = VerifySource
	l, r, err := Load(t.Context(), p, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	sameArenas(t, l, slowly(t, p, dir))
	if r.Engine.Name != "uring" && r.Engine.Reason == "" {
		t.Errorf("%s without a reason", r.Engine.Name)
	}
	if !r.Engine.Direct && r.Engine.Buffered == "" {
		t.Error("buffered without a reason")
	}
	closeAll(t, l, d)
	return r
}

func TestLoadWithFewDescriptors(t *testing.T) {
	restricted(t, func() error {
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 32, Max: 32})
	}, func(t *testing.T) { loadsWhole(t) })
}

func TestLoadWithLittleLockedMemory(t *testing.T) {
	restricted(t, func() error { return asNobody(64 << 10) }, func(t *testing.T) {
		if e := loadsWhole(t).Engine; e.Name == "uring" && !e.Fixed && e.FixedWhy == "" {
			t.Errorf("%+v", e)
		}
	})
}

func TestLoadWithoutRings(t *testing.T) {
	restricted(t, func() error { return forbidRings(syscall.EPERM) }, func(t *testing.T) {
		if e := loadsWhole(t).Engine; e.Name != "pread" {
			t.Errorf("%+v", e)
		}
	})
}

func TestLoadWithoutHugePages(t *testing.T) {
	restricted(t, func() error { return unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) }, func(t *testing.T) {
		if e := loadsWhole(t).Engine; e.Pages != "plain" || e.Huge != 0 {
			t.Errorf("%+v", e)
		}
	})
}

func TestLoadFromMemory(t *testing.T) {
	restricted(t, func() error {
		dir, err := os.MkdirTemp("/dev/shm", "ckpt")
		if err != nil {
			return err
		}
		if err := os.Remove(dir); err != nil {
			return err
		}
		return os.Setenv("TMPDIR", "/dev/shm")
	}, func(t *testing.T) {
		if e := loadsWhole(t).Engine; e.System != "tmpfs" || e.Direct {
			t.Errorf("%+v", e)
		}
	})
}
