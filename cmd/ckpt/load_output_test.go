package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// failing is an output that takes nothing.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// What becomes of the report changes nothing of the hashes that are recorded, and
// of the status only what it has to say itself.
func TestLoadWhoseReportCannotBeWritten(t *testing.T) {
	dir := loadMini(t)
	place := t.TempDir()
	good, bad := filepath.Join(place, "good"), filepath.Join(place, "bad")
	if status, _, stderr := command(t, "load", "-q", "--device", "host", "--record", good, dir); status != exitDone {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte(`"hash":"`))
	if at < 0 {
		t.Fatalf("no hash in %.300s", text)
	}
	digit := &text[at+len(`"hash":"`)]
	*digit = map[bool]byte{true: '1', false: '0'}[*digit == '0']
	if err := os.WriteFile(bad, text, 0o600); err != nil {
		t.Fatal(err)
	}
	full := &os.PathError{Op: "write", Path: "/dev/full", Err: syscall.ENOSPC}
	for i, c := range []struct {
		err    error
		flags  []string
		status int
		says   string
	}{
		{syscall.EPIPE, nil, exitDone, ""},
		{syscall.EPIPE, []string{"--json"}, exitDone, ""},
		{full, nil, exitNoRoom, "no space left on device"},
		{syscall.EPIPE, []string{"--manifest", bad}, exitNo, ""},
		{syscall.EPIPE, []string{"--manifest", bad, "--json"}, exitNo, ""},
		{full, []string{"--manifest", bad, "--json"}, exitNo, "no space left on device"},
	} {
		record := filepath.Join(place, fmt.Sprint("hashes", i))
		var stderr bytes.Buffer
		args := append([]string{"load", "--device", "host", "--record", record}, append(c.flags, dir)...)
		status := run(t.Context(), args, streams{out: failing{c.err}, err: &stderr, getenv: func(string) string { return "" }})
		if status != c.status || !strings.Contains(stderr.String(), c.says) || c.says == "" && stderr.Len() > 0 {
			t.Errorf("%v %v: status %d, want %d\n%s", c.err, c.flags, status, c.status, &stderr)
		}
		if _, err := os.Stat(record); (err == nil) != (c.status != exitNo) {
			t.Errorf("%v %v: the hashes: %v", c.err, c.flags, err)
		}
	}
}

// Joined errors stand in one line, wherever they were joined; what looks like it
// in a name does not break it.
func TestErrorsInOneLine(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c\nd")
	for want, err := range map[string]error{
		"a":                  a,
		"a; b":               errors.Join(a, b),
		"x: a; b":            fmt.Errorf("x: %w", errors.Join(a, b)),
		"a; x: a; b":         errors.Join(a, fmt.Errorf("x: %w", errors.Join(a, b))),
		"a; b; c\nd":         errors.Join(errors.Join(a, b), c),
		"c\nd":               c,
		"x: c\nd":            fmt.Errorf("x: %w", c),
		"a b: a; b and c\nd": fmt.Errorf("a b: %w and %w", errors.Join(a, b), c),
		"x\ny: a; b":         fmt.Errorf("x\ny: %w", errors.Join(a, b)),
		"hinted: a; b":       hint(fmt.Errorf("hinted: %w", errors.Join(a, b)), "mend it"),
	} {
		if got := inOneLine(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
