package pages

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestShared(t *testing.T) {
	for _, size := range []int64{0, 1, 4097, 3*HugeBytes + 3} {
		s, err := NewShared(t.Context(), "test", size)
		if err != nil {
			t.Fatalf("%d: %v", size, err)
		}
		checkArea(t, &s.Area, size)
		if err := s.Seal(); err != nil {
			t.Fatalf("%d: %v", size, err)
		}
		for i, b := range s.Bytes() {
			if b != byte(i) {
				t.Fatalf("%d: byte %d is %d after sealing", size, i, b)
			}
		}
		if _, err := s.File().WriteAt([]byte{1}, 0); err == nil {
			t.Errorf("%d: a sealed file was written to", size)
		}
		if err := CheckSealed(s.File(), size); err != nil {
			t.Error(err)
		}
		v, err := NewView(s.File(), size)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(v.Bytes(), s.Bytes()) {
			t.Errorf("%d: another mapping has other bytes", size)
		}
		for _, end := range []func() error{v.Close, s.Close, s.Close} {
			if err := end(); err != nil {
				t.Errorf("%d: Close: %v", size, err)
			}
		}
	}
}

// A file that has a mapping for writing cannot be sealed; then nothing is lost.
func TestSealRefused(t *testing.T) {
	s, err := NewShared(t.Context(), "test", 8192)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Bytes()[0] = 7
	other, err := unix.Mmap(int(s.File().Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(); !errors.Is(err, unix.EBUSY) {
		t.Errorf("sealed under a writer: %v", err)
	}
	if s.Bytes()[0] != 7 {
		t.Error("the bytes are gone")
	}
	if err := unix.Munmap(other); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(); err != nil {
		t.Error(err)
	}
}

// Each step that gives huge pages works without the others, or says why not.
func TestHugePages(t *testing.T) {
	if !hugePagesOffered(t) {
		t.Skip("this kernel has no transparent huge pages")
	}
	const size = 8 * HugeBytes
	for name, w := range map[string]wish{"advice": {huge: true}, "collapse": {collapse: true}, "both": {true, true}, "none": {}} {
		a, err := newArea(t.Context(), size, w)
		if err != nil {
			t.Fatal(err)
		}
		s, err := newShared(t.Context(), "test", size, w)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: private %s, %d bytes, %q; shared %s, %d bytes, %q", name, a.Kind(), a.Huge(), a.Reason(), s.Kind(), s.Huge(), s.Reason())
		for _, a := range []*Area{a, &s.Area} {
			if (a.Kind() == KindPlain) == (a.Huge()*2 >= size) {
				t.Errorf("%s: %s with %d of %d bytes on huge pages", name, a.Kind(), a.Huge(), size)
			}
		}
		if err := errors.Join(a.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

func hugePagesOffered(t *testing.T) bool {
	t.Helper()
	state, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && !bytes.Contains(state, []byte("[never]"))
}

// A process that may not have huge pages gets small ones and the reason.
func TestWithoutHugePages(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		t.Skip("huge pages cannot be forbidden here:", err)
	}
	defer unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0)
	a, err := New(t.Context(), 4*HugeBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Kind() != KindPlain || a.Huge() != 0 || a.Reason() == "" {
		t.Errorf("%s, %d bytes, %q", a.Kind(), a.Huge(), a.Reason())
	}
}

// What is mapped is unmapped, whichever way an area ends.
func TestNoMappingIsLeft(t *testing.T) {
	before := mappings(t)
	for range 20 {
		a, err := New(t.Context(), 3*HugeBytes)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewShared(t.Context(), "ckpt-leak-test", 3*HugeBytes)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Seal(), a.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if after := mappings(t); after > before+10 { // Go's heap maps too
		t.Errorf("%d mappings, before %d", after, before)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(maps), "ckpt-leak-test") {
		t.Error("a memory file is still mapped")
	}
}

func mappings(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(maps, []byte("\n"))
}

func TestMappingField(t *testing.T) {
	const text = `00400000-00500000 r-xp 00000000 fe:00 1 /bin/x
AnonHugePages:      8192 kB
VmFlags: rd ex
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Rss:                4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr
7f0000400000-7f0000800000 rw-p 00000000 00:00 0
VmFlags: rd wr
`
	for at, want := range map[uintptr]int64{0x400000: 8 << 20, 0x7f0000000000: 2 << 20, 0x7f0000400000: 0, 0x1000: 0} {
		if got := mappingField(bufio.NewScanner(strings.NewReader(text)), at, "AnonHugePages"); got != want {
			t.Errorf("%x: %d, want %d", at, got, want)
		}
	}
}

// Where the context ends, no memory is left behind and its cause is the error.
func TestFillingEndsWithTheContext(t *testing.T) {
	why := errors.New("a signal")
	ctx, end := context.WithCancelCause(t.Context())
	end(why)
	for _, w := range []wish{{}, {huge: true}, {huge: true, collapse: true}, {collapse: true}} {
		for _, size := range []int64{4 * HugeBytes, 4 * piece} {
			before := mappedBytes(t)
			if a, err := newArea(ctx, size, w); !errors.Is(err, why) || a != nil {
				t.Errorf("%+v: %v", w, err)
			}
			if s, err := newShared(ctx, "test", size, w); !errors.Is(err, why) || s != nil {
				t.Errorf("%+v: %v", w, err)
			}
			if n := mappedBytes(t) - before; n >= size/2 { // the rest is the runtime's
				t.Errorf("%+v: %d bytes more are mapped", w, n)
			}
		}
	}
}

// mappedBytes is how many bytes are mapped.
func mappedBytes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	if _, err := fmt.Sscan(string(text), &n); err != nil {
		t.Fatal(err)
	}
	return n * int64(pageSize())
}
