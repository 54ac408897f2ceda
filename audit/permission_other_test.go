//go:build !unix

package audit

func permissionMutations() []mutation { return nil }
