package shard

import (
	"slices"
	"strconv"
	"strings"

	"ckpt/internal/names"
	"ckpt/model"
)

// whole is the axis of what is not split.
const whole = -1

// class is how the tensors of one name pattern are planned: by the family of a
// profile, or by a rule. Its slots say what the numbers of its names are.
type class struct {
	pattern string // {i} layer, {e} expert, {b} block
	group   string
	role    string
	tower   string
	skip    string // why its tensors are not wanted; "" where they are

	axis     int       // that TP splits, or whole
	stack    int       // axis that counts experts, or whole
	parts    int64     // pieces of the axis that stay whole; 0: every index is one
	what     string    // what the parts are, for people
	repeat   bool      // ranks beyond the parts hold copies
	narrow   int64     // values at the front that matter, one a head
	sections []section // of the axis, that are split apart; nil is one

	experts int64 // of a layer, where names have an expert
	layer   int   // the slot of each number, or whole
	expert  int
	block   int

	family *model.Family // nil for rules
	engine *model.Engine // nil where names and shapes stay
	scaled bool          // it holds scales of another class

	rule *moduleRule // of the module that has the tensor, nil for families and unknown modules
	leaf string      // what the tensor is to its module, as rules say it
}

// section is a piece of a fused axis, with parts of its own.
type section struct {
	size   int64 // indexes
	parts  int64
	repeat bool
	what   string // what the parts are, where they are other than those of the class
}

// layered says whether the class has a tensor a layer.
func (c *class) layered() bool { return c.layer != whole }

// slots finds what the numbers of a pattern's names are. literal gives the
// pattern as package names has it.
func slots(pattern string) (literal string, count int, at [3]int) {
	at = [3]int{whole, whole, whole}
	segments := strings.Split(pattern, ".")
	next := 0
	for i, s := range segments {
		role := slices.Index(placeholders[:], s)
		if role >= 0 {
			segments[i] = "0"
		} else if !isNumber(s) {
			continue
		}
		if next < names.Slots && role >= 0 {
			at[role] = next
		}
		next++
	}
	text, _, count := names.Split(nil, []byte(strings.Join(segments, ".")))
	return string(text), count, at
}

// placeholders stand in patterns for layer, expert and block.
var placeholders = [3]string{"{i}", "{e}", "{b}"}

func isNumber(s string) bool {
	n, err := strconv.ParseUint(s, 10, 32)
	return err == nil && strconv.FormatUint(n, 10) == s
}

// fill puts numbers into a pattern.
func fill(pattern string, layer, expert, block uint32) string {
	return string(appendFilled(nil, pattern, layer, expert, block))
}

func appendFilled(dst []byte, pattern string, layer, expert, block uint32) []byte {
	for {
		at := strings.IndexByte(pattern, '{')
		if at < 0 || at+2 >= len(pattern) {
			return append(dst, pattern...)
		}
		dst = append(dst, pattern[:at]...)
		switch pattern[at : at+3] {
		case placeholders[0]:
			dst = strconv.AppendUint(dst, uint64(layer), 10)
		case placeholders[1]:
			dst = strconv.AppendUint(dst, uint64(expert), 10)
		case placeholders[2]:
			dst = strconv.AppendUint(dst, uint64(block), 10)
		default:
			dst = append(dst, '{')
			pattern = pattern[at+1:]
			continue
		}
		pattern = pattern[at+3:]
	}
}

// ofFamily makes the class of a family whose names have this text.
func ofFamily(f *model.Family, text string, count int, o Options) *class {
	c := &class{group: f.Group, role: f.Role, tower: f.Tower, axis: f.Axis, stack: f.Stack, parts: f.Parts,
		what: "heads", repeat: f.Repeat, experts: f.Experts, family: f, scaled: f.ScaleOf != nil}
	if f.Repeat && f.Parts > 0 {
		c.what = "key-value heads" // those that ranks beyond their number copy
	}
	for _, pattern := range append([]string{f.Pattern}, f.Aliases...) {
		literal, n, at := slots(pattern)
		if literal == text && n == count || c.pattern == "" {
			c.pattern, c.layer, c.expert, c.block = pattern, at[0], at[1], at[2]
		}
	}
	if o.Layout == LayoutEngine {
		c.engine = f.Engine
	}
	if o.ALog == ALogHeads {
		c.narrow = f.Narrow
	}
	switch {
	case f.Tower != "" && f.Tower != towerLanguage:
		c.skip = ofTower(f.Tower)
	case f.Tolerated:
		c.skip = "not part of the model"
		if f.Note != "" {
			c.skip = f.Note
		}
	}
	return c
}

func ofTower(tower string) string {
	return tower + ", and plans are of the language model"
}

// leafWeight is the leaf of what scales belong to.
const leafWeight = "weight"

// towerLanguage is the tower that plans are of.
const towerLanguage = "language"
