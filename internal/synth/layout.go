package synth

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// layout is how a family's checkpoints lie in files: data, one JSON file a
// family in layouts/.
type layout struct {
	Schema  string  `json:"schema"`
	Note    string  `json:"note"`
	Profile string  `json:"profile"` // of package model
	Config  string  `json:"config"`  // of configs/, and of its presets
	Name    string  `json:"name"`    // of files whose part has none of its own
	Groups  []group `json:"groups"`

	// MaxShard fills files up to so many bytes of tensors, in the order of the
	// groups; a single file then has the usual name. 0: a part is a file.
	MaxShard int64 `json:"max_shard"`
	// Index is nil where a checkpoint has none.
	Index *indexOrder `json:"index"`
	// Manifest lists the files in place of an index.
	Manifest *manifest `json:"manifest"`
}

// group is a run of files: its parts once, or once each layer.
type group struct {
	Each  string `json:"each"` // "layer" or nothing
	Parts []part `json:"parts"`
}

// part is one file of a group: the families whose patterns match and that no
// earlier part has taken.
type part struct {
	Name  string   `json:"name"`
	Match []string `json:"match"` // globs over patterns, {} for a number
}

// indexOrder is the order of the index where it is not that of the files.
type indexOrder struct {
	Files   []int      `json:"files"`   // file numbers of the full-size release, from 1
	Tensors []familyOr `json:"tensors"` // within a file
}

// familyOr is a pattern, or several that alternate while their last number
// falls.
type familyOr []string

// UnmarshalJSON reads a string or a list of strings.
func (f *familyOr) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(f))
	}
	*f = make(familyOr, 1)
	return json.Unmarshal(data, &(*f)[0])
}

// manifest is a list of files with totals.
type manifest struct {
	File   string `json:"file"`
	Format string `json:"format"`
}

// layoutOf reads the layout of a family.
func layoutOf(family string) (*layout, error) {
	data, err := data.ReadFile("layouts/" + family + ".json")
	if err != nil {
		return nil, optionError("unknown family %q: one of %s", family, strings.Join(Families(), ", "))
	}
	l := new(layout)
	if err := json.Unmarshal(data, l, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("layout of %s: %w", family, err)
	}
	return l, nil
}

// takes says whether a pattern, with {} for numbers, belongs to p.
func (p part) takes(pattern string) bool {
	for _, glob := range p.Match {
		if ok, _ := path.Match(glob, pattern); ok { // names have no slash, so * matches all
			return true
		}
	}
	return false
}

var placeholder = regexp.MustCompile(`\{(\w+):(\d+)\}`)

// fileName fills {n:5}, {files:6} and {layer:2}: a number with leading zeros
// to that width.
func fileName(template string, numbers map[string]int) string {
	return placeholder.ReplaceAllStringFunc(template, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		width, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("%0*d", width, numbers[m[1]])
	})
}
