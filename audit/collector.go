package audit

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// shownExamples is how many instances an entry shows unless all are wanted.
const shownExamples = 3

// CollectorOptions say what was asked for.
type CollectorOptions struct {
	Level  Level        // the depth asked for
	FailOn Severity     // Warning lets a warning fail the checkpoint; zero is Error
	Ignore []IgnoreRule // findings that do not count
	All    bool         // keep every instance of a group, not the first three
	Now    time.Time    // decides which rules have expired
}

// Collector gathers what the checks of one audit find and what became of each
// check. All methods may be called from several goroutines at once; what comes
// out does not depend on the order of the calls.
//
// Every code of the level and format at hand has to be accounted for: with a
// finding, or by name with Checked, Skip, Waive or Gap. One that is not becomes a
// gap, because what was not checked is never a pass. The names may be globs
// (IX*, *); a name that matches no code is a mistake in the program and panics.
type Collector struct {
	opts  CollectorOptions
	codes []Code
	index map[string]int

	mu      sync.Mutex
	states  []checkState // by index into codes
	groups  map[string]*group
	scratch []byte
	refetch map[string]struct{}
	notes   map[string]struct{}
	waived  map[string]struct{}
	rules   []ruleUse
}

// checkState is what is known of one code.
type checkState struct {
	checked     bool
	skips, gaps reasons
	standing    [Error + 1]int // instances that count, by severity
	ignored     int
}

// group is one entry of the report in the making.
type group struct {
	finding  Finding
	code     int
	examples []Example // in order
}

// NewCollector makes an empty collector.
func NewCollector(opts CollectorOptions) *Collector {
	if opts.FailOn == 0 {
		opts.FailOn = Error
	}
	c := &Collector{
		opts: opts, codes: Codes(), index: map[string]int{},
		groups: map[string]*group{}, refetch: map[string]struct{}{}, notes: map[string]struct{}{}, waived: map[string]struct{}{},
		rules: ruleUses(opts.Ignore, opts.Now),
	}
	c.states = make([]checkState, len(c.codes))
	for i, code := range c.codes {
		c.index[code.ID] = i
	}
	return c
}

// Level is the depth asked for.
func (c *Collector) Level() Level { return c.opts.Level }

// Add records a finding. Its cost does not grow with the number of findings that
// are identical to it, unless all are kept.
func (c *Collector) Add(f Finding) {
	code, ok := c.index[f.ID]
	if !ok {
		panic(fmt.Sprintf("audit: finding of unknown code %q", f.ID))
	}
	if f.Severity == 0 {
		f.Severity = c.codes[code].Severity
	}
	f.Count = max(f.Count, 1)

	c.mu.Lock()
	defer c.mu.Unlock()
	rule := c.ignoring(&f)
	c.count(code, rule, &f)
	c.group(code, rule, &f).add(&f, c.opts.All)
}

// ignoring gives the index of the first rule in force that ignores f, or -1, and
// books f for every rule that matches it.
func (c *Collector) ignoring(f *Finding) int {
	found := -1
	for i := range c.rules {
		r := &c.rules[i]
		if !r.rule.matches(f) {
			continue
		}
		r.matched += f.Count
		if found < 0 && !r.expired {
			found = i
		}
	}
	return found
}

func (c *Collector) count(code, rule int, f *Finding) {
	s := &c.states[code]
	if rule >= 0 {
		s.ignored += f.Count
		return
	}
	s.standing[f.Severity] += f.Count
	if f.Refetch && f.File != "" {
		c.refetch[f.File] = struct{}{}
	}
}

// group finds or makes the group of f.
func (c *Collector) group(code, rule int, f *Finding) *group {
	key := append(c.scratch[:0], byte(code), byte(f.Severity), byte(rule), byte(rule>>8), byte(rule>>16))
	if f.Group != "" {
		key = append(append(key, 'g'), f.Group...)
	} else {
		key = appendShape(append(key, 'm'), f.Message)
	}
	c.scratch = key
	g := c.groups[string(key)]
	if g == nil {
		g = &group{code: code, finding: Finding{ID: f.ID, Severity: f.Severity, Group: string(key[5:])}}
		if rule >= 0 {
			g.finding.Ignored = c.rules[rule].ignored(rule)
		}
		c.groups[string(key)] = g
	}
	return g
}

// add counts f and keeps it where it is one of the first.
func (g *group) add(f *Finding, all bool) {
	g.finding.Count += f.Count
	e := f.example()
	if all {
		g.examples = append(g.examples, e) // ordered in the end
		return
	}
	n := len(g.examples)
	if n == shownExamples && compareExamples(&e, &g.examples[n-1]) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(g.examples, e, func(a, b Example) int { return compareExamples(&a, &b) })
	g.examples = slices.Insert(g.examples, at, e)
	g.examples = g.examples[:min(n+1, shownExamples)]
}

// Checked says that the checks of these codes were made to their end.
func (c *Collector) Checked(ids ...string) {
	for _, id := range ids {
		c.each(id, func(s *checkState) { s.checked = true })
	}
}

// Skip says why a check does not apply to this checkpoint. That is no gap.
func (c *Collector) Skip(id, reason string) {
	c.each(id, func(s *checkState) { s.skips.add(reason) })
}

// Waive says by what the command line waived a check. That is no gap.
func (c *Collector) Waive(id, reason string) {
	c.Skip(id, reason)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waived[reason] = struct{}{}
}

// Gap says why a check that was asked for could not be made, or not to its end.
func (c *Collector) Gap(id, reason string) {
	c.each(id, func(s *checkState) { s.gaps.add(reason) })
}

// Note adds a remark that belongs to no code.
func (c *Collector) Note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes[text] = struct{}{}
}

// each calls do with the state of every code that the glob matches.
func (c *Collector) each(glob string, do func(*checkState)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	for i := range c.codes {
		if ok, err := path.Match(glob, c.codes[i].ID); ok && err == nil {
			found = true
			do(&c.states[i])
		}
	}
	if !found {
		panic(fmt.Sprintf("audit: no code %q", glob))
	}
}

// reasons is a set, because thousands of files may give one each.
type reasons map[string]struct{}

func (r *reasons) add(reason string) {
	if *r == nil {
		*r = reasons{}
	}
	(*r)[reason] = struct{}{}
}

// String gives the first reasons in natural order, and how many more there are.
func (r reasons) String() string {
	sorted := slices.SortedFunc(maps.Keys(r), compareNatural)
	if more := len(sorted) - shownExamples; more > 0 {
		sorted = append(sorted[:shownExamples], fmt.Sprintf("%d more", more))
	}
	return strings.Join(sorted, "; ")
}

// Found says whether any of these codes has a finding that counts.
func (c *Collector) Found(ids ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(ids, func(id string) bool {
		s := &c.states[c.index[id]]
		return s.found()
	})
}
