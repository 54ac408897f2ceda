//go:build !unix

package fs

const nonblock = 0
