package loader

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// engineKit is a way to make an engine, with what all of them are held to.
type engineKit struct {
	name string
	make func(t *testing.T, o EngineOptions) Engine
}

// engineKits are all engines. One that cannot be had here is skipped.
func engineKits() []engineKit {
	open := func(kind string) func(*testing.T, EngineOptions) Engine {
		return func(t *testing.T, o EngineOptions) Engine {
			t.Helper()
			e, info, err := NewEngine(kind, o)
			if errors.Is(err, ErrUnavailable) {
				skipEngine(t, err.Error())
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Name() != kind || info.Name != kind {
				t.Fatalf("asked for %s, got %s (%+v)", kind, e.Name(), info)
			}
			return e
		}
	}
	return []engineKit{
		{"uring", open("uring")},
		{"pread", open("pread")},
		{"mem", func(_ *testing.T, o EngineOptions) Engine { return &memEngine{depth: o.Depth, fault: o.fault} }},
	}
}

// skipEngine skips, or fails where that is forbidden.
func skipEngine(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CKPT_FORBID_SKIP") == "1" && runtime.GOOS == "linux" {
		t.Fatal(reason + ", and CKPT_FORBID_SKIP is set")
	}
	t.Skip(reason)
}

// withEngines runs a test where engines are used: on one thread.
func withEngines(t *testing.T, kits []engineKit, test func(t *testing.T, k engineKit)) {
	for _, k := range kits {
		t.Run(k.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			test(t, k)
		})
	}
}

// weights is a file with random contents.
func weights(t *testing.T, size int) (path string, data []byte) {
	t.Helper()
	data = make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(size)})
	r.Read(data)
	path = filepath.Join(t.TempDir(), "weights.bin")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path, data
}

