package audit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ckpt/checkpoint"
	"ckpt/internal/names"
	"ckpt/model"
)

// quantization is what quantization_config says, as far as tensors can
// contradict it.
type quantization struct {
	path    string
	method  string
	ignore  []*regexp.Regexp // whole names of modules
	linears bool             // targets ["Linear"]: every linear layer not ignored
	skipped string           // why the ignore list cannot be followed
}

// checkQuantization compares quantization_config with the tensors.
func (a *audit) checkQuantization() {
	if a.config == nil {
		return
	}
	if a.foreign() {
		a.col.Skip("CF004", "the config is another model's")
		return
	}
	if !a.headers() && !a.indexUsable() {
		a.col.Skip("CF004", "without an index names stand in the shards alone")
		return
	}
	a.col.Checked("CF004")
	q := a.readQuantization()
	signs := a.quantizedNames()
	switch {
	case q == nil && signs.packed != "":
		a.col.Add(Finding{ID: "CF004", File: "config.json", Tensor: signs.packed, Group: "silent", Expected: "a quantization_config", Actual: "absent",
			Message: "the config has no quantization_config, and there are packed tensors", Fix: a.fetch("config.json")})
	case q == nil:
	case signs.packed == "" && signs.scale == "" && a.lost == 0 && a.expectsScales():
		a.col.Add(Finding{ID: "CF004", File: "config.json", Group: "promise", Expected: "packed tensors or scales", Actual: "none",
			Message: fmt.Sprintf("%s promises %s, and no tensor is packed or has a scale", q.path, q.method), Fix: a.fetch("config.json")})
	case q.skipped != "":
		a.col.Skip("CF004", q.skipped)
	case a.opts.Profile == ProfileNone:
		a.col.Note("the ignore list of " + q.path + " was not followed: without a profile nobody knows what a release leaves out of it on purpose")
	case signs.packed != "":
		a.checkIgnoreList(q)
	}
}

func (a *audit) readQuantization() *quantization {
	for _, path := range []string{"quantization_config", "text_config.quantization_config"} {
		v, ok := a.config.Lookup(path)
		if !ok || !v.IsObject() {
			continue
		}
		q := &quantization{path: path, method: "a quantization"}
		for _, key := range []string{"format", "quant_method"} {
			if v, ok := a.config.Lookup(path + "." + key); ok {
				if text, ok := v.Text(); ok {
					q.method = text
					break
				}
			}
		}
		a.readIgnore(q)
		return q
	}
	return nil
}

// readIgnore reads the lists of compressed-tensors: names of modules, or
// patterns after "re:" that match from the start.
func (a *audit) readIgnore(q *quantization) {
	for _, group := range a.config.Names(q.path + ".config_groups") {
		if v, ok := a.config.Lookup(q.path + ".config_groups." + group + ".targets"); ok {
			for _, t := range v.Strings() {
				q.linears = q.linears || t == "Linear"
			}
		}
	}
	v, ok := a.config.Lookup(q.path + ".ignore")
	if !ok {
		return
	}
	const most = 10_000
	for i, entry := range v.Strings() {
		text, isPattern := strings.CutPrefix(entry, "re:")
		if !isPattern {
			text = regexp.QuoteMeta(entry) + "$"
		}
		re, err := regexp.Compile("^(?:" + text + ")")
		if err != nil || i >= most {
			q.skipped = fmt.Sprintf("the ignore list cannot be followed: %.80q", entry)
			return
		}
		q.ignore = append(q.ignore, re)
	}
}

func (q *quantization) ignores(module string) bool {
	for _, re := range q.ignore {
		if re.MatchString(module) {
			return true
		}
	}
	return false
}

// signs are examples of quantized tensors.
type signs struct{ packed, scale string }

// scaleMarks end the names of scales, in the forms that converters write.
var scaleMarks = []string{"_scale", "_scales", "_scale_inv", ".scales", ".scale", ".absmax", ".qzeros"}

var packedMarks = []string{".weight_packed", "_blocks", ".qweight"}

func (a *audit) quantizedNames() (s signs) {
	for _, p := range a.patterns() {
		name := names.Pattern{Text: p.Text, Slots: p.Slots}.String()
		for _, mark := range packedMarks {
			if strings.HasSuffix(p.Text, mark) && (s.packed == "" || name < s.packed) {
				s.packed = name
			}
		}
		for _, mark := range scaleMarks {
			if strings.HasSuffix(p.Text, mark) && (s.scale == "" || name < s.scale) {
				s.scale = name
			}
		}
	}
	return s
}

