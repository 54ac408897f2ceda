package audit

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ckpt/checkpoint"
	ckptfs "ckpt/internal/fs"
	"ckpt/model"
)

// readConfig parses config.json, or says why there is none to go by.
func (a *audit) readConfig() {
	if a.Single {
		return
	}
	if a.Checkpoint.Config == nil {
		a.col.Add(Finding{ID: "CF001", File: "config.json", Refetch: true, Actual: "absent", Message: "there is no config.json", Fix: a.fetch("config.json")})
		a.skipConfig("there is no config.json")
		return
	}
	a.col.Checked("CF001")
	doc := a.Checkpoint.Config
	if doc.Err != nil {
		a.badDocument(doc.Name, doc.Err, "CF002")
		a.skipConfig("config.json cannot be read")
		return
	}
	config, err := model.ParseConfig(doc.Data)
	if err != nil {
		a.badConfig(doc, err)
		a.skipConfig("config.json does not parse")
		return
	}
	a.config = config
}

func (a *audit) skipConfig(reason string) {
	for _, id := range []string{"CF002", "CF003", "CF004", "CF006", "CF007"} {
		a.col.Skip(id, reason)
	}
}

func (a *audit) badConfig(doc *checkpoint.Document, err error) {
	f := Finding{ID: "CF002", File: doc.Name, Message: "not a valid config: " + err.Error(), Refetch: true, Fix: a.fetch(doc.Name)}
	if len(doc.Data) == 0 {
		f.ID, f.Message = "FS012", "the file is empty"
	}
	if fault := checkpoint.Pretender(doc.Data[:min(len(doc.Data), 512)]); fault != nil {
		f.ID, f.Message, f.Actual = faults[fault.Reason].code, fault.Msg, fault.Detail
	}
	a.col.Add(f)
}

// match finds the profile.
func (a *audit) match() {
	if a.opts.Profile == ProfileNone || a.Single && a.wanted == nil {
		return
	}
	view := model.View{Config: a.config, Patterns: a.patterns()}
	if a.wanted != nil {
		a.fit = a.wanted.Match(view)
	} else {
		a.fit = model.Match(view)
	}
	a.restore(view)
	a.in = a.fit.Instance
}

// restore takes the sizes of the official release where the files say that this
// is it and the config says otherwise: then the config is what is wrong, and not
// half a million tensors.
func (a *audit) restore(view model.View) {
	p := a.fit.Profile
	if p == nil || p.Release == nil || a.config == nil || a.fit.Instance != nil && a.fit.Instance.Release != nil || !a.officialFiles(p.Release) {
		return
	}
	in, problems := p.InstantiateRelease(view)
	if in == nil {
		return
	}
	for _, own := range a.fit.Problems {
		if own.Bounds {
			problems = slices.DeleteFunc(problems, func(q model.ConfigProblem) bool { return q.Field == own.Field })
			problems = append(problems, own)
		}
	}
	a.fit.Instance, a.fit.Problems = in, problems
}

// officialFiles says whether the index, or most headers, are the release's to
// the byte.
func (a *audit) officialFiles(release *model.Release) bool {
	if a.indexUsable() && release.IndexSHA256 == hex.EncodeToString(a.Index.SHA256[:]) {
		return true
	}
	return a.headers() && a.officialHeaders(release)*2 > len(release.Files)
}

// patterns counts the tensors of each name pattern: those of the index, or of
// the headers where there is none.
func (a *audit) patterns() []model.PatternCount {
	counts := make([]int, a.Names.Len())
	if a.Index != nil && a.Index.Err == nil {
		for i := range a.Index.Entries {
			counts[a.Index.Entries[i].Key.Pattern]++
		}
	} else {
		for _, f := range a.Files {
			for i := range f.Records {
				counts[f.Records[i].Key.Pattern]++
			}
		}
	}
	var out []model.PatternCount
	for id, n := range counts {
		if n > 0 {
			p := a.Names.Pattern(uint32(id))
			out = append(out, model.PatternCount{Text: p.Text, Slots: p.Slots, Count: n})
		}
	}
	return out
}

// checkConfig judges the config against the profile and the tensors.
func (a *audit) checkConfig() {
	if a.Single {
		return
	}
	a.checkCompanions()
	a.checkCode()
	if a.config == nil {
		return
	}
	a.col.Checked("CF002", "CF003")
	if a.nameless() {
		a.col.Add(Finding{ID: "CF002", File: "config.json", Expected: "model_type or architectures", Actual: "neither", Group: "nameless",
			Message: "the config names no model: it has neither model_type nor architectures", Refetch: true, Fix: a.fetch("config.json")})
	}
	if a.fit == nil || a.fit.Profile == nil {
		a.col.Skip("CF003", a.noProfile())
	} else if a.foreign() {
		a.addForeignConfig()
	} else {
		for _, p := range a.fit.Problems {
			a.addConfigProblem(p)
		}
	}
	if a.foreign() {
		a.col.Skip("CF007", "the config is another model's")
		return
	}
	a.checkTie()
}

