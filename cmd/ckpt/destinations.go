package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// newDestinations checks files that are to be made, before any is: each has a
// directory to lie in, none exists, and no two are one. Empty names are none.
func newDestinations(names ...string) error {
	known := map[string]bool{}
	for _, name := range names {
		if name == "" {
			continue
		}
		dir, place, err := resolved(name)
		if errors.Is(err, fs.ErrNotExist) {
			return &fs.PathError{Op: "create", Path: name, Err: errors.New("there is no such directory to put it in")}
		}
		if err != nil {
			return err
		}
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return &fs.PathError{Op: "create", Path: name, Err: syscall.ENOTDIR}
		}
		if _, err := os.Lstat(name); err == nil {
			return notOver(&fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}, name)
		}
		if known[place] {
			return usagef("%s is named for two files", name)
		}
		known[place] = true
	}
	return nil
}

// resolved gives the directory of a name, without links, and the whole path in it.
func resolved(name string) (dir, place string, err error) {
	if dir, err = filepath.EvalSymlinks(filepath.Dir(name)); err != nil {
		return "", "", err
	}
	place, err = filepath.Abs(filepath.Join(dir, filepath.Base(name)))
	return dir, place, err
}

// samePlace says whether two names are of one file, whether it exists or not.
func samePlace(a, b string) bool {
	_, one, err := resolved(a)
	_, other, err2 := resolved(b)
	return err == nil && err2 == nil && one == other || filepath.Clean(a) == filepath.Clean(b)
}

// notOver says how to go on where a file is in the way.
func notOver(err error, name string) error {
	if errors.Is(err, fs.ErrExist) {
		return hint(err, "nothing is overwritten: rm %s", shellPath(name))
	}
	return err
}
