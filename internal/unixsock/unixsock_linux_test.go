package unixsock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// sayEnv makes the test program another process: it connects to the socket of
// that name, or listens there until it is killed.
const (
	dialEnv   = "CKPT_TEST_DIAL"
	listenEnv = "CKPT_TEST_LISTEN"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(dialEnv); path != "" {
		c, err := net.Dial("unix", path)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		io.Copy(io.Discard, c)
		os.Exit(0)
	}
	if path := os.Getenv(listenEnv); path != "" {
		if _, err := Listen(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("listening")
		select {}
	}
	goleak.VerifyTestMain(m)
}

func listen(t *testing.T, path string) *Listener {
	t.Helper()
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// pair connects two ends.
func pair(t *testing.T) (server, client *Conn) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	client, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return server, client
}

func TestOnlyTheOwnerMayConnect(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	path := filepath.Join(t.TempDir(), "s")
	l := listen(t, path)
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the name is left: %v", err)
	}
}

func TestALivingSocketIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listen(t, path)
	for _, take := range []func(string) error{Free, func(p string) error { _, err := Listen(p); return err }} {
		err := take(path)
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("%v does not name the process that listens", err)
		}
	}
}

func TestTheSocketOfADeadProcessIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), listenEnv+"="+path)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	word := make([]byte, 9)
	if _, err := io.ReadFull(out, word); err != nil || string(word) != "listening" {
		t.Fatalf("%q %v", word, err)
	}
	if err := Free(path); !errors.Is(err, ErrInUse) {
		t.Errorf("living: %v", err)
	}
	other.Process.Kill()
	other.Wait()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("a killed process leaves its socket: %v", err)
	}
	if _, err := Dial(t.Context(), path); !errors.Is(err, ErrNobody) {
		t.Errorf("dial: %v", err)
	}
	if err := Free(path); err != nil {
		t.Errorf("dead: %v", err)
	}
	listen(t, path)
	c, err := Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestWhatIsNoSocketIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, dir} {
		if err := Free(path); !errors.Is(err, ErrNotSocket) {
			t.Errorf("Free(%s): %v", path, err)
		}
		if _, err := Listen(path); !errors.Is(err, ErrNotSocket) {
			t.Errorf("Listen(%s): %v", path, err)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{"", filepath.Join(dir, "no", "s"), filepath.Join(file, "s")} {
		if _, err := Listen(path); err == nil {
			t.Errorf("Listen(%q) did it", path)
		}
	}
}

// A name that another process has by now stays.
func TestCloseLeavesTheNextOnesName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first := listen(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	listen(t, path)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

func TestNamesOfAnyKind(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(long)
	for _, path := range []string{filepath.Join(long, "s"), "@s", "relative"} {
		l := listen(t, path)
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSocket == 0 {
			t.Errorf("%s: %v", path, err)
		}
		c, err := Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Listen(filepath.Join(long, strings.Repeat("s", 100))); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("a name that no address holds: %v", err)
	}
}

func TestOneOfManyTakesADeadName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	const n = 16
	results := make(chan *Listener, n)
	for range n {
		go func() {
			l, err := Listen(path)
			if err != nil && !errors.Is(err, ErrInUse) {
				t.Error(err)
			}
			results <- l
		}()
	}
	var got []*Listener
	for range n {
		if l := <-results; l != nil {
			got = append(got, l)
		}
	}
	if len(got) != 1 {
		t.Errorf("%d have the name", len(got))
	}
	for _, l := range got {
		l.Close()
	}
}

func TestLinesAndDescriptors(t *testing.T) {
	server, client := pair(t)
	if p := server.Peer(); p.PID != os.Getpid() || p.UID != uint32(os.Geteuid()) {
		t.Errorf("peer %+v", p)
	}
	long := strings.Repeat("x", 100_000)
	go func() {
		client.Send([]byte("one"))
		client.Send([]byte(long))
		var files []*os.File
		for i := range MostFiles {
			f, err := os.CreateTemp(t.TempDir(), "")
			if err != nil {
				t.Error(err)
			}
			fmt.Fprint(f, i)
			files = append(files, f)
		}
		if err := client.Send([]byte("files"), files...); err != nil {
			t.Error(err)
		}
		for _, f := range files {
			f.Close()
		}
		client.Send(nil)
		client.Close()
	}()
	for _, want := range []string{"one", long, "files", ""} {
		line, files, err := server.Receive(len(long), MostFiles)
		if err != nil || string(line) != want {
			t.Fatalf("%.20q, %v", line, err)
		}
		if (len(files) == MostFiles) != (want == "files") {
			t.Errorf("%.20q came with %d descriptors", want, len(files))
		}
		for i, f := range files {
			b := make([]byte, 8)
			n, _ := f.ReadAt(b, 0)
			if string(b[:n]) != fmt.Sprint(i) {
				t.Errorf("descriptor %d is %q", i, b[:n])
			}
			f.Close()
		}
	}
	if _, _, err := server.Receive(10, 0); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestBounds(t *testing.T) {
	devNull, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer devNull.Close()
	before := descriptors(t)
	for name, send := range map[string]func(*Conn) error{
		"long line":      func(c *Conn) error { return c.Send([]byte(strings.Repeat("x", 11))) },
		"no end":         func(c *Conn) error { _, err := c.c.Write([]byte(strings.Repeat("x", 5000))); return err },
		"descriptors":    func(c *Conn) error { return c.Send([]byte("x"), devNull, devNull, devNull) },
		"middle of line": func(c *Conn) error { c.c.Write([]byte("x")); return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			server, client := pair(t)
			if err := send(client); err != nil {
				t.Fatal(err)
			}
			if _, files, err := server.Receive(10, 2); err == nil || files != nil {
				t.Errorf("%v, %d files", err, len(files))
			}
		})
	}
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors are left", n-before)
	}
	if err := new(Conn).Send([]byte("a\nb")); !errors.Is(err, ErrMessage) {
		t.Errorf("two lines: %v", err)
	}
}

