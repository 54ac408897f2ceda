package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync/atomic"
	"syscall"

	ckptfs "ckpt/internal/fs"
	"ckpt/internal/newfile"
)

// Writer writes one file by its layout. Tensors come in any order, whole or in
// pieces, from any number of goroutines; every byte is written exactly once.
// The file has a temporary name until [Writer.Commit]. Close it with Commit or
// Abort; a deferred Abort after Commit does nothing.
type Writer struct {
	file   *newfile.File
	layout *Layout
	cover  cover
	failed atomic.Pointer[error] // the first failed write: no commit after it
}

// SpaceError says that a file system has no room for a file. It matches
// syscall.ENOSPC, as do the errors of writes that met the end of the disk.
type SpaceError struct {
	Path       string
	Need, Free int64 // bytes
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("%s: no space left on device: %d bytes needed, %d free", e.Path, e.Need, e.Free)
}

// Is makes the error match syscall.ENOSPC.
func (e *SpaceError) Is(target error) bool { return target == syscall.ENOSPC }

// Create begins the file path: it writes the header of l to a temporary file
// in the same directory and sets its size. It fails with fs.ErrExist where
// path exists, and with a [*SpaceError] where the file system has fewer bytes
// free than the file takes.
func Create(path string, l *Layout) (*Writer, error) {
	v, err := ckptfs.Stat(filepath.Dir(path))
	if err == nil && v.Free < l.size {
		return nil, &SpaceError{Path: path, Need: l.size, Free: v.Free}
	}
	return CreateSparse(path, l)
}

// CreateSparse is Create without the look at the free space: for files most of
// whose bytes are left as holes with [Writer.Skip] or [Writer.SkipAll].
func CreateSparse(path string, l *Layout) (*Writer, error) {
	f, err := newfile.Create(path)
	if err != nil {
		return nil, err
	}
	if err := begin(f, l); err != nil {
		f.Abort()
		return nil, rename(path, err)
	}
	return &Writer{file: f, layout: l}, nil
}

func begin(f *newfile.File, l *Layout) error {
	if _, err := f.WriteAt(l.header, 0); err != nil {
		return err
	}
	return f.Truncate(l.size)
}

// Layout is the layout that the file is written by.
func (w *Writer) Layout() *Layout { return w.layout }

// WriteAt writes p at off, in bytes from the start of the file. It may span
// tensors, stays within the data, and refuses bytes that were written before,
// naming their tensor.
func (w *Writer) WriteAt(p []byte, off int64) (int, error) {
	if err := w.claim(off, int64(len(p))); err != nil {
		return 0, err
	}
	n, err := w.file.WriteAt(p, off)
	if err != nil {
		return n, w.fail(err)
	}
	return n, nil
}

// WritePiece writes p into a tensor, off bytes from its start.
func (w *Writer) WritePiece(name string, off int64, p []byte) error {
	t, ok := w.layout.Lookup(name)
	if !ok {
		return fmt.Errorf("tensor %q: %w", name, fs.ErrNotExist)
	}
	if off < 0 || off > t.Size || int64(len(p)) > t.Size-off {
		return fmt.Errorf("tensor %q: bytes %d+%d lie outside its %d", name, off, len(p), t.Size)
	}
	_, err := w.WriteAt(p, t.Offset+off)
	return err
}

// pieceLen is how much WriteTensor holds in memory at once.
const pieceLen = 1 << 20