// foreign says whether the tensors are of a known family and the config is of
// none, or of another: then it contradicts them in everything.
func (a *audit) foreign() bool { return a.in == nil && a.fit != nil && a.fit.Foreign }

// nameless says whether nothing in the config says which model this is. Where
// the tensors say it, that the config is not theirs is told already.
func (a *audit) nameless() bool {
	if a.fit != nil && a.fit.Profile != nil {
		return false
	}
	for _, path := range []string{"model_type", "architectures", "text_config.model_type", "text_config.architectures"} {
		if _, ok := a.config.Lookup(path); ok {
			return false
		}
	}
	return true
}

// addForeignConfig tells in one finding of a config that has next to nothing of
// the family to which the tensors belong.
func (a *audit) addForeignConfig() {
	var fields []string
	for _, p := range a.fit.Problems {
		fields = append(fields, p.Field)
	}
	a.col.Add(Finding{ID: "CF003", File: "config.json", Group: "foreign", Expected: "a config of " + a.title(), Actual: "a config of " + a.family(),
		Message: fmt.Sprintf("the tensors are those of %s, the config is not: %s (%s)", a.title(), plural(int64(len(fields)), "difference"), namesOf(fields)),
		Refetch: true, Fix: a.fetch("config.json")})
}

func (a *audit) addConfigProblem(p model.ConfigProblem) {
	f := Finding{ID: "CF003", File: "config.json", Expected: p.Expected, Actual: p.Actual, Message: p.Msg, Group: p.Field,
		Refetch: true, Fix: a.fetch("config.json")}
	if p.Bounds {
		f.ID = "CF002"
	}
	a.col.Add(f)
}

// tokenizers are the files of which a checkpoint without a profile needs one.
var tokenizers = []string{"tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json", "vocab.txt", "spiece.model", "sentencepiece.bpe.model", "tekken.json"}

// checkCompanions tells which files beside the weights are missing.
func (a *audit) checkCompanions() {
	a.col.Checked("CF005")
	want := []model.Companion{{AnyOf: tokenizers, Purpose: "tokenizer"}, {AnyOf: []string{"generation_config.json"}, Purpose: "generation config"}}
	if a.fit != nil && a.fit.Profile != nil && len(a.fit.Profile.Companions) > 0 {
		want = slices.Clip(a.fit.Profile.Companions) // appended to below
	}
	for _, file := range a.autoMap() {
		if !slices.ContainsFunc(want, func(c model.Companion) bool { return slices.Contains(c.AnyOf, file) }) {
			want = append(want, model.Companion{AnyOf: []string{file}, Purpose: "code"})
		}
	}
	for _, c := range want {
		if slices.ContainsFunc(c.AnyOf, a.has) {
			a.checkCompanion(c.AnyOf)
			continue
		}
		a.col.Add(Finding{ID: "CF005", File: c.AnyOf[0], Actual: "absent", Expected: joinOr(c.AnyOf), Group: "companions",
			Message: "missing: " + c.Purpose, Fix: "fetch everything but the weights: " + a.fetchRest()})
	}
}

// checkCompanion tells of companions that are there and cannot be what they
// should be.
func (a *audit) checkCompanion(list []string) {
	for i := range a.Entries {
		e := &a.Entries[i]
		if !slices.Contains(list, e.Name) || e.Link == checkpoint.BrokenLink {
			continue
		}
		f := Finding{File: e.Name, Refetch: true, Fix: a.fetch(e.Name)}
		head, err := ckptfs.ReadHead(filepath.Join(a.Dir, e.Name), 512)
		var irregular *ckptfs.NotRegularError
		fault := checkpoint.Pretender(head)
		switch {
		case errors.As(err, &irregular):
			f.ID, f.Message, f.Actual = "FS015", "not a regular file but a "+irregular.Kind(), irregular.Kind()
		case err != nil:
			f = a.unreadable(e.Name, filepath.Join(a.Dir, e.Name), err)
		case len(head) == 0:
			f.ID, f.Message = "FS012", "the file is empty"
		case fault != nil:
			f.ID, f.Message, f.Actual = faults[fault.Reason].code, fault.Msg, fault.Detail
		default:
			continue
		}
		a.col.Add(f)
	}
}

