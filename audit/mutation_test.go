package audit

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mutation is one way to spoil a good checkpoint, and all that an audit has to
// find then: no more, no fewer.
type mutation struct {
	name string
	do   func(k *kit)
	want []string // beyond the baseline, as found has them
	gone []string // of the baseline
	add  []string // in place of what is gone

	path    string // to audit, relative to the directory
	opts    Options
	verdict Verdict  // "" follows from want: fail with an error in it, else pass
	refetch []string // files to fetch again, shortened like findings
	says    []string // words that have to be in the messages
	silent  []string // words that must not be
}

// tables are all mutations.
func tables() []mutation {
	return slices.Concat(fileMutations(), directoryMutations(), headerMutations(), indexMutations(),
		configMutations(), modelMutations(), scaleMutations(), systemMutations())
}

func TestMutations(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range tables() {
		if seen[m.name] {
			t.Errorf("two mutations are called %q", m.name)
		}
		seen[m.name] = true
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			k := mini(t)
			m.do(k)
			m.judge(t, k.audit(m.path, m.opts))
		})
	}
}

// judge compares a report with what the mutation has to give.
func (m *mutation) judge(t *testing.T, r *Report) {
	t.Helper()
	want := append(slices.Clone(m.want), m.add...)
	if m.path == "" || len(m.add) > 0 || !r.single() {
		for _, b := range baseline {
			if !slices.Contains(m.gone, b[:5]) {
				want = append(want, b)
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(found(r), "\n")); diff != "" {
		t.Errorf("findings (- wanted, + found):\n%s\n%s", diff, messages(r))
	}
	verdict := m.verdict
	if verdict == "" {
		verdict = Pass
		if slices.ContainsFunc(want, func(w string) bool { return w[6:] == "error" || strings.HasPrefix(w[6:], "error ") }) {
			verdict = Fail
		}
	}
	if r.Verdict != verdict {
		t.Errorf("verdict %s, want %s; gaps %v", r.Verdict, verdict, r.Gaps())
	}
	if status := r.ExitStatus(); (status == 0) != (verdict == Pass) || status != 0 && status != 3 {
		t.Errorf("exit status %d with the verdict %s", status, r.Verdict)
	}
	var refetch []string
	for _, name := range r.Refetch {
		refetch = append(refetch, short(name))
	}
	if diff := cmp.Diff(m.refetch, refetch); diff != "" {
		t.Errorf("refetch (- wanted, + found):\n%s", diff)
	}
	all := messages(r)
	for _, s := range m.says {
		if !strings.Contains(all, s) {
			t.Errorf("nothing says %q in:\n%s", s, all)
		}
	}
	for _, s := range m.silent {
		if strings.Contains(all, s) {
			t.Errorf("something says %q in:\n%s", s, all)
		}
	}
}

// single says whether one file was audited alone.
func (r *Report) single() bool { return strings.Contains(r.Identity, "audited alone") }

func TestGoodMini(t *testing.T) {
	k := mini(t)
	(&mutation{}).judge(t, k.audit("", Options{Level: LevelMetadata}))
	r := k.audit("", Options{})
	(&mutation{}).judge(t, r)
	type stats struct{ tensors, language, experts, shards, missing, total, text, files int64 }
	want := stats{shards: shards}
	for n := 1; n <= shards; n++ {
		data := k.read(shard(n))
		h, _ := parse(k, data)
		want.files += int64(len(data))
		for _, e := range h.entries {
			want.tensors++
			want.total += e.size()
			if strings.HasPrefix(e.name, "language_model.") {
				want.language++
				want.text += e.size()
			}
			if strings.Contains(e.name, ".experts.") {
				want.experts++
			}
		}
	}
	s := r.Stats
	got := stats{*s.Tensors, *s.LanguageTensors, *s.ExpertTensors, *s.Shards, *s.MissingShards, *s.TotalSize, *s.TextBytes, *s.FileBytes}
	if got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
	if r.Profile != "kimi-k3" || !strings.Contains(r.Identity, "of its own sizes") {
		t.Errorf("profile %q, identity %q", r.Profile, r.Identity)
	}
}

// Every code that can be decided without reading payloads, and speaks of
// safetensors or of any format, has a mutation that provokes it. The codes of
// the second list need the full size or a special place and have a test of
// their own.
func TestEveryCodeIsProvoked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems lack what some mutations need")
	}
	own := map[string]string{
		"FS017": "TestFragments",
		"CF006": "TestFullSizeWithOneHeaderSpeltAnew",
		"MD007": "TestFullSizeWithAnotherTotal",
		"MD008": "TestFullSizeWithOneHeaderSpeltAnew",
	}
	provoked := map[string]bool{}
	for _, m := range append(tables(), permissionMutations()...) {
		for _, w := range append(m.want, m.add...) {
			provoked[w[:5]] = true
		}
	}
	for _, b := range baseline {
		provoked[b[:5]] = true
	}
	for _, c := range Codes() {
		if c.Level.Has(LevelValues) || c.Level.Has(LevelHash) || c.Format == FormatGGUF {
			continue
		}
		switch {
		case !provoked[c.ID] && own[c.ID] == "":
			t.Errorf("no mutation provokes %s (%s)", c.ID, c.Title)
		case provoked[c.ID] && own[c.ID] != "":
			t.Errorf("%s is provoked by a mutation and named as one that has %s", c.ID, own[c.ID])
		}
	}
	for _, code := range []string{"warning", "error", "info"} {
		if !slices.ContainsFunc(tables(), func(m mutation) bool {
			return slices.ContainsFunc(m.want, func(w string) bool { return strings.HasPrefix(w, "FS018 "+code) })
		}) {
			t.Errorf("no mutation provokes FS018 as %s", code)
		}
	}
}