// WriteTensor writes a whole tensor from r, which must end exactly where the
// tensor does.
func (w *Writer) WriteTensor(name string, r io.Reader) error {
	t, ok := w.layout.Lookup(name)
	if !ok {
		return fmt.Errorf("tensor %q: %w", name, fs.ErrNotExist)
	}
	buf := make([]byte, min(t.Size+1, pieceLen))
	for off := int64(0); off < t.Size; {
		n, err := io.ReadFull(r, buf[:min(t.Size-off, int64(len(buf)))])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("tensor %q: source ends after %d of %d bytes: %w", name, off+int64(n), t.Size, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		if _, err := w.WriteAt(buf[:n], t.Offset+off); err != nil {
			return err
		}
		off += int64(n)
	}
	switch n, err := io.ReadFull(r, buf[:1]); {
	case n > 0:
		return fmt.Errorf("tensor %q: source goes on after its %d bytes", name, t.Size)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	return nil
}

// Skip leaves n bytes at off as a hole, which reads as zeros: for data that is
// a hole in its source, or that is left out on purpose. They count as written.
func (w *Writer) Skip(off, n int64) error { return w.claim(off, n) }

// SkipAll leaves all data that is not written yet as holes. No write may run
// beside it.
func (w *Writer) SkipAll() {
	w.cover = cover{spans: []span{{w.layout.DataStart(), w.layout.size}}}
}

// claim takes n bytes at off for one write.
func (w *Writer) claim(off, n int64) error {
	if off < w.layout.DataStart() || n < 0 || off > w.layout.size || n > w.layout.size-off {
		return fmt.Errorf("%s: bytes %d+%d lie outside the data", w.file.Path(), off, n)
	}
	if taken, ok := w.cover.claim(off, off+n); !ok {
		return fmt.Errorf("tensor %q: written twice at byte %d of the file", w.at(taken), taken)
	}
	return nil
}

// at names the tensor that holds byte off of the file.
func (w *Writer) at(off int64) string {
	t := w.layout.tensors
	i := sort.Search(len(t), func(i int) bool { return t[i].Offset+t[i].Size > off })
	if i == len(t) {
		return ""
	}
	return t[i].Name
}

// fail remembers that a write failed: its bytes are claimed and not there.
func (w *Writer) fail(err error) error {
	err = rename(w.file.Path(), err)
	w.failed.CompareAndSwap(nil, &err)
	return err
}

// rename lets an error speak of the file's own path.
func rename(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return &fs.PathError{Op: pe.Op, Path: path, Err: pe.Err}
	}
	return err
}

// Commit proves that every byte was written, reads the header back and
// compares it, syncs the file, gives it its name (never in place of another
// file), syncs the directory, and looks once more through the name. On an
// error the temporary file is gone, and until the last two steps nothing has
// the name; an error of those says that the disk cannot be trusted.
func (w *Writer) Commit() error {
	defer w.file.Abort()
	if err := w.failed.Load(); err != nil {
		return *err
	}
	if err := w.complete(); err != nil {
		return fmt.Errorf("%s: %w", w.file.Path(), err)
	}
	if err := w.compare(w.file.File); err != nil {
		return err
	}
	if err := w.file.Commit(); err != nil {
		return err
	}
	f, err := os.Open(w.file.Path())
	if err != nil {
		return err
	}
	return errors.Join(w.compare(f), f.Close())
}

// Abort removes the temporary file.
func (w *Writer) Abort() { w.file.Abort() }

// complete finds tensors with bytes that were never written.
func (w *Writer) complete() error {
	if _, n := w.cover.missing(w.layout.DataStart(), w.layout.size); n == 0 {
		return nil
	}
	var found *UnwrittenError
	for _, t := range w.layout.tensors {
		first, n := w.cover.missing(t.Offset, t.Offset+t.Size)
		switch {
		case n == 0:
		case found == nil:
			found = &UnwrittenError{Tensor: t.Name, First: first - t.Offset, Missing: n}
		default:
			found.Others++
		}
	}
	return found
}

// compare reads a header and the size back.
func (w *Writer) compare(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != w.layout.size {
		return fmt.Errorf("%s: has %d bytes after writing, not %d", w.file.Path(), info.Size(), w.layout.size)
	}
	got := make([]byte, len(w.layout.header))
	if _, err := f.ReadAt(got, 0); err != nil {
		return rename(w.file.Path(), err)
	}
	if !bytes.Equal(got, w.layout.header) {
		return fmt.Errorf("%s: the header reads back differently", w.file.Path())
	}
	return nil
}
