package model

import (
	"fmt"
	"strings"

	"ckpt/internal/names"
)

// Fit says which family a checkpoint belongs to.
type Fit struct {
	Profile    *Profile        // nil when no profile of this build fits
	Instance   *Instance       // nil without a profile, without a config, or when Problems leave its sizes open
	Problems   []ConfigProblem // what the config has against the profile
	Confidence float64         // 0…1
	Reasons    []string        // what speaks for the profile, and what against; for people
	Foreign    bool            // the names decided: the config is another model's, or nobody's
}

const (
	// Half of what a profile looks for must be there: one field that was
	// edited or one file that is absent leaves a family recognisable, and a
	// family that merely shares its layer names with another stays unknown.
	leastConfig = 0.5
	leastNames  = 0.3
	// Names alone must be nearly all known: many families share some.
	leastNamesAlone = 0.9
	// A config alone must be without contradiction.
	leastConfigAlone = 0.75
)

// match finds the embedded profile that fits the view best. It always returns
// a Fit; its Profile is nil, with reasons, when none fits.
func (v View) match(profiles []*Profile) *Fit {
	best := &Fit{}
	var near []string
	counts := v.tally()
	byNames := heardOf(v.Config, profiles)
	for _, p := range profiles {
		w := p.weigh(v, counts, byNames)
		if w.fits && w.confidence > best.Confidence {
			best = &Fit{Profile: p, Confidence: w.confidence, Reasons: w.reasons, Foreign: w.foreign}
		}
		if !w.fits && w.confidence > 0.25 {
			near = append(near, fmt.Sprintf("not %s: %s", p.Name, strings.Join(w.reasons, ", ")))
		}
	}
	if best.Profile == nil {
		best.Reasons = near
		return best
	}
	best.Instance, best.Problems = best.Profile.Instantiate(v)
	return best
}

// Match finds the embedded profile that fits best, by what config.json says of
// the model and by the patterns of its names. Profile is nil when none does:
// an unknown family is not forced into the nearest one.
func Match(v View) *Fit {
	return v.match(Embedded())
}

// Match weighs one profile alone: the one that the caller names. Profile is
// always set; a confidence of 0 says that nothing speaks for it.
func (p *Profile) Match(v View) *Fit {
	w := p.weigh(v, v.tally(), true)
	m := &Fit{Profile: p, Confidence: w.confidence, Reasons: w.reasons, Foreign: w.foreign}
	m.Instance, m.Problems = p.Instantiate(v)
	return m
}

type weight struct {
	fits       bool
	foreign    bool
	confidence float64
	reasons    []string
}

// heardOf says whether the type that a config gives its model is one of these
// profiles', or none at all. A type that nobody has heard of is a family of its
// own, whatever its tensors are called.
func heardOf(c *Config, profiles []*Profile) bool {
	if c == nil {
		return true
	}
	stated := false
	for _, path := range []string{"model_type", "text_config.model_type"} {
		_, ok := c.Lookup(path)
		stated = stated || ok
	}
	if !stated {
		return true
	}
	for _, p := range profiles {
		at, _ := p.locate(c)
		for i := range p.evidence.config {
			cond := &p.evidence.config[i]
			if ok, path, _ := cond.holds(at); ok && !cond.absent && strings.HasSuffix(path, "model_type") {
				return true
			}
		}
	}
	return false
}

// weigh judges a profile. byNames allows names that are the family's own to
// decide against the config.
func (p *Profile) weigh(v View, counts map[nameKey]int, byNames bool) weight {
	config, configReason := p.weighConfig(v.Config)
	names := p.weighNames(counts)
	own := byNames && p.evidence.own && names.whole && names.known >= leastNamesAlone
	if v.Config != nil && config == 0 && !own {
		return weight{reasons: []string{configReason}} // names alone do not outweigh that
	}
	w := weight{confidence: (config + names.share) / 2, reasons: []string{configReason, names.reason}}
	w.foreign = v.Config != nil && config < leastConfig
	switch {
	case own:
		w.fits = true
	case v.Config == nil && len(counts) == 0:
	case v.Config == nil:
		w.fits = names.known >= leastNamesAlone
	case len(counts) == 0:
		w.fits = config >= leastConfigAlone
	default:
		w.fits = config >= leastConfig && names.share >= leastNames && names.known >= p.evidence.known
	}
	return w
}

// weighConfig gives the share of the profile's evidence that the config has.
// What must be absent counts nothing when it is and everything when it is not.
func (p *Profile) weighConfig(c *Config) (float64, string) {
	if c == nil {
		return 0, "there is no config"
	}
	at, _ := p.locate(c)
	wanted, met := 0, 0
	var missed []string
	for i := range p.evidence.config {
		cond := &p.evidence.config[i]
		ok, path, actual := cond.holds(at)
		if cond.absent {
			if !ok {
				return 0, fmt.Sprintf("config has %s", path)
			}
			continue
		}
		wanted++
		if ok {
			met++
		} else {
			missed = append(missed, fmt.Sprintf("%s is %s", path, actual))
		}
	}
	if wanted == 0 {
		return 0, "the profile has no evidence in the config"
	}
	reason := fmt.Sprintf("%d of %d telling fields of the config agree", met, wanted)
	if len(missed) > 0 {
		reason += " (" + strings.Join(missed, ", ") + ")"
	}
	return float64(met) / float64(wanted), reason
}

// nameWeight is what the names say for a profile.
type nameWeight struct {
	share  float64 // 0…1
	known  float64 // share of tensors whose names the profile has
	whole  bool    // every telling pattern is there
	reason string
}

// weighNames gives the share of tensors whose names the profile has, and how
// much that says: names without any telling pattern count half, and telling
// patterns count even where a mass of names is strange.
func (p *Profile) weighNames(counts map[nameKey]int) (w nameWeight) {
	if len(counts) == 0 {
		w.reason = "there are no names"
		return w
	}
	d := p.discover(counts)
	telling := len(p.evidence.names)
	w.reason = fmt.Sprintf("%d of %d tensors have its names, %d of %d telling patterns are there",
		d.known, d.tensors, d.telling, telling)
	for _, prefix := range p.prefixes {
		if value := d.prefixes[prefix.Name]; value != prefix.Options[0] && d.known > 0 {
			w.reason += fmt.Sprintf(", prefix %q in place of %q", value, prefix.Options[0])
		}
	}
	if d.tensors > 0 {
		w.known = float64(d.known) / float64(d.tensors)
	}
	w.whole = telling > 0 && d.telling == telling
	w.share = w.known / 2
	if d.telling > 0 {
		w.share = max(w.known, float64(d.telling)/float64(telling))
	}
	return w
}

// String gives a pattern's text as a person reads it, {} for each number.
func (c PatternCount) String() string {
	return names.Pattern{Text: c.Text, Slots: c.Slots}.String()
}
