package main

import (
	"maps"
	"slices"
	"strings"

	"ckpt/checkpoint"
	"ckpt/internal/names"
	"ckpt/internal/ui"
	"ckpt/shard"
)

// noTensor words that --tensor leaves nothing to plan.
func (o *planning) noTensor(e *shard.NothingError, c *checkpoint.Checkpoint, path string) error {
	filter := strings.Join(o.tensors, ", ")
	if len(e.Reasons) > 0 {
		return usagef("--tensor %q: only tensors that are skipped (%s)", filter, strings.Join(e.Reasons, "; "))
	}
	err := usagef("--tensor %q: no tensor has such a name", filter)
	if near := nearWord(c, o.tensors); near != "" {
		return hint(err, "did you mean %s? ckpt ls %s lists the names", near, shellPath(path))
	}
	return hint(err, "ckpt ls %s lists the names", shellPath(path))
}

// nearWord finds the part of a name, between dots, that a glob has probably
// misspelt; nothing where no part is near.
func nearWord(c *checkpoint.Checkpoint, globs []string) string {
	known := map[string]bool{}
	for id := range c.Names.Len() {
		for _, word := range strings.Split(c.Names.Pattern(uint32(id)).Text, ".") {
			known[word] = true
		}
	}
	delete(known, string([]byte{names.Mark}))
	words := slices.Sorted(maps.Keys(known))
	for _, glob := range globs {
		for _, part := range strings.Split(glob, ".") {
			part = strings.Trim(part, "*?")
			if strings.Trim(part, "0123456789") == "" || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, part) }) {
				continue
			}
			if near := ui.Nearest(part, slices.Values(words), 1); len(near) > 0 {
				return near[0]
			}
		}
	}
	return ""
}
