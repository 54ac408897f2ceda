package convert

import (
	"fmt"
	"regexp"
)

// numbered is the name of a shard, with as many digits as its author liked:
// model-00001-of-000096.safetensors.
var numbered = regexp.MustCompile(`^(.*-)([0-9]+)(-of-)([0-9]+)(\.safetensors)$`)

// renumber gives files of numbered sets new numbers without gaps, each set by
// itself, with the widths of the old; other names stay.
func renumber(files []string) []string {
	total := map[string]int{}
	for _, f := range files {
		total[setOf(f)]++
	}
	out := make([]string, len(files))
	next := map[string]int{}
	for i, f := range files {
		m := numbered.FindStringSubmatch(f)
		if m == nil {
			out[i] = f
			continue
		}
		set := setOf(f)
		next[set]++
		out[i] = fmt.Sprintf("%s%0*d%s%0*d%s", m[1], len(m[2]), next[set], m[3], len(m[4]), total[set], m[5])
	}
	return out
}

// setOf names the set that a file belongs to: "" for a file without number.
func setOf(file string) string {
	if m := numbered.FindStringSubmatch(file); m != nil {
		return m[1] + m[4]
	}
	return ""
}
