package fs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// sparse makes a file of size bytes with data at the given ranges only, or
// skips where the file system of the temporary directory knows no holes.
func sparse(t *testing.T, size int64, data ...Range) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for _, r := range data {
		if _, err := f.WriteAt(make([]byte, r.Len), r.Off); err != nil {
			t.Fatal(err)
		}
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) == 0 && size > 0 && !Sparse(fi) {
		t.Skip("the temporary directory's file system keeps no holes")
	}
	return f
}

func TestHoles(t *testing.T) {
	sparse(t, mib) // skips where holes are unknown
	for _, tc := range []struct {
		name   string
		size   int64
		data   []Range
		off, n int64
		want   []Range
	}{
		{"empty file", 0, nil, 0, 0, nil},
		{"empty file, range behind it", 0, nil, 0, mib, nil},
		{"full", mib, []Range{{0, mib}}, 0, mib, nil},
		{"all hole", 4 * mib, nil, 0, 4 * mib, []Range{{0, 4 * mib}}},
		{"clipped at both ends", 4 * mib, nil, 5, mib, []Range{{5, mib}}},
		{"hole at the end", 4 * mib, []Range{{0, mib}}, 0, 4 * mib, []Range{{mib, 3 * mib}}},
		{"hole in the middle", 4 * mib, []Range{{0, mib}, {3 * mib, mib}}, 0, 4 * mib, []Range{{mib, 2 * mib}}},
		{
			"two holes", 4 * mib,
			[]Range{{mib, mib}, {3 * mib, mib}},
			0, 4 * mib,
			[]Range{{0, mib}, {2 * mib, mib}},
		},
		{"range in the data", 4 * mib, []Range{{mib, mib}}, mib + 7, 100, nil},
		{"range behind the end", mib, []Range{{0, mib}}, 2 * mib, mib, nil},
		{"range past the end", mib, []Range{{0, mib}}, 0, 9 * mib, nil},
		{"nothing asked", 4 * mib, nil, mib, 0, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := sparse(t, tc.size, tc.data...)
			got, err := Holes(f, tc.off, tc.n)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Space that a downloader reserved is allocated, so the quick test sees
// nothing, and it is a hole all the same.
func TestHolesOfReservedSpace(t *testing.T) {
	f := sparse(t, 0)
	if err := unix.Fallocate(int(f.Fd()), 0, 0, 4*mib); err != nil {
		t.Skipf("fallocate: %v", err)
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if Sparse(fi) {
		t.Error("reserved space is not allocated")
	}
	got, err := Holes(f, 0, 4*mib)
	if err != nil {
		t.Fatal(err)
	}
	if TypeOf(f.Name()) == "tmpfs" {
		t.Skip("tmpfs fills reserved space with pages")
	}
	if d := cmp.Diff([]Range{{0, 4 * mib}}, got); d != "" {
		t.Error(d)
	}
}

func TestHolesOfClosedFile(t *testing.T) {
	f := sparse(t, mib, Range{0, mib})
	f.Close()
	if _, err := Holes(f, 0, mib); err == nil {
		t.Error("no error for a closed file")
	}
}

func TestExtents(t *testing.T) {
	f := sparse(t, 4*mib, Range{0, mib}, Range{2 * mib, mib})
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	e, err := ExtentsOf(f)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if e.Count < 2 || e.Runs < 1 || e.Runs > e.Count {
		t.Errorf("%+v, want two extents or more", e)
	}
	empty := sparse(t, 0)
	if e, err := ExtentsOf(empty); err != nil || e != (Extents{}) {
		t.Errorf("empty file: %+v, %v", e, err)
	}
}

// More extents than one call brings.
func TestManyExtents(t *testing.T) {
	const n = fiemapBatch + 50
	var data []Range
	for i := range int64(n) {
		data = append(data, Range{i * 2 * 65536, 4096})
	}
	f := sparse(t, n*2*65536, data...)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	e, err := ExtentsOf(f)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || e.Count != n {
		t.Errorf("%+v, %v, want %d extents", e, err, n)
	}
}

func TestExtentsUnsupported(t *testing.T) {
	f, err := os.Open("/proc/self/stat")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if _, err := ExtentsOf(f); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, want ErrUnsupported", err)
	}
}

func TestStat(t *testing.T) {
	v, err := Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if v.Type == "" || v.Total <= 0 || v.Block <= 0 || v.ReadOnly {
		t.Errorf("%+v", v)
	}
	if got := TypeOf("/proc"); got != "proc" {
		t.Errorf("/proc is %q", got)
	}
	if _, err := Stat("/no/such/path"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want ErrNotExist", err)
	}
	if got := TypeOf("/no/such/path"); got != "unknown" {
		t.Errorf("TypeOf of nothing is %q", got)
	}
}

func TestBlocksSaturate(t *testing.T) {
	if n := blocks(1<<63, 4096); n != 1<<63-1 {
		t.Errorf("%d", n)
	}
	if n := blocks(3, 4096); n != 12288 {
		t.Errorf("%d", n)
	}
}

func TestHost(t *testing.T) {
	h := ReadHost()
	if h.Kernel == "" || h.CPUs < 1 {
		t.Errorf("%+v", h)
	}
	m, err := ReadMemory()
	if err != nil || m.Total <= 0 || m.Usable() <= 0 || m.Usable() > m.Total {
		t.Errorf("%+v, %v", m, err)
	}
	for name, f := range map[string]func() (Limit, error){"open files": OpenFiles, "memlock": Memlock} {
		if l, err := f(); err != nil || l.Soft == 0 || l.Soft > l.Hard {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}
