package shard

import "fmt"

// checkHeads compares the sizes of the heads that the rules found: queries and
// keys of a model are multiplied with each other, so theirs are one size. A count
// of heads that is wrong, or missing where a default stands in, shows in this.
// Families that differ are refused as unknown.
func (w *walker) checkHeads() {
	for _, f := range w.forms {
		if !f.hasHeads() || f.role != "attn_k" && f.role != "attn_v" {
			continue
		}
		of := "attn_q"
		if f.role == "attn_v" {
			if w.ruler.numbers["value_dim"] > 0 {
				continue // the config says it, and the rule has compared it
			}
			of = "attn_k"
		}
		for _, o := range w.forms {
			if !o.hasHeads() || o.role != of || module(module(o.pattern)) != module(module(f.pattern)) {
				continue
			}
			a, b := int64(f.shape[0]), int64(o.shape[0])
			if a%f.parts != 0 || b%o.parts != 0 || a/f.parts != b/o.parts {
				w.unknown = append(w.unknown, unknown{f, Refusal{f.pattern, fmt.Sprintf(
					"%d rows of %d %s are not heads of one size with the %d rows of %d %s of %s", a, f.parts, f.what, b, o.parts, o.what, o.pattern)}})
				break
			}
		}
	}
}

// hasHeads reports whether the rows of a form are those of its heads.
func (f *form) hasHeads() bool {
	return f.family == nil && f.skip == "" && !f.scaled && f.axis == 0 && f.parts > 0 && f.count > 0
}
