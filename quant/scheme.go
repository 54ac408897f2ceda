package quant

import (
	"slices"
	"strings"
)

// Scheme is how one system quantizes.
type Scheme struct {
	Name    string
	System  string // the software
	Release string // the release whose bytes these are
	Doc     string // what differs in others, and what to know
	Recipes []Recipe
}

// Recipe is a scheme for one format.
type Recipe struct {
	Format Format
	Rule   ScaleRule
	Tie    Tie
	Signs  Signs
	Zero   uint8  // scale byte of a block of zeros
	Clamp  string // what the ends of the range do
	Input  string // what the system does with NaN and infinity
	Layout Layout
	// Rows names the rows of the conformance vectors that the recipe gives.
	Rows []string

	reckon reckoning
	ends   ends
	system nonFinite
}

// Recipe finds the recipe for a format.
func (s *Scheme) Recipe(f Format) (*Recipe, bool) {
	i := slices.IndexFunc(s.Recipes, func(r Recipe) bool { return r.Format == f })
	if i < 0 {
		return nil, false
	}
	return &s.Recipes[i], true
}

// Schemes lists every scheme in a fixed order. The list is shared: it is not to
// be changed.
func Schemes() []*Scheme { return schemes }

// SchemeNamed finds a scheme by its name, case aside.
func SchemeNamed(name string) (*Scheme, bool) {
	i := slices.IndexFunc(schemes, func(s *Scheme) bool { return strings.EqualFold(s.Name, name) })
	if i < 0 {
		return nil, false
	}
	return schemes[i], true
}

// DefaultScheme is what we write where nobody asks for a system's bytes: even
// for MXFP4, rceil for the other formats, +0 only; ModelOpt's for NVFP4, whose
// scale is no power of two.
func DefaultScheme(f Format) *Scheme {
	name := "rceil"
	switch f {
	case MXFP4:
		name = "even"
	case NVFP4:
		name = "modelopt"
	}
	s, _ := SchemeNamed(name)
	return s
}
