package shard

import (
	"fmt"
	"strconv"
	"strings"

	"ckpt/dtype"
	"ckpt/model"
)

// scheme is how numbers share scales, as a quantization config says it.
type scheme struct {
	path          string // of the config
	bits          int64  // of a number, 0 where the config does not say
	rows, columns int64  // numbers of a group; 0: all of the axis
	plain         bool   // each number is stored in bytes of its own
}

func (s *scheme) String() string {
	switch {
	case s.rows == 0:
		return "one scale a tensor"
	case s.columns == 0:
		return "one scale a row"
	}
	return fmt.Sprintf("groups of %d×%d numbers", s.rows, s.columns)
}

// schemes are all that a config has. A fault is a statement that makes no sense:
// nothing stands in for it.
type schemes struct {
	list  []scheme
	fault string
}

// readSchemes reads the config's statements on groups: the blocks of FP8, the
// groups of compressed-tensors, and the group size of others.
func readSchemes(config *model.Config, sections []string) schemes {
	q := schemes{}
	for _, section := range sections {
		for _, name := range [...]string{"quantization_config", "compression_config"} {
			path := strings.TrimPrefix(section+"."+name, ".")
			if v, ok := config.Lookup(path); ok && v.IsObject() {
				q.read(config, path)
				return q
			}
		}
	}
	return q
}

func (q *schemes) read(config *model.Config, path string) {
	if block, ok := q.pair(config, path+".weight_block_size"); ok {
		q.list = append(q.list, scheme{path + ".weight_block_size", 8, block[0], block[1], true})
	}
	for _, group := range config.Names(path + ".config_groups") {
		q.group(config, path+".config_groups."+group+".weights")
	}
	if n, ok := q.int(config, path+".group_size"); ok && len(q.list) == 0 {
		bits, _ := q.int(config, path+".bits")
		q.list = append(q.list, scheme{path + ".group_size", bits, 1, max(n, 0), false})
	}
}

// group reads one group of compressed-tensors.
func (q *schemes) group(config *model.Config, path string) {
	if v, ok := config.Lookup(path); !ok || !v.IsObject() {
		return
	}
	s := scheme{path: path}
	s.bits, _ = q.int(config, path+".num_bits")
	size, sized := q.int(config, path+".group_size")
	v, _ := config.Lookup(path + ".strategy")
	strategy, ok := v.Text()
	if !ok && sized {
		strategy = "group"
	}
	switch {
	case strategy == "tensor":
	case strategy == "channel", strategy == "group" && size == -1:
		s.rows = 1
	case strategy == "group" || strategy == "tensor_group":
		if !sized || size < 1 || size > maxNumber {
			q.fault = fmt.Sprintf("%s.group_size of the config must be a positive integer", path)
			return
		}
		s.rows, s.columns = 1, size
	case strategy == "block":
		block, ok := q.pair(config, path+".block_structure")
		if !ok {
			q.fault = fmt.Sprintf("%s.block_structure of the config must be two positive integers", path)
			return
		}
		s.rows, s.columns = block[0], block[1]
	default:
		return // not known, so nothing is said
	}
	q.list = append(q.list, s)
}

func (q *schemes) int(config *model.Config, path string) (int64, bool) {
	v, ok := config.Lookup(path)
	if !ok || v.IsNull() {
		return 0, false
	}
	n, err := v.Int()
	if err == nil && n == 0 { // as good as null
		return 0, false
	}
	if err != nil || n < -1 || n > maxNumber {
		q.fault = fmt.Sprintf("%s of the config must be a positive integer, is %s", path, v)
		return 0, false
	}
	return n, true
}

// pair reads the rows and columns of a block: a list, or "128x128".
func (q *schemes) pair(config *model.Config, path string) (block []int64, ok bool) {
	v, ok := config.Lookup(path)
	if !ok || v.IsNull() {
		return nil, false
	}
	block, err := v.Ints(2)
	if text, ok := v.Text(); ok {
		err = nil
		for part := range strings.SplitSeq(text, "x") {
			n, bad := strconv.ParseInt(part, 10, 32)
			block = append(block, n)
			if bad != nil {
				err = bad
			}
		}
	}
	if err != nil || len(block) != 2 || block[0] < 1 || block[1] < 1 || max(block[0], block[1]) > maxNumber {
		q.fault = fmt.Sprintf("%s of the config must be two positive integers, is %s", path, v)
		return nil, false
	}
	return block, true
}

// of gives the scheme in stored elements of a type, false where it is not about
// that type.
func (s *scheme) of(d dtype.Type) (rows, columns int64, ok bool) {
	bits, pack := int64(d.Bits()), int64(1)
	switch {
	case packs(d):
		if s.plain || s.bits < 1 || bits%s.bits != 0 {
			return 0, 0, false
		}
		pack = bits / s.bits
	case s.bits != 0 && s.bits != bits || !quantised(d):
		return 0, 0, false
	}
	return s.rows, s.columns / pack, s.columns%pack == 0
}

// about lists the schemes that say something of a type.
func (q *schemes) about(d dtype.Type) []scheme {
	var list []scheme
	for _, s := range q.list {
		if rows, columns, ok := s.of(d); ok {
			list = append(list, scheme{s.String(), s.bits, rows, columns, s.plain})
		}
	}
	return list
}

// quantised says whether numbers of a type need scales to be what they were.
func quantised(d dtype.Type) bool {
	switch d {
	case dtype.BF16, dtype.F16, dtype.F32, dtype.F64:
		return false
	}
	return true
}
