//go:build !nogpu && linux

package loader

const deviceLibraries = true
