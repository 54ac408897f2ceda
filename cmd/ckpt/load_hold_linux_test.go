package main

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ckpt/internal/unixsock"
	"ckpt/loader/client"
)

// holdProcess is ckpt load --hold as a process of its own.
type holdProcess struct {
	*exec.Cmd
	socket string
	lines  *bufio.Scanner // of its standard error
	said   []string
}

// startHold starts to load. The test program is ckpt when it is called so.
func startHold(t *testing.T, dir, socket string, args ...string) *holdProcess {
	t.Helper()
	return startHoldTo(t, nil, dir, socket, args...)
}

// startHoldTo is startHold with a standard output.
func startHoldTo(t *testing.T, stdout *os.File, dir, socket string, args ...string) *holdProcess {
	t.Helper()
	p := &holdProcess{Cmd: exec.Command(os.Args[0]), socket: socket}
	if stdout != nil {
		p.Stdout = stdout
	}
	p.Args = append([]string{"ckpt", "load", "--device", "host", "--hold", socket, "--progress", "none"}, append(args, dir)...)
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(stderr)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill() // one that has ended is left alone
		p.Wait()
	})
	return p
}

// until reads what it says until a line has a word.
func (p *holdProcess) until(t *testing.T, word string) {
	t.Helper()
	for p.lines.Scan() {
		p.said = append(p.said, p.lines.Text())
		if strings.Contains(p.lines.Text(), word) {
			return
		}
	}
	t.Fatalf("it never said %q, but\n%s", word, strings.Join(p.said, "\n"))
}

// end waits for the exit status.
func (p *holdProcess) end(t *testing.T) int {
	t.Helper()
	for p.lines.Scan() {
		p.said = append(p.said, p.lines.Text())
	}
	var exit *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

func TestHoldFromTheCommandLine(t *testing.T) {
	dir := loadMini(t)
	socket := filepath.Join(t.TempDir(), "s")
	p := startHold(t, dir, socket, "--tp", "2")
	p.until(t, "holding 2 arenas at ")
	status, _, stderr := command(t, "load", "--device", "host", "--hold", socket, dir)
	if status != exitFailed || !strings.Contains(stderr, "another process listens there") {
		t.Errorf("a second holder: %d %s", status, stderr)
	}
	a, err := client.Attach(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p.until(t, "has ranks 0-1")
	if a.Holder() != p.Process.Pid {
		t.Errorf("held by %d", a.Holder())
	}
	checked := 0
	for i := range a.Manifest.Tensors {
		x := &a.Manifest.Tensors[i]
		if x.Layout != client.LayoutSlice || x.Transform != "" || !x.Replicated || len(x.Sources) != 1 || x.Sources[0].Count > 1 {
			continue
		}
		s := &x.Sources[0]
		f, err := os.Open(filepath.Join(dir, s.File))
		if err != nil {
			t.Fatal(err)
		}
		want := make([]byte, s.Bytes)
		_, err = f.ReadAt(want, s.Offset)
		f.Close()
		if err != nil || !bytes.Equal(a.Bytes(x), want) {
			t.Errorf("rank %d: %s is not the file's: %v", x.Rank, x.Name, err)
		}
		if len(x.Hash) != 32 || x.Hash != s.Hash {
			t.Errorf("%s: hash %q, of its source %q", x.Name, x.Hash, s.Hash)
		}
		checked++
	}
	if checked == 0 {
		t.Error("nothing was compared")
	}

	// Engines come and go.
	const times = 20
	start := time.Now()
	for range times {
		again, err := client.Attach(t.Context(), socket, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("attached in %v on average", time.Since(start)/times)

	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-a.Done()
	if status := p.end(t); status != exitDone {
		t.Errorf("exit status %d\n%s", status, strings.Join(p.said, "\n"))
	}
	if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	sum := byte(0) // what is mapped outlives the holder
	for i := range a.Manifest.Tensors {
		for _, b := range a.Bytes(&a.Manifest.Tensors[i]) {
			sum ^= b
		}
	}
	t.Logf("sum of all bytes: %d", sum)
}

// A report that nobody reads does not keep the arenas from being held.
func TestHoldWithoutAReader(t *testing.T) {
	dir := loadMini(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	place := t.TempDir()
	p := startHoldTo(t, w, dir, filepath.Join(place, "s"), "--record", filepath.Join(place, "hashes"))
	p.until(t, "holding 1 arena at ")
	if _, err := os.Stat(filepath.Join(place, "hashes")); err != nil {
		t.Error(err)
	}
	if a, err := client.Attach(t.Context(), p.socket); err != nil {
		t.Error(err)
	} else if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := p.end(t); status != exitDone {
		t.Errorf("exit status %d\n%s", status, strings.Join(p.said, "\n"))
	}
}

// A client that is killed gives its lease back.
func TestAKilledClientIsNoticed(t *testing.T) {
	dir := loadMini(t)
	socket := filepath.Join(t.TempDir(), "s")
	p := startHold(t, dir, socket)
	p.until(t, "holding 1 arena at ")
	c := exec.Command(os.Args[0])
	c.Args = []string{"attach", socket}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "attached\n" {
		t.Fatalf("%q %v", line, err)
	}
	p.until(t, "has rank 0")
	c.Process.Kill()
	c.Wait()
	p.until(t, "gave rank 0 back")
}

// Whenever it is killed, the next one can have the name, and nothing else lies
// about.
func TestKilledAtRandomMoments(t *testing.T) {
	dir := loadMini(t)
	place := t.TempDir()
	socket := filepath.Join(place, "s")
	start := time.Now()
	p := startHold(t, dir, socket, "--tp", "2")
	p.until(t, "holding")
	whole := time.Since(start)
	seed := rand.Uint64()
	t.Logf("seed %d, loaded in %v", seed, whole)
	moments := rand.New(rand.NewPCG(seed, 0))
	p.Process.Kill()
	p.Wait()
	for range 12 {
		p := startHold(t, dir, socket, "--tp", "2")
		time.Sleep(time.Duration(moments.Int64N(int64(whole * 5 / 4))))
		p.Process.Kill()
		p.Wait()
		list, err := os.ReadDir(place)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.Name() != "s" || e.Type() != fs.ModeSocket {
				t.Errorf("%v is left", e)
			}
		}
		if a, err := client.Attach(t.Context(), socket); !errors.Is(err, unixsock.ErrNobody) {
			t.Errorf("attached to a dead process: %v %v", a, err)
		}
	}
	last := startHold(t, dir, socket, "--tp", "2")
	last.until(t, "holding")
	a, err := client.Attach(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
}

// An interrupt before the end leaves no name behind.
func TestInterruptedLoadHoldsNothing(t *testing.T) {
	dir := loadMini(t)
	for range 4 {
		socket := filepath.Join(t.TempDir(), "s")
		p := startHold(t, dir, socket, "--runs", "1000", "--io", "pread")
		time.Sleep(50*time.Millisecond + rand.N(100*time.Millisecond))
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		// Before main has set up its handler, a signal ends the process.
		if status := p.end(t); status != exitInterrupted && status != -1 {
			t.Errorf("exit status %d\n%s", status, strings.Join(p.said, "\n"))
		}
		if _, err := os.Lstat(socket); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is there: %v", err)
		}
	}
}
