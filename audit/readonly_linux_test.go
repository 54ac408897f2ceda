package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

// mountEnv asks the child to see its directory read-only.
const mountEnv = "CKPT_TEST_READONLY"

// notMounted is the child's exit status where the system forbids mounts.
const notMounted = 77

// mountReadOnly binds the working directory over itself, read-only, in the
// child's own mount namespace.
func mountReadOnly() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for _, flags := range []uintptr{unix.MS_BIND, unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY} {
		if err := unix.Mount(dir, dir, "", flags, ""); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
	}
	if err := os.Chdir(dir); err != nil { // into the mount
		return err
	}
	if err := os.WriteFile("probe", nil, 0o644); !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("the mount can be written to: %w", err)
	}
	return nil
}

// Nor does an audit need to be able to write.
func TestAuditOnReadOnlyMount(t *testing.T) {
	k := mini(t)
	want := k.audit("", Options{})
	before := tree(t, k.dir)
	self, err := os.Executable()
	k.check(err)
	cmd := exec.Command(self)
	cmd.Dir = k.dir
	cmd.Env = append(os.Environ(), childEnv+"=.", mountEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == notMounted:
		skip(t, "no read-only mount: %s", &stderr)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EACCES):
		skip(t, "no mount namespace: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var r Report
	k.check(json.Unmarshal(out, &r))
	if diff := cmp.Diff(found(want), found(&r)); diff != "" || r.Verdict != want.Verdict {
		t.Errorf("verdict %s on the read-only mount; findings differ:\n%s", r.Verdict, diff)
	}
	if diff := cmp.Diff(before, tree(t, k.dir)); diff != "" {
		t.Errorf("the audit changed the directory:\n%s", diff)
	}
}
