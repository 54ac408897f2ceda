package model

import (
	"fmt"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ckpt/dtype"
)

const (
	// Schema is the value of a profile's "schema" field.
	Schema = "ckpt.profile/v1"

	// MaxProfile bounds the bytes of a profile. The largest embedded one has
	// less than a hundred kilobytes.
	MaxProfile = 8 << 20

	// Bounds of a profile's parts, so that a hostile one costs no more than a
	// moment: a config list may be read once for each field, a name may be
	// tried against each spelling under each combination of prefixes.
	maxFamilies = 1024 // the largest embedded profile has 62
	maxFields   = 256  // 33
	maxSets     = 64   // 5
	maxAliases  = 4    // of a family; 1
	maxRank     = 16   // dimensions of a shape
)

// Profile is one family of models as data: what its config must say, and from
// that the names, shapes and types of its tensors. It is immutable.
type Profile struct {
	Name  string // as --profile takes it: "kimi-k3"
	Title string // for people: "Kimi K3"

	// Companions are the files expected beside the weights.
	Companions []Companion
	// Quantization says where the config describes its quantization, nil when
	// the family has none.
	Quantization *Quantization
	// Release is the official release that the profile records, nil when it
	// records none. [Instance.Release] says whether a config has its sizes.
	Release *Release

	sections   []section
	prefixes   []prefix
	evidence   evidence
	fields     []field
	lets       []let
	sets       []layerSet
	partitions [][]string
	require    []condition
	checks     []check
	tie        *tie
	families   []familySpec
	memory     *memorySpec
}

// Companion is a file expected beside the weights, or several of which one is
// enough.
type Companion struct {
	AnyOf   []string `json:"any_of"`  // file names
	Purpose string   `json:"purpose"` // "tokenizer", "generation", "code", …
}

// Quantization is what a profile knows of its family's quantization_config.
type Quantization struct {
	// Paths are the places in the config, as "section:path", first one found.
	Paths []string `json:"paths"`
	// Contradictions are modules that the release ships unquantized although
	// its own ignore list leaves them out, as name segments that end a module's
	// name ("block_sparse_moe.gate"). They are the release's own and no fault.
	Contradictions []string `json:"contradictions"`
}

