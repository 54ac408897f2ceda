package shard

import (
	"fmt"

	"ckpt/dtype"
)

// checkHeads compares the sizes of the heads that the rules found: queries and
// keys of a model are multiplied with each other, so theirs are one size. A count
// of heads that is wrong, or missing where a default stands in, shows in this.
// Families that differ are refused as unknown.
func (w *walker) checkHeads() {
	for _, f := range w.forms {
		if reason := w.ruler.headFault(f); reason != "" {
			w.unknown = append(w.unknown, unknown{f, Refusal{f.pattern, reason}})
		}
	}
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

// headFault says how a tensor of heads is not as many numbers as the config says
// of a head in several parts, as of latent attention: there the rows of keys do
// not tell how many heads there are.
func (r *ruler) headFault(f *form) string {
	if f.family != nil || f.skip != "" || f.rule == nil || len(f.rule.Head) == 0 || f.scaled || f.parts == 0 || f.axis >= len(f.shape) || f.axis == whole {
		return ""
	}
	each, text := int64(0), ""
	for _, name := range f.rule.Head {
		if fault := r.faults[name]; fault != "" {
			return fault
		}
		n := r.numbers[name]
		if n == 0 && (!r.Numbers[name].Zero || !r.seen[name]) {
			return ""
		}
		each += n
		text += map[bool]string{true: fmt.Sprint(n), false: fmt.Sprintf(" + %d", n)}[text == ""]
	}
	is, want := int64(f.shape[f.axis]), f.parts*each
	if is == want || f.axis == 1 && packs(f.dtype) && is > 0 && want%is == 0 && want/is <= 16 {
		return ""
	}
	return fmt.Sprintf("%d %s are not %d %s of %s", is, [...]string{"rows", "columns"}[f.axis], f.parts, f.what, text)
}

// packs says whether an element of a type may hold several numbers.
func packs(d dtype.Type) bool {
	return d == dtype.U8 || d == dtype.I32 || d == dtype.U32 || d == dtype.I64
}
