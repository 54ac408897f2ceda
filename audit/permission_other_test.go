//go:build !unix

package audit

const childEnv = "CKPT_TEST_AUDIT"

func child() int { return 1 }

func permissionMutations() []mutation { return nil }
