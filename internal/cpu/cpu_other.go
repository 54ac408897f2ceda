//go:build !amd64 || noasm

package cpu

func present(Set) bool { return false }