func openWeights(t *testing.T, path string, direct bool) *File {
	t.Helper()
	f, err := OpenFile(path, filepath.Base(path), direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func newStaging(t *testing.T, slots int, block int64) *Staging {
	t.Helper()
	s, err := NewStaging(int64(slots)*block, block)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// readAll reads a file in blocks, each into a slot of its own, and returns the
// completions by block.
func readAll(t *testing.T, e Engine, f *File, s *Staging) []Completion {
	t.Helper()
	blocks := int((f.Size + s.Block() - 1) / s.Block())
	out, seen := make([]Completion, blocks), make([]bool, blocks)
	done := make([]Completion, 3)
	for next, flying := 0, 0; next < blocks || flying > 0; {
		for next < blocks && flying < e.Depth() {
			off := int64(next) * s.Block()
			r := Request{File: f, Offset: off, Buf: s.Slot(next), Need: int(min(s.Block(), f.Size-off)), Tag: uint64(next)}
			if err := e.Submit(r); err != nil {
				t.Fatal(err)
			}
			next, flying = next+1, flying+1
		}
		n, err := e.Wait(done)
		if err != nil || n == 0 {
			t.Fatalf("Wait: %d, %v", n, err)
		}
		for _, c := range done[:n] {
			if seen[c.Tag] {
				t.Fatalf("block %d is done twice", c.Tag)
			}
			seen[c.Tag], out[c.Tag] = true, c
		}
		flying -= n
	}
	return out
}

const testBlock = 64 << 10

func TestEnginesRead(t *testing.T) {
	withEngines(t, engineKits(), func(t *testing.T, k engineKit) {
		for _, direct := range []bool{true, false} {
			for _, size := range []int{1, 511, 4096, testBlock, testBlock + 1, 5*testBlock - 1, 37*testBlock + 777} {
				path, data := weights(t, size)
				f := openWeights(t, path, direct)
				s := newStaging(t, (size+testBlock-1)/testBlock, testBlock)
				for _, depth := range []int{1, 4} {
					clear(s.Area())
					e := k.make(t, EngineOptions{Depth: depth, Staging: s})
					for i, c := range readAll(t, e, f, s) {
						if c.Err != nil {
							t.Fatalf("%d bytes, block %d: %v", size, i, c.Err)
						}
						if c.Latency <= 0 {
							t.Errorf("block %d took %v", i, c.Latency)
						}
					}
					if !bytes.Equal(s.Area()[:size], data) {
						t.Errorf("%d bytes, direct %v, depth %d: other bytes", size, f.Direct, depth)
					}
					if err := e.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
}

// Errors of the system come back with path, file system, place and number; others
// than the request's own are not touched.
func TestEnginesInjectedErrors(t *testing.T) {
	path, data := weights(t, 8*testBlock)
	withEngines(t, engineKits(), func(t *testing.T, k engineKit) {
		f, s := openWeights(t, path, true), newStaging(t, 8, testBlock)
		e := k.make(t, EngineOptions{Depth: 4, Staging: s, fault: func(r *Request, n int, err error) (int, error) {
			switch r.Tag {
			case 3:
				return 0, syscall.EIO
			case 5:
				return 0, syscall.EAGAIN
			}
			return n, err
		}})
		defer e.Close()
		for i, c := range readAll(t, e, f, s) {
			want := map[int]error{3: syscall.EIO, 5: syscall.EAGAIN}[i]
			if !errors.Is(c.Err, want) || (c.Err == nil) != (want == nil) {
				t.Errorf("block %d: %v, want %v", i, c.Err, want)
			}
			if e := (*ReadError)(nil); want != nil && (!errors.As(c.Err, &e) || e.File != path || e.Offset != int64(i)*testBlock || e.System == "") {
				t.Errorf("block %d: %#v", i, c.Err)
			}
			at := i * testBlock
			if want == nil && !bytes.Equal(s.Slot(i), data[at:at+testBlock]) {
				t.Errorf("block %d: other bytes", i)
			}
		}
	})
}

// Reads that end early, or ask to come again, are read on; where they stopped
// amid what can be read directly, from before that.
func TestEnginesReadOn(t *testing.T) {
	const size = 8*testBlock + 1000
	path, data := weights(t, size)
	withEngines(t, engineKits(), func(t *testing.T, k engineKit) {
		for _, direct := range []bool{true, false} {
			f, s := openWeights(t, path, direct), newStaging(t, 9, testBlock)
			tries := make([]int, 9)
			e := k.make(t, EngineOptions{Depth: 3, Staging: s, fault: func(r *Request, n int, err error) (int, error) {
				tries[r.Tag]++
				switch try := tries[r.Tag]; {
				case try%4 == 1:
					return 0, syscall.EINTR
				case try%4 == 2:
					return 0, syscall.EAGAIN
				case n > 20_000:
					return 10_000 + int(r.Tag), err
				}
				return n, err
			}})
			for i, c := range readAll(t, e, f, s) {
				if c.Err != nil {
					t.Fatalf("block %d: %v", i, c.Err)
				}
				if c.Retries == 0 {
					t.Errorf("block %d: no retries are told", i)
				}
			}
			if !bytes.Equal(s.Area()[:size], data) {
				t.Errorf("direct %v: other bytes", direct)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// llama.cpp 18504 served weights of which the end was never read: a short direct
// read at the end of a file was taken for all there is.
func TestFaultLlamaCpp18504ShortDirectReads(t *testing.T) {
	const size = 2*testBlock + 777
	path, data := weights(t, size)
	withEngines(t, engineKits(), func(t *testing.T, k engineKit) {
		f, s := openWeights(t, path, true), newStaging(t, 3, testBlock)
		e := k.make(t, EngineOptions{Depth: 2, Staging: s, fault: func(r *Request, n int, err error) (int, error) {
			return min(n, 512*(1+int(r.Tag))), err
		}})
		defer e.Close()
		for i, c := range readAll(t, e, f, s) {
			// Where reads end before the next aligned byte there is no way on.
			if small := f.Align > 512*(i+1); (c.Err != nil) != small {
				t.Errorf("block %d, alignment %d: %v", i, f.Align, c.Err)
			}
		}
		if f.Align <= 512 && !bytes.Equal(s.Area()[:size], data) {
			t.Error("other bytes")
		}
	})
}

// A file that became shorter is an error that names it, in whichever block.
func TestEnginesFileShrinks(t *testing.T) {
	for _, left := range []int{0, 1, 3 * testBlock, 3*testBlock + 5000} {
		withEngines(t, engineKits(), func(t *testing.T, k engineKit) {
			path, data := weights(t, 6*testBlock)
			f, s := openWeights(t, path, true), newStaging(t, 6, testBlock)
			if err := os.Truncate(path, int64(left)); err != nil {
				t.Fatal(err)
			}
			e := k.make(t, EngineOptions{Depth: 6, Staging: s})
			defer e.Close()
			for i, c := range readAll(t, e, f, s) {
				at := i * testBlock
				switch whole := at+testBlock <= left; {
				case whole && (c.Err != nil || !bytes.Equal(s.Slot(i), data[at:at+testBlock])):
					t.Errorf("%d bytes are left, block %d: %v", left, i, c.Err)
				case whole:
				case !errors.Is(c.Err, ErrChanged) || !errors.Is(c.Err, io.ErrUnexpectedEOF):
					t.Errorf("%d bytes are left, block %d: %v", left, i, c.Err)
				case !bytes.Contains([]byte(c.Err.Error()), []byte(path)):
					t.Errorf("the error does not name the file: %v", c.Err)
				}
			}
		})
	}
}

// llama.cpp 18766: a direct read that is refused with EINVAL, on a disk with other
// sectors than thought, loaded nothing. It is read through the page cache then.
func TestFaultLlamaCpp18766DirectReadsRefused(t *testing.T) {
	path, data := weights(t, 4*testBlock)
	withEngines(t, engineKits(), func(t *testing.T, k engineKit) {
		f, s := openWeights(t, path, true), newStaging(t, 4, testBlock)
		if !f.Direct {
			skipEngine(t, "no direct reads in the temporary directory: "+f.Reason)
		}
		e := k.make(t, EngineOptions{Depth: 1, Staging: s, fault: func(r *Request, n int, err error) (int, error) {
			if r.File.Refused() == "" {
				return 0, syscall.EINVAL
			}
			return n, err
		}})
		defer e.Close()
		for i, c := range readAll(t, e, f, s) {
			if c.Err != nil {
				t.Errorf("block %d: %v", i, c.Err)
			}
		}
		if !bytes.Equal(s.Area(), data) || f.Refused() == "" {
			t.Errorf("other bytes, or no word of it: %q", f.Refused())
		}
		if n, err := f.Resident(); err == nil && n == 0 {
			t.Error("said to be read through the page cache, which is empty")
		}
	})
}

// The caller's own faults are errors and harm nothing.
func TestEnginesMisused(t *testing.T) {
	path, _ := weights(t, 4*testBlock)
	withEngines(t, engineKits(), func(t *testing.T, k engineKit) {
		f, s := openWeights(t, path, true), newStaging(t, 4, testBlock)
		e := k.make(t, EngineOptions{Depth: 2, Staging: s})
		if n, err := e.Wait(make([]Completion, 1)); err == nil {
			t.Errorf("Wait for nothing: %d", n)
		}
		good := Request{File: f, Buf: s.Slot(0), Need: testBlock}
		for name, spoil := range map[string]func(*Request){
			"no buffer": func(r *Request) { r.Buf = nil },
			"too much":  func(r *Request) { r.Need = len(r.Buf) + 1 },
			"before":    func(r *Request) { r.Offset = -4096 },
			"no file":   func(r *Request) { r.File = nil },
		} {
			r := good
			spoil(&r)
			if err := e.Submit(r); err == nil {
				t.Errorf("%s: taken", name)
			}
		}
		for i := range 2 {
			good.Buf = s.Slot(i)
			if err := e.Submit(good); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Submit(good); !errors.Is(err, errDepth) {
			t.Errorf("over the depth: %v", err)
		}
		for range 2 { // requests are in flight the first time
			if err := e.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		if err := e.Submit(good); err == nil && k.name != "mem" {
			t.Error("a closed engine took a request")
		}
	})
}

// More files at once than a ring has places, and files that come and go.
func TestEnginesManyFiles(t *testing.T) {
	const files = 3*ringFiles + 1
	withEngines(t, engineKits(), func(t *testing.T, k engineKit) {
		s := newStaging(t, files, testBlock)
		e := k.make(t, EngineOptions{Depth: files, Staging: s})
		defer e.Close()
		for range 2 {
			var all [][]byte
			for i := range files {
				path, data := weights(t, testBlock-i)
				all = append(all, data)
				if err := e.Submit(Request{File: openWeights(t, path, true), Buf: s.Slot(i), Need: len(data), Tag: uint64(i)}); err != nil {
					t.Fatal(err)
				}
			}
			done := make([]Completion, files)
			for got := 0; got < files; {
				n, err := e.Wait(done)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range done[:n] {
					if c.Err != nil || !bytes.Equal(s.Slot(int(c.Tag))[:len(all[c.Tag])], all[c.Tag]) {
						t.Errorf("file %d: other bytes, or %v", c.Tag, c.Err)
					}
				}
				got += n
			}
		}
	})
}
