//go:build !linux

package fs

import "runtime"

// DriveOf says which drive holds a path.
func DriveOf(string) (Drive, error) {
	return Drive{}, &UnsupportedError{"drive", "not known on " + runtime.GOOS}
}