func (a *audit) fetchRest() string {
	return strings.TrimSuffix(a.fetch(), " --force-download") + " --exclude '*.safetensors'"
}

// has says whether a name lies in the directory. A link that dangles does too:
// it has a finding of its own.
func (a *audit) has(name string) bool {
	return slices.ContainsFunc(a.Entries, func(e checkpoint.Entry) bool { return e.Name == name })
}

// autoMap are the files of code that the config names.
func (a *audit) autoMap() []string {
	if a.config == nil {
		return nil
	}
	return a.config.CodeFiles()
}

// checkCode tells that running the model means running the repository's code.
func (a *audit) checkCode() {
	a.col.Checked("SE001")
	if files := a.autoMap(); len(files) > 0 {
		a.col.Add(Finding{ID: "SE001", File: "config.json", Group: "auto_map", Actual: strings.Join(files, ", "),
			Message: "auto_map names code of the repository: " + namesOf(files), Fix: "read it before you allow it (trust_remote_code)"})
		return
	}
	for i := range a.Entries {
		if e := &a.Entries[i]; strings.HasSuffix(e.Name, ".py") && e.Regular() {
			a.col.Add(Finding{ID: "SE001", File: e.Name, Message: "the repository ships its own code", Group: "py",
				Fix: "read it before you allow it (trust_remote_code)"})
		}
	}
}

// checkTie compares tie_word_embeddings with the embedding and the head.
func (a *audit) checkTie() {
	if !a.headers() && a.Index == nil {
		a.col.Skip("CF007", "without an index names stand in the shards alone")
		return
	}
	if a.lost > 0 && a.Index == nil {
		a.col.Skip("CF007", "files are lost: their tensors are unknown")
		return
	}
	a.col.Checked("CF007")
	tie := a.tie()
	if tie == nil {
		return
	}
	said := fmt.Sprintf("%s is %v", tie.field, tie.tied)
	if tie.assumed {
		said = fmt.Sprintf("%s is not stated, and %v is its default", tie.field, tie.tied)
	}
	f := Finding{ID: "CF007", File: "config.json", Group: "tie", Actual: said}
	switch {
	case tie.embedding == "" && tie.head == "":
	case tie.tied && tie.embedding != "" && tie.head != "":
		f.Tensor, f.Expected = tie.head, "no head of its own"
		f.Message = said + ", and both " + tie.head + " and " + tie.embedding + " are here"
		f.Fix = "state false if the two differ; drop the head if they are the same"
		a.col.Add(f)
	case !tie.tied && tie.head == "" && !tie.demanded:
		f.Tensor, f.Expected = tie.embedding, "a head"
		f.Message = said + ", and no head is here"
		f.Fix = "state true if the embedding serves as the head; else fetch the shard that holds lm_head.weight"
		a.col.Add(f)
	}
}

// tied is what the config and the names say of head and embedding.
type tied struct {
	field           string
	tied, assumed   bool
	head, embedding string // names, "" where absent
	demanded        bool   // the profile expects the head: MD001 tells
}

func (a *audit) tie() *tied {
	if a.in != nil {
		return a.tieOfProfile()
	}
	t := &tied{field: "tie_word_embeddings", tied: true, assumed: true} // the default of transformers' base config
	for _, path := range []string{"tie_word_embeddings", "text_config.tie_word_embeddings"} {
		v, ok := a.config.Lookup(path)
		if !ok || v.IsNull() {
			continue
		}
		b, ok := v.Bool()
		if !ok {
			return nil // neither true nor false: nothing to contradict
		}
		t.field, t.tied, t.assumed = path, b, false
		break
	}
	for id := range uint32(a.Names.Len()) {
		switch text := a.Names.Pattern(id).Text; {
		case text == "lm_head.weight" || strings.HasSuffix(text, ".lm_head.weight"):
			t.head = text
		case text == "embed_tokens.weight" || strings.HasSuffix(text, ".embed_tokens.weight"):
			t.embedding = text
		}
	}
	if t.embedding == "" {
		return nil // no language model that anybody knows
	}
	return t
}

func (a *audit) tieOfProfile() *tied {
	tie := a.in.Tie
	if tie == nil {
		return nil
	}
	t := &tied{field: tie.Field, tied: tie.Tied, assumed: tie.Assumed}
	if f := tie.Embedding; f != nil && a.familyCensus(f).named.has(0) {
		t.embedding = f.NameAt(0)
	}
	if f := tie.Head; f != nil {
		t.demanded = !f.Optional && !f.Tolerated
		if a.familyCensus(f).named.has(0) {
			t.head = f.NameAt(0)
		}
	}
	return t
}