func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestGone(t *testing.T) {
	server, client := pair(t)
	gone := server.Gone()
	client.Send([]byte("nonsense"))
	select {
	case <-gone:
		t.Error("gone while it is there")
	case <-time.After(10 * time.Millisecond):
	}
	client.Close()
	<-gone
}

// Another user's process is told nothing, even where the mode of the socket
// would let it in.
func TestStrangersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		skip(t, "only root can be another user")
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	// The test program may lie where another user cannot reach it.
	copied, path := filepath.Join(dir, "program"), filepath.Join(dir, "s")
	for _, step := range []error{os.Chmod(dir, 0o755), os.WriteFile(copied, program, 0o755)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	l := listen(t, path)
	dial := func() (string, error) {
		other := exec.Command(copied)
		other.Env = []string{dialEnv + "=" + path}
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := other.CombinedOutput()
		return string(out), err
	}
	if out, err := dial(); err == nil || !strings.Contains(out, "permission denied") {
		t.Errorf("mode 0600: %v %s", err, out)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if out, err := dial(); err != nil {
			t.Errorf("the stranger was to be let go by the server: %v %s", err, out)
		}
	}()
	if c, err := l.Accept(); !errors.Is(err, ErrStranger) || c != nil || !strings.Contains(err.Error(), "65534") {
		t.Errorf("accepted: %v", err)
	}
	<-done
}

// skip is for tests that the machine cannot run; CI on a machine that can
// forbids it.
func skip(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CKPT_FORBID_SKIP") == "1" {
		t.Fatal(reason + ", and CKPT_FORBID_SKIP is set")
	}
	t.Skip(reason)
}

func TestDialGivesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "s")
	listen(t, path)
	if _, err := Dial(ctx, path); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Dial(t.Context(), path+"x"); !errors.Is(err, ErrNobody) {
		t.Error(err)
	}
}

// Whatever comes in whatever pieces, lines are what stands between line feeds,
// and nothing is kept open.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), uint8(1), uint8(3))
	f.Add([]byte("\n\n\n"), uint8(9), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, piece, most uint8) {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Skip(err)
		}
		var ends [2]*Conn
		for i, fd := range fds {
			file := os.NewFile(uintptr(fd), "")
			c, err := net.FileConn(file)
			file.Close()
			if err != nil {
				t.Fatal(err)
			}
			ends[i] = &Conn{c: c.(*net.UnixConn)}
			defer c.Close()
		}
		go func() {
			for rest := text; len(rest) > 0; {
				n := min(int(piece)+1, len(rest))
				if _, err := ends[0].c.Write(rest[:n]); err != nil {
					break
				}
				rest = rest[n:]
			}
			ends[0].Close()
		}()
		rest := string(text)
		for {
			line, files, err := ends[1].Receive(int(most), 0)
			if len(files) > 0 {
				t.Fatal("descriptors from nowhere")
			}
			want, after, whole := strings.Cut(rest, "\n")
			switch {
			case err == nil:
				if !whole || string(line) != want || len(line) > int(most) {
					t.Fatalf("%q, want %q", line, want)
				}
				rest = after
				continue
			case errors.Is(err, io.EOF):
				if rest != "" {
					t.Fatalf("the end before %q", rest)
				}
			case errors.Is(err, io.ErrUnexpectedEOF):
				if whole || rest == "" {
					t.Fatalf("cut off at %q", rest)
				}
			case errors.Is(err, ErrMessage):
				if len(want) <= int(most) {
					t.Fatalf("%q is not too long for %d: %v", want, most, err)
				}
			default:
				t.Fatal(err)
			}
			return
		}
	})
}