// ParseProfile reads a profile. Unknown and duplicate fields, expressions that
// do not parse and names that nothing defines are errors that name the field.
func ParseProfile(data []byte) (*Profile, error) {
	if len(data) > MaxProfile {
		return nil, fmt.Errorf("profile of %d bytes is over the limit of %d", len(data), MaxProfile)
	}
	var doc document
	if err := json.Unmarshal(data, &doc, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if doc.Schema != Schema {
		return nil, fmt.Errorf("profile: schema is %.40q, not %q", doc.Schema, Schema)
	}
	p, err := compile(&doc)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return p, nil
}

// LoadProfile reads a profile from a file.
func LoadProfile(path string) (*Profile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("profile %s: not a regular file", path)
	}
	if info.Size() > MaxProfile {
		return nil, fmt.Errorf("profile %s: %d bytes are over the limit of %d", path, info.Size(), MaxProfile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := ParseProfile(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// document is the JSON of a profile, field by field.
type document struct {
	Schema       string           `json:"schema"`
	Name         string           `json:"name"`
	Title        string           `json:"title"`
	Sections     []sectionJSON    `json:"sections"`
	Prefixes     []prefix         `json:"prefixes"`
	Match        evidenceJSON     `json:"match"`
	Fields       []fieldJSON      `json:"fields"`
	Lets         []letJSON        `json:"let"`
	Sets         []setJSON        `json:"sets"`
	Partitions   [][]string       `json:"partitions"`
	Require      []conditionJSON  `json:"require"`
	Checks       []checkJSON      `json:"checks"`
	Tie          *tie             `json:"tie"`
	Families     []familyJSON     `json:"families"`
	Companions   []Companion      `json:"companions"`
	Quantization *Quantization    `json:"quantization"`
	Release      *releaseDocument `json:"release"`
	Memory       *memoryJSON      `json:"memory"`
}

type sectionJSON struct {
	Name     string   `json:"name"`
	At       []string `json:"at"`
	Optional bool     `json:"optional"`
}

type evidenceJSON struct {
	Config []conditionJSON `json:"config"`
	Names  []string        `json:"names"`
	Known  float64         `json:"known"` // least share of tensors whose names the profile has
	// Own says that no other family has these names: where nearly all names are
	// known and every telling one is there, the config need not agree.
	Own bool `json:"own"`
}

type fieldJSON struct {
	Name  string   `json:"name"`
	Paths []string `json:"paths"`
	// Type is "int" (the default), "bool", "ints" (a list of integers),
	// "per_layer" (an integer for every layer, or one for all of them; read by
	// at(name, layer)) or "kinds" (a string for every layer, one of Values; a
	// list of their places there).
	Type     string   `json:"type"`
	Min      int64    `json:"min"`      // of the integer, or of every entry
	Max      int64    `json:"max"`      // likewise
	Longest  int      `json:"longest"`  // entries of "ints"
	Values   []string `json:"values"`   // of "kinds"
	Default  string   `json:"default"`  // an expression; without one the field is required
	Optional bool     `json:"optional"` // a list that may be absent, and is empty then
	When     string   `json:"when"`
}

type letJSON struct {
	Name string `json:"name"`
	Expr string `json:"expr"`
	When string `json:"when"`
}

type setJSON struct {
	Name string `json:"name"`
	From string `json:"from"` // first layer; with "to"
	To   string `json:"to"`   // one past the last
	List string `json:"list"` // a list field, instead of from and to
	Base int64  `json:"base"` // what the list calls the first layer
	// Where is a condition on "layer", counted from 0, instead of both.
	Where string `json:"where"`
}

type conditionJSON struct {
	Paths    []string         `json:"paths"`
	Equals   jsontext.Value   `json:"equals"`
	OneOf    []jsontext.Value `json:"one_of"`
	Contains jsontext.Value   `json:"contains"`
	Present  bool             `json:"present"`
	Absent   bool             `json:"absent"`
	Optional bool             `json:"optional"`
	When     string           `json:"when"`
}

type checkJSON struct {
	Expr    string `json:"expr"`
	Field   string `json:"field"`
	Message string `json:"message"`
	When    string `json:"when"`
}

type familyJSON struct {
	Pattern   string                        `json:"pattern"`
	Aliases   []string                      `json:"aliases"`
	Tower     string                        `json:"tower"`
	Group     string                        `json:"group"`
	Role      string                        `json:"role"`
	Note      string                        `json:"note"`
	DTypes    []string                      `json:"dtypes"`
	Shapes    [][]jsontext.Value            `json:"shapes"`
	ShapesBy  map[string][][]jsontext.Value `json:"shapes_by"`
	Layers    string                        `json:"layers"`
	Experts   string                        `json:"experts"`
	Blocks    string                        `json:"blocks"`
	When      string                        `json:"when"`
	Optional  bool                          `json:"optional"`
	Tolerated bool                          `json:"tolerated"`
	Scale     *scaleJSON                    `json:"scale"`
	Axis      *int                          `json:"axis"`
	Parts     []string                      `json:"parts"`  // expressions: pieces of the axis that stay whole
	Repeat    bool                          `json:"repeat"` // ranks beyond the parts hold copies
	Narrow    string                        `json:"narrow"` // values at the front, one a head; padding behind
	ExpertAx  *int                          `json:"expert_axis"`
	Engine    *engineJSON                   `json:"engine"`
	Source    *Source                       `json:"source"`
}

type scaleJSON struct {
	Pattern string `json:"pattern"`
	Group   int64  `json:"group"`
}

type engineJSON struct {
	Names       []string            `json:"names"`
	NamesByKind map[string][]string `json:"names_by_kind"`
	Shapes      [][]jsontext.Value  `json:"shapes"`
	Axis        *int                `json:"axis"`
	Transform   string              `json:"transform"`
	Reshape     bool                `json:"reshape"`
	Map         string              `json:"map"`
	Cuts        []cutJSON           `json:"cuts"`
}

// The compiled forms.

type section struct {
	name     string
	at       []string
	optional bool
}

type prefix struct {
	Name    string   `json:"name"`
	Options []string `json:"options"` // the usual one first
	Any     bool     `json:"any"`     // others are looked for in the names
}

type evidence struct {
	config []condition
	names  []string
	known  float64
	own    bool
}

type field struct {
	name     string
	paths    []ref
	kind     string
	min, max int64
	longest  int
	values   []string
	optional bool
	fallback *expr
	when     *expr
}

type let struct {
	name string
	text string
	expr *expr
	when *expr
}

type layerSet struct {
	name     string
	from, to *expr
	where    *expr
	text     string // of where, or from and to
	list     string
	base     int64
}

type check struct {
	expr    *expr
	text    string
	field   string
	message string
	when    *expr
}

type tie struct {
	Field     string `json:"field"`     // the boolean field that ties head and embedding
	Embedding string `json:"embedding"` // pattern
	Head      string `json:"head"`      // pattern
}

type familySpec struct {
	familyJSON
	dtypes   []dtype.Type
	shapes   []shapeSpec
	shapesBy []kindShapes
	experts  *expr
	blocks   *expr
	when     *expr
	engine   *engineSpec
	split    splitSpec
}

type kindShapes struct {
	set    string
	shapes []shapeSpec
}

type engineSpec struct {
	names       []string
	namesByKind map[string][]string
	shapes      []shapeSpec
	axis        int
	transform   string
	cuts        []cutSpec
	mapping     string
	reshape     bool
}
