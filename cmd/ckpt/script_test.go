package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs are what the test program is when it is called so.
var programs = map[string]func(){"ckpt": main, "attach": attachForever}

func TestMain(m *testing.M) { testscript.Main(m, programs) }

// TestScripts runs the command line as users do. Beside testscript's own
// commands there are
//
//	status N ckpt ARGS…   run and demand this exit status
//	doc PATH VALUE        demand a value in the JSON document on stdout
//	record NAME DIR       keep contents, sizes, times and inodes of a tree
//	unchanged NAME DIR    demand that they are the same
//	edit FILE NEW A B     write FILE with every A replaced by B, of which there is one
//	absent GLOB           demand that nothing has such a name
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TERM", "xterm")
			env.Setenv("TMPDIR", filepath.Join(env.WorkDir, ".tmp"))
			return os.MkdirAll(filepath.Join(env.WorkDir, ".tmp"), 0o777)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":    scriptStatus,
			"doc":       scriptDoc,
			"record":    scriptRecord,
			"unchanged": scriptUnchanged,
			"absent":    scriptAbsent,
			"edit":      scriptEdit,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "full": // a device that has no room
				_, err := os.Stat("/dev/full")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func scriptDoc(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: doc path value")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	var doc any
	ts.Check(d.Decode(&doc))
	if d.More() {
		ts.Fatalf("more than one document on stdout")
	}
	got := fmt.Sprint(lookup(doc, strings.Split(args[0], ".")))
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %s", args[0], got)
	}
}

// lookup walks a document: names, numbers, and len for the length of a list.
func lookup(doc any, path []string) any {
	for _, step := range path {
		switch v := doc.(type) {
		case map[string]any:
			doc = v[step]
		case []any:
			if step == "len" {
				return len(v)
			}
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return "nothing"
			}
			doc = v[i]
		default:
			return "nothing"
		}
	}
	return doc
}

// state describes every entry of a tree as far as an audit could change it.
func state(ts *testscript.TestScript, dir string) string {
	var b strings.Builder
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %d %s %d", path, info.Mode(), info.Size(), info.ModTime().UTC(), inode(info))
		if info.Mode().IsRegular() && info.Size() < 1<<26 {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

func scriptRecord(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: record name dir")
	}
	ts.Setenv("STATE_"+args[0], state(ts, ts.MkAbs(args[1])))
}

func scriptUnchanged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unchanged name dir")
	}
	before, after := ts.Getenv("STATE_"+args[0]), state(ts, ts.MkAbs(args[1]))
	if before != after {
		ts.Fatalf("before:\n%safter:\n%s", before, after)
	}
}

func scriptEdit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: edit file new-file old new")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[2]) {
		ts.Fatalf("%s has no %s", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.ReplaceAll(text, args[2], args[3])), 0o644))
}

func scriptAbsent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: absent glob…")
	}
	for _, glob := range args {
		found, err := filepath.Glob(ts.MkAbs(glob))
		ts.Check(err)
		if len(found) > 0 {
			ts.Fatalf("%s is there", found[0])
		}
	}
}
