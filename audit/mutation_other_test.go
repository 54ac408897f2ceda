//go:build !linux

package audit

// systemMutations need what other systems lack.
func systemMutations() []mutation { return nil }
