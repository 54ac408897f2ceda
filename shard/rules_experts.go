package shard

import (
	"cmp"
	"fmt"
	"slices"
)

// expertsOfLayer is where experts have a module.
type expertsOfLayer struct {
	layer  uint32
	module string
}

// checkExperts looks for experts that are missing: of the config's number, else
// of as many as the router of the layer knows, else of the largest of the model.
// A router without experts misses all of them.
func (w *walker) checkExperts() error {
	ids := map[expertsOfLayer][]uint32{}
	routers := map[uint32]int64{}
	most := int64(0)
	for i := range w.runs {
		r := &w.runs[i]
		for k := range r.pieces {
			p := &r.pieces[k]
			switch {
			case !p.form.isModule() || !p.form.layered():
			case p.form.expert != whole:
				at := expertsOfLayer{p.layer, module(p.form.pattern)}
				list := r.ids
				if len(list) == 0 {
					list = []uint32{p.expert}
				}
				ids[at] = append(ids[at], list...)
				most = max(most, int64(slices.Max(list))+1)
			case p.form.rule.Role == "ffn_gate_inp" && len(p.form.shape) == 2:
				routers[p.layer] = int64(p.form.shape[0])
			}
		}
	}
	var found []missingExperts
	seen := map[uint32]bool{}
	for at, list := range ids {
		seen[at.layer] = true
		n, source := w.ruler.numbers["experts"], "as the config counts"
		if n == 0 {
			n, source = routers[at.layer], "as the router has"
		}
		if n == 0 {
			n, source = most, "as others have"
		}
		slices.Sort(list)
		list = slices.Compact(list)
		if int64(len(list)) == n && int64(list[n-1]) == n-1 {
			continue
		}
		first := uint32(0)
		for int(first) < len(list) && list[first] == first {
			first++
		}
		why := fmt.Sprintf("layer %d has %d of %d experts, %s: %s, of which expert %d is not there", at.layer, len(list), n, source, at.module, first)
		if int64(first) >= n {
			why = fmt.Sprintf("layer %d has %d experts, not %d, %s: %s", at.layer, len(list), n, source, at.module)
		}
		found = append(found, missingExperts{at, why})
	}
	for layer, n := range routers {
		if !seen[layer] && !w.standIns() {
			found = append(found, missingExperts{expertsOfLayer{layer, ""}, fmt.Sprintf("layer %d has a router of %d experts, and none of them", layer, n)})
		}
	}
	if len(found) == 0 {
		return nil
	}
	least := slices.MinFunc(found, func(a, b missingExperts) int {
		return cmp.Or(cmp.Compare(a.at.layer, b.at.layer), cmp.Compare(a.at.module, b.at.module))
	})
	more := ""
	if n := len(found) - 1; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return fmt.Errorf("%w: %s%s", ErrIncomplete, least.why, more)
}

type missingExperts struct {
	at  expertsOfLayer
	why string
}
