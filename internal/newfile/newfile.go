// Package newfile makes files that appear under their name whole or not at
// all. [Create] opens a temporary file beside the name, [File.Commit] gives it
// the name; [Write] does both for bytes that are at hand.
//
// # How
//
// The temporary file is created exclusively (O_EXCL, which by POSIX also
// refuses a symbolic link in its place) in the directory of the final name, so
// that both lie on one file system. Commit syncs it, publishes it and syncs
// the directory, in that order: after a power cut the name is absent or leads
// to the whole content.
//
// # Publishing without replacing
//
// Commit never replaces: rename(2) would silently take the place of whatever
// another process put there since Create looked. Instead the name is made with
// link(2), which fails when it exists, links included, and then the temporary
// name is removed. renameat2 with RENAME_NOREPLACE says the same in one call,
// but NFS and several FUSE file systems refuse it and only linux has it; link
// is as old as POSIX. Where a file system has no hard links (FAT, some FUSE)
// the name is reserved by creating it exclusively, and the temporary file is
// renamed over that reservation.
//
// # Concurrency
//
// A File may be written from several goroutines with WriteAt; Commit and Abort
// are called once nobody writes any more.
package newfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Suffix ends the names of temporary files. Audits know it as the mark of an
// unfinished download or write.
const Suffix = ".tmp"

// File is a file under a temporary name.
type File struct {
	*os.File
	dir  *os.Root // stays the same directory if its path is renamed meanwhile
	name string   // final name within dir
	temp string   // temporary name within dir
	path string   // final path, for messages
	done bool
}

// Create makes a temporary file beside path, open for reading and writing. It
// fails with [fs.ErrExist] where path exists already, be it a dangling link;
// nothing is ever written through one.
func Create(path string) (*File, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	f, err := create(dir, path)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return f, nil
}

func create(dir *os.Root, path string) (*File, error) {
	name := filepath.Base(path)
	switch _, err := dir.Lstat(name); {
	case err == nil:
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	temp := tempName(name)
	f, err := dir.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &File{File: f, dir: dir, name: name, temp: temp, path: path}, nil
}

// tempName hides the file and makes its name unique: correctness rests on
// that and on O_EXCL, not on locks, which some network file systems ignore.
func tempName(name string) string {
	const maxName = 255 // NAME_MAX of every file system in use
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	tail := "." + hex.EncodeToString(random[:]) + Suffix
	short := name[:min(len(name), maxName-1-len(tail))]
	return "." + strings.ToValidUTF8(short, "") + tail // darwin refuses half a character
}

// Path is the final path.
func (f *File) Path() string { return f.path }

// Commit syncs the file, gives it its name and syncs the directory. On an
// error nothing stands under the name that was not there before and the
// temporary file is gone; only where the directory cannot be synced in the end
// does the name stand, whole, though a power cut may still take it away.
func (f *File) Commit() error {
	if f.done {
		return fmt.Errorf("%s: %w", f.path, fs.ErrClosed)
	}
	if err := f.Sync(); err != nil {
		f.Abort()
		return named(f.path, err)
	}
	if err := f.Close(); err != nil { // NFS tells of a full disk here
		f.Abort()
		return named(f.path, err)
	}
	if err := f.publish(); err != nil {
		f.Abort()
		return err
	}
	f.done = true
	return errors.Join(syncDir(f.dir), f.dir.Close())
}

// Abort removes the temporary file. After Commit it does nothing, so it may be
// deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.Close() // it may be closed already, and what it held is thrown away
	_ = f.dir.Remove(f.temp)
	_ = f.dir.Close()
}

func (f *File) publish() error {
	err := f.dir.Link(f.temp, f.name)
	if noHardLinks(err) {
		return f.reserve()
	}
	if err != nil {
		return exists(f.path, err)
	}
	return f.dir.Remove(f.temp)
}

// reserve publishes where there are no hard links.
func (f *File) reserve() error {
	empty, err := f.dir.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return exists(f.path, err)
	}
	if err := empty.Close(); err != nil {
		return named(f.path, err)
	}
	if err := f.dir.Rename(f.temp, f.name); err != nil {
		return errors.Join(err, f.dir.Remove(f.name))
	}
	return nil
}

func noHardLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) ||
		errors.Is(err, syscall.EMLINK)
}

func exists(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return err
}

// named puts the final path into an error that speaks of the temporary one.
func named(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return &fs.PathError{Op: pe.Op, Path: path, Err: pe.Err}
	}
	return err
}

// syncDir makes the new name durable. Windows has no such call.
func syncDir(dir *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // some FUSE file systems cannot
	}
	return errors.Join(err, d.Close())
}

// Write makes the file path with this content.
func Write(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return named(path, err)
	}
	return f.Commit()
}

// WriteFrom makes the file path with what write produces.
func WriteFrom(path string, write func(w io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f.File); err != nil {
		return named(path, err)
	}
	return f.Commit()
}