// expectsScales is false where the profile says that the layers at hand have
// nothing that could be packed: a slice of the dense layer alone.
func (a *audit) expectsScales() bool {
	return a.in == nil || slices.ContainsFunc(a.in.Families, func(f *model.Family) bool { return f.Scale != nil && f.Count > 0 }) ||
		!slices.ContainsFunc(a.in.Families, func(f *model.Family) bool { return f.Scale != nil })
}

// checkIgnoreList follows the ignore list over the modules: one that is packed
// must not be on it, a plain linear layer must be. Whether a module is
// quantized the tensors decide, never the list.
func (a *audit) checkIgnoreList(q *quantization) {
	if !a.headers() {
		return // shapes tell what is a linear layer
	}
	kinds := a.moduleKinds(q)
	seen := map[names.Key]bool{}
	for _, f := range a.Files {
		if !f.Indexed {
			continue
		}
		for i := range f.Records {
			switch r := &f.Records[i]; kinds[r.Key.Pattern] {
			case packedModule:
				a.judgePacked(q, f, r, seen)
			case plainModule:
				a.judgePlain(q, f, r)
			}
		}
	}
}

// moduleKind is what the ignore list has to say about a pattern's modules.
type moduleKind uint8

const (
	noModule moduleKind = iota
	packedModule
	plainModule
)

// moduleKinds sorts the patterns: a decision for each of the few dozen, not for
// each name.
func (a *audit) moduleKinds(q *quantization) []moduleKind {
	kinds := make([]moduleKind, a.Names.Len())
	for id := range kinds {
		p := a.Names.Pattern(uint32(id))
		switch text := p.Text; {
		case a.in != nil && a.in.Bind(text, p.Slots) == nil: // unknown to the profile: MD002 tells
		case strings.HasSuffix(text, ".weight_packed"):
			kinds[id] = packedModule
		case q.linears && strings.HasSuffix(text, ".weight") && !strings.Contains(text, "embed") && !strings.Contains(text, "norm"):
			kinds[id] = plainModule
		}
	}
	return kinds
}

// judgePacked judges one packed module of each pattern and layer: a list that
// tells the experts of a layer apart has never been seen.
func (a *audit) judgePacked(q *quantization, f *checkpoint.File, r *checkpoint.Record, seen map[names.Key]bool) {
	once := names.Key{Pattern: r.Key.Pattern, N: [names.Slots]uint32{r.Key.N[0]}}
	if seen[once] {
		return
	}
	seen[once] = true
	name := a.Names.Name(r.Key)
	if q.ignores(strings.TrimSuffix(name, ".weight_packed")) {
		a.col.Add(Finding{ID: "CF004", File: f.Name, Tensor: name, Group: "ignored", Expected: "packed modules off the ignore list",
			Message: q.path + ".ignore names a module that is packed", Fix: a.fetch("config.json")})
	}
}

// judgePlain judges a weight that is not packed: of two dimensions it is that
// of a linear layer.
func (a *audit) judgePlain(q *quantization, f *checkpoint.File, r *checkpoint.Record) {
	if len(a.Spec(r.Spec).Shape) != 2 {
		return
	}
	name := a.Names.Name(r.Key)
	module := strings.TrimSuffix(name, ".weight")
	if q.ignores(module) || a.ownContradiction(module) {
		return
	}
	a.col.Add(Finding{ID: "CF004", File: f.Name, Tensor: name, Offset: At(r.Offset), Group: "left out", Expected: "on the ignore list",
		Message: q.path + ".ignore leaves out a linear layer that is not packed", Fix: a.fetch("config.json")})
}

// ownContradiction says whether the release itself leaves the module out.
func (a *audit) ownContradiction(module string) bool {
	if a.fit == nil || a.fit.Profile == nil || a.fit.Profile.Quantization == nil {
		return false
	}
	return endsWithAny(module, a.fit.Profile.Quantization)
}

func endsWithAny(module string, q *model.Quantization) bool {
	for _, c := range q.Contradictions {
		if module == c || strings.HasSuffix(module, "."+c) {
			return true
		}
	}
	return false
}
