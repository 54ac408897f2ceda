package shard

import (
	"errors"
	"fmt"

	"ckpt/checkpoint"
)

// ErrUnconfirmed: what a checkpoint shows without its headers does not confirm
// the sizes that a profile expects.
var ErrUnconfirmed = errors.New("only headers tell the sizes")

// Confirm compares the sizes that the profile expects with those that a
// checkpoint shows without headers: names of tensors in an index and their
// total size. Differences below one in a hundred, as of an extra head, are
// told; larger ones, as of other types, are the error. named says that the
// profile was asked for by name, which does for an index that is not there.
func Confirm(c *checkpoint.Checkpoint, m *Model, named bool) (note string, err error) {
	x := c.Index
	switch {
	case m.Instance == nil:
		return "", nil
	case x == nil && named:
		return "nothing here confirms the sizes of the profile: there is no index", nil
	case x == nil:
		return "", fmt.Errorf("%w: there is no index, and the config alone does not say how the weights are stored", ErrUnconfirmed)
	case !x.HasTotalSize:
		return "nothing here confirms the sizes of the profile: the index has no metadata.total_size", nil
	}
	expected, name := m.Instance.Totals().Bytes, m.Instance.Profile.Name
	switch difference := max(expected, x.TotalSize) - min(expected, x.TotalSize); {
	case difference == 0:
		return "", nil
	case difference <= expected/100:
		return fmt.Sprintf("the index counts %d bytes, the %s profile expects %d: weights are as the profile has them", x.TotalSize, name, expected), nil
	}
	return "", fmt.Errorf("%w: the index counts %d bytes and the %s profile expects %d", ErrUnconfirmed, x.TotalSize, name, expected)
}
