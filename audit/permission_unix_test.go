//go:build unix

package audit

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user who owns nothing.
const nobody = 65534

// auditAsNobody audits a path, relative to the directory, as somebody else
// where the tests run as root.
func (k *kit) auditAsNobody(path string) *Report {
	k.Helper()
	if os.Getuid() != 0 {
		return k.audit(path, Options{})
	}
	// The way to the directory and to the program has to be open.
	program := filepath.Join(k.TempDir(), "tests")
	self, err := os.Executable()
	k.check(err)
	if os.Link(self, program) != nil {
		data, err := os.ReadFile(self)
		k.check(err)
		k.check(os.WriteFile(program, data, 0o755))
	}
	for _, dir := range []string{k.dir, filepath.Dir(program)} {
		for ; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			k.check(err)
			if info.Mode().Perm()&0o111 != 0 {
				k.check(os.Chmod(dir, info.Mode().Perm()|0o111))
			}
		}
	}
	cmd := exec.Command(program)
	cmd.Dir = k.dir
	cmd.Env = append(os.Environ(), childEnv+"="+filepath.Join(".", path))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		k.Fatalf("%v\n%s", err, &stderr)
	}
	r := &Report{}
	k.check(json.Unmarshal(out, r))
	return r
}

// permissionMutations take the right to read away.
func permissionMutations() []mutation {
	lock := func(name string, mode os.FileMode) func(k *kit) {
		return func(k *kit) {
			if info, err := os.Stat(k.path(name)); err == nil && info.Mode().IsRegular() {
				k.write(name, k.read(name)) // a file of its own, not the link to the good one
			}
			k.check(os.Chmod(k.path(name), mode))
			k.Cleanup(func() { _ = os.Chmod(k.path(name), 0o755) })
		}
	}
	return []mutation{
		{name: "shard without permission", do: lock(shard(3), 0), want: []string{"FS011 error #3"}, says: []string{"EACCES", "permission denied"}},
		{name: "index without permission", do: lock(indexName, 0), want: []string{"FS011 error index"}},
		{name: "config without permission", do: lock("config.json", 0), gone: []string{"SE001", "CF005"},
			add: []string{"CF005 warning x6 chat_template.jinja"}, want: []string{"FS011 error config.json"}},
		{name: "directory without permission", path: "sub", do: func(k *kit) { k.dirs("sub"); k.text("sub/config.json", "{}"); lock("sub", 0)(k) },
			gone: []string{"SE001", "CF005"}, want: []string{"FS011 error"}, says: []string{"EACCES"}},
		{name: "directory that may be listed and not entered", path: "sub", gone: []string{"SE001", "CF005"}, do: func(k *kit) {
			k.dirs("sub")
			k.text("sub/model.safetensors", "x")
			lock("sub", 0o444)(k)
		}, want: []string{"CF001 error config.json", "CF005 warning x2 generation_config.json", "FS011 error model.safetensors"}, refetch: []string{"config.json"}},
	}
}

func TestPermissions(t *testing.T) {
	for _, m := range permissionMutations() {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			k := mini(t)
			m.do(k)
			m.judge(t, k.auditAsNobody(m.path))
		})
	}
}
