//go:build !nogpu && !((linux || darwin || windows) && (amd64 || arm64))

package dl

const unsupported = "no device libraries on this system"
