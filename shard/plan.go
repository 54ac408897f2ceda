package shard

// Schema is the value of a plan's "schema" field.
const Schema = "ckpt.plan/v1"

// Plan is which bytes of a checkpoint go where, as data: the JSON document of
// the plan command, and with Program the content of a plan file.
type Plan struct {
	Schema   string   `json:"schema"`
	Source   Source   `json:"source"`
	Profile  string   `json:"profile"` // whose rules split it
	Layout   Layout   `json:"layout"`
	ALog     ALog     `json:"a_log"`
	TP       int      `json:"tp"`
	EP       int      `json:"ep"`
	PP       int      `json:"pp"`
	Totals   Totals   `json:"totals"`
	Ranks    []Rank   `json:"ranks"`
	Stages   []Stage  `json:"stages"`
	Groups   []Group  `json:"groups"`
	Families []Family `json:"families"`
	Degrees  []Degree `json:"degrees"` // tensor-parallel ones, alone
	Axes     []Axis   `json:"axes"`    // and what they make of split axes
	Notes    []string `json:"notes"`   // what a reader should know, in words
	Proof    *Proof   `json:"proof,omitzero"`
	Program  *Program `json:"program,omitzero"` // nil in a sketch
}

// Source is the checkpoint that a plan was made of.
type Source struct {
	Path        string       `json:"path"`
	Format      string       `json:"format"`
	Fingerprint string       `json:"fingerprint"` // SHA-256 over the names, sizes and header hashes of Files
	Files       []SourceFile `json:"files,omitempty"`
}

// SourceFile is one weight file.
type SourceFile struct {
	Name         string `json:"name"`
	Size         int64  `json:"bytes"`
	DataStart    int64  `json:"data_start"`
	HeaderSHA256 string `json:"header_sha256"`
}

// Totals are sums over everything, in bytes.
type Totals struct {
	Source     int64 `json:"source_bytes"`              // of all tensors of the checkpoint
	Read       int64 `json:"read_bytes"`                // of those that are wanted, each once
	Device     int64 `json:"device_bytes"`              // on all ranks, without padding
	Replicated int64 `json:"replicated_bytes_per_rank"` // of tensors that every rank of a stage holds whole; of the fullest stage
	Repeated   int64 `json:"repeated_bytes"`            // what the ranks hold beyond one copy of what they read
	Padding    int64 `json:"padding_bytes_per_rank"`    // between tensors, for alignment; of the fullest stage
	Skipped    int64 `json:"skipped_bytes"`             // of tensors that are not wanted
	Dropped    int64 `json:"dropped_bytes"`             // read and left out: padding within tensors
	Gaps       int64 `json:"gap_bytes"`                 // not wanted, but read because they lie between wanted bytes of one page
	Tensors    int64 `json:"source_tensors"`
	Extents    int64 `json:"extents"`
}

// Rank is one device.
type Rank struct {
	Rank    int   `json:"rank"`
	Stage   int   `json:"stage"`
	Bytes   int64 `json:"bytes"`         // of tensors, never padding
	Padding int64 `json:"padding_bytes"` // between them
	Tensors int64 `json:"tensors"`
}

// Stage is the ranks that hold the same layers. Their arenas are equal.
type Stage struct {
	Stage      int   `json:"stage"`
	First      int   `json:"first_rank"`
	Ranks      int   `json:"ranks"`
	FirstLayer int   `json:"first_layer"` // and one past the last; equal where there is none
	EndLayer   int   `json:"end_layer"`
	Bytes      int64 `json:"bytes"` // on each rank
	Arena      int64 `json:"arena_bytes"`
	Tensors    int64 `json:"tensors"`
}

// Group sums the families that count together.
type Group struct {
	Group   string  `json:"group"`
	Total   int64   `json:"bytes_total"`          // in the checkpoint
	PerRank int64   `json:"bytes_per_rank"`       // on a rank of the stage that has most of it
	Stages  []int64 `json:"bytes_per_stage_rank"` // on each rank of each stage
	Action  Action  `json:"action"`
}

// Action is what becomes of a family.
type Action string

// The actions.
const (
	Split     Action = "split"
	Replicate Action = "replicate"
	Skip      Action = "skip"
	Mixed     Action = "mixed" // of a group whose families differ
)

// Family is the tensors of one name pattern, dtype and shape.
type Family struct {
	Pattern string   `json:"pattern"`
	Names   []string `json:"names"` // on the ranks
	Group   string   `json:"group"`
	Role    string   `json:"role"`
	Tower   string   `json:"tower"`
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Count   int64    `json:"count"`
	Axis    *int     `json:"axis"`   // of Shape; null unless split
	Parts   int      `json:"parts"`  // different ones that the ranks hold
	Copies  int      `json:"copies"` // of each part, among the ranks of a stage
	Action  Action   `json:"action"`
	Reason  string   `json:"reason,omitempty"` // why it is skipped
	Total   int64    `json:"bytes_total"`
	PerRank int64    `json:"bytes_per_rank"` // on a rank of the stage that has most of it
	Stages  []int64  `json:"bytes_per_stage_rank"`
}

// Topology gives the degrees.
func (p *Plan) Topology() Topology { return Topology{p.TP, p.EP, p.PP} }

// Fullest is the rank with the most bytes, the first of equals.
func (p *Plan) Fullest() Rank {
	best := Rank{}
	for i, r := range p.Ranks {
		if i == 0 || r.Bytes > best.Bytes {
			best = r
		}
	}
	return best
}
