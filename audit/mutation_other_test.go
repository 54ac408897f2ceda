//go:build !linux

package audit

import "errors"

// Mounts are tested on Linux alone.
const (
	mountEnv   = "CKPT_TEST_READONLY"
	notMounted = 77
)

func mountReadOnly() error { return errors.ErrUnsupported }

// systemMutations need what other systems lack.
func systemMutations() []mutation { return nil }
