package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"ckpt/internal/synth"
)

// loadMini makes a small checkpoint with real contents.
func loadMini(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("loads are for linux")
	}
	dir := filepath.Join(t.TempDir(), "k3")
	if _, err := synth.Synth(t.Context(), "kimi-k3", dir, synth.Options{Preset: "mini", Layers: 4, Experts: 12}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// command runs the program within the test.
func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &err, getenv: func(string) string { return "" }})
	return status, out.String(), err.String()
}

func loadDoc(t *testing.T, args ...string) any {
	t.Helper()
	status, out, stderr := command(t, append([]string{"load", "--json"}, args...)...)
	if status != exitDone {
		t.Fatalf("load %q: exit status %d: %s", args, status, stderr)
	}
	var doc any
	d := json.NewDecoder(strings.NewReader(out))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// A loader echoed its settings as active, and they never reached the engine. Here
// the report says what the engine used, and each flag makes it say something else.
func TestFaultSGLang32199EveryFlagReachesTheLoad(t *testing.T) {
	dir := loadMini(t)
	temp := t.TempDir()
	plan, hashes, fio := filepath.Join(temp, "plan"), filepath.Join(temp, "hashes"), filepath.Join("..", "..", "internal", "fio", "testdata", "read.json")
	if status, _, stderr := command(t, "plan", "-q", "--tp", "4", "-o", plan, dir); status != exitDone {
		t.Fatal(stderr)
	}
	base := []string{"--tp", "2", "--device", "host", "--io", "pread", dir}
	with := func(flags ...string) []string { return append(slices.Clone(base), flags...) }
	cases := []struct {
		flag, path, before, after string
		args                      []string
	}{
		{"tp", "plan.tp", "2", "4", with("--tp", "4")},
		{"ep", "plan.ep", "1", "2", with("--ep", "2")},
		{"pp", "plan.pp", "1", "2", with("--pp", "2")},
		{"tensor", "verify.tensors", "322", "1", with("--tensor", "*lm_head*")},
		{"layout", "plan.layout", "engine", "checkpoint", with("--layout", "checkpoint")},
		{"a-log", "plan.a_log", "stored", "heads", with("--a-log", "heads")},
		{"profile", "plan.profile", "kimi-k3", "rules", []string{"--tp", "1", "--device", "host", "--profile", "none", dir}},
		{"jobs", "engine.workers", fmt.Sprint(runtime.GOMAXPROCS(0)), "3", with("--jobs", "3")},
		{"plan", "plan.tp", "2", "4", []string{"--plan", plan, "--device", "host", dir}},
		{"ranks", "ranks.0.rank", "0", "1", with("--ranks", "1")},
		{"device", "device", "host", "null", with("--device", "null")},
		{"block", "engine.block", "4194304", "1048576", with("--block", "1MiB")},
		{"inflight", "engine.inflight", "", "2097152", with("--inflight", "2MiB", "--block", "1MiB")},
		{"pinned", "memory.pinned", "", "2097152", with("--pinned", "2MiB", "--block", "1MiB")},
		{"verify", "verify.mode", "source", "device", with("--verify", "device")},
		{"sha256", "verify.files", "0", "7", with("--sha256")},
		{"manifest", "verify.reference", "none", "manifest", with("--manifest", hashes)},
		{"runs", "runs.len", "1", "2", with("--runs", "2")},
		{"cold", "cold.asked", "false", "true", with("--cold")},
		{"compare", "compare.tool", "nothing", "fio-3.33", with("--compare", fio)},
		{"record", "verify.status", "recorded", "recorded", with("--record", hashes)},
	}
	tested := map[string]bool{
		"io":       true, // below: what it leads to depends on the system
		"buffered": true, // likewise
		"explain":  true, // below: for people
		"hold":     true, // TestHoldFromTheCommandLine
		"json":     true, // everywhere here
	}
	reference := loadDoc(t, base...)
	if status, _, stderr := command(t, append([]string{"load", "--record", hashes}, base...)...); status != exitDone {
		t.Fatal(stderr)
	}
	for _, c := range cases {
		tested[c.flag] = true
		if c.flag == "record" {
			os.Remove(hashes)
		}
		before, after := fmt.Sprint(lookup(reference, strings.Split(c.path, "."))), fmt.Sprint(lookup(loadDoc(t, c.args...), strings.Split(c.path, ".")))
		if c.before != "" && before != c.before || after != c.after || before == after && c.flag != "record" {
			t.Errorf("--%s: %s is %s, want %s; without it %s, want %s", c.flag, c.path, after, c.after, before, c.before)
		}
	}
	if _, err := os.Stat(hashes); err != nil {
		t.Errorf("--record: %v", err)
	}
	if got := lookup(reference, []string{"engine", "name"}); got != "pread" {
		t.Errorf("--io pread: %v", got)
	}
	auto := loadDoc(t, "--tp", "2", "--device", "host", dir)
	if fmt.Sprint(lookup(auto, []string{"engine", "ladder"})) == fmt.Sprint(lookup(reference, []string{"engine", "ladder"})) {
		t.Error("--io leaves no trace in the ladder")
	}
	buffered := loadDoc(t, with("--buffered")...)
	if lookup(buffered, []string{"engine", "direct"}) != false || lookup(buffered, []string{"engine", "buffered_reason"}) == lookup(reference, []string{"engine", "buffered_reason"}) {
		t.Errorf("--buffered: %v", lookup(buffered, []string{"engine"}))
	}
	_, plain, _ := command(t, append([]string{"load"}, base...)...)
	_, explained, _ := command(t, append([]string{"load", "--explain"}, base...)...)
	if strings.Contains(plain, "CHOICES") || !strings.Contains(explained, "CHOICES") {
		t.Error("--explain explains nothing")
	}
	newLoad(new(globals), streams{}).Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !tested[f.Name] {
			t.Errorf("--%s is not tested here", f.Name)
		}
	})
}
