package shard

// Program is the copy program of a plan.
type Program struct {
	Templates []Template `json:"templates"`
	Orders    [][]uint32 `json:"orders"` // lists of expert ids, as files have them
	Extents   []Extent   `json:"extents"`
	Skipped   []Hole     `json:"skipped"` // ranges of files that are not wanted, in order
}

// Template is what happens to a tensor of one family, dtype and shape. Source
// places count from the first byte of the tensor.
type Template struct {
	Family  int      `json:"family"`          // of Plan.Families
	Bytes   int64    `json:"bytes"`           // of the tensor in the file
	Scale   int      `json:"scale,omitzero"`  // the template of its scales, plus one; 0 for none
	Block   []int64  `json:"block,omitempty"` // stored elements that share a scale, by axis; 0: one scale for all of it, which every rank has
	Window  Window   `json:"window,omitzero"` // which experts a rank has
	Outputs []Output `json:"outputs"`
	Dropped []Range  `json:"dropped,omitempty"` // of the tensor, that no rank gets
}

// Window divides experts among ranks: a rank has the Size slots from
// Size·((rank/Div) mod Mod) on. Without a size it has all.
type Window struct {
	Size int64 `json:"size"`
	Div  int   `json:"div"`
	Mod  int   `json:"mod"`
}

// Range is bytes from From up to, not including, To.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Output is one tensor on a rank that a source tensor goes into. Places count
// from the first byte of the slot.
type Output struct {
	Name      string   `json:"name"`                // pattern: {i} layer, {e} expert, {b} block
	Shape     []uint64 `json:"shape"`               // on one rank
	Global    []uint64 `json:"global_shape"`        // on all ranks together
	Axis      int      `json:"axis"`                // that is split, −1 for none
	Bytes     int64    `json:"bytes"`               // of a slot on one rank
	Stack     int64    `json:"stack,omitzero"`      // slots of the tensor; 0 where a source tensor is one of its own
	Transform string   `json:"transform,omitempty"` // beyond the moves; keeps the bytes
	Moves     []Move   `json:"moves"`
}

// Move copies runs of bytes: for every combination of the loops, Run bytes from
// From plus the loops' steps plus the rank's part, to To plus the loops' steps.
type Move struct {
	From  int64  `json:"from,omitzero"`
	To    int64  `json:"to,omitzero"`
	Run   int64  `json:"run"`
	Loops []Loop `json:"loops,omitempty"` // slowest first
	Parts []Part `json:"parts,omitempty"` // usually one; they add up
}

// Loop repeats a move N times.
type Loop struct {
	N    int64 `json:"n"`
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Part moves the source by Step·((rank/Div) mod Mod) bytes, rank counted within
// its stage.
type Part struct {
	Step int64 `json:"step"`
	Div  int   `json:"div"`
	Mod  int   `json:"mod"`
}

// Extent is a range of a file that is read in one go.
type Extent struct {
	File   int   `json:"file"`
	Offset int64 `json:"offset"` // in the file
	Bytes  int64 `json:"bytes"`
	Runs   []Run `json:"runs"` // in the order of the file
}

// Run is Count records, Stride bytes apart: usually one tensor, or the tensors
// of one expert after another.
type Run struct {
	Offset int64   `json:"at"`              // of the first record, in the file
	Count  int64   `json:"n,omitzero"`      // 0 is 1
	Stride int64   `json:"stride,omitzero"` // from record to record
	Order  int     `json:"order,omitzero"`  // plus one: the list of the records' experts; 0: they count up
	Pieces []Piece `json:"pieces"`
}

// Piece is one tensor of a record.
type Piece struct {
	Template int      `json:"t"`
	Offset   int64    `json:"off,omitzero"` // in the record
	Layer    uint32   `json:"i,omitzero"`
	Expert   uint32   `json:"e,omitzero"` // of the first record
	Block    uint32   `json:"b,omitzero"`
	ByID     bool     `json:"by_id,omitzero"` // the slot is the expert's id, else the record's number
	Targets  []Target `json:"to"`
}

// Target is where the outputs of a piece lie in the arenas of a stage.
type Target struct {
	Stage int     `json:"stage,omitzero"`
	At    []int64 `json:"at"`             // of slot 0 of the rank, for each output
	Step  []int64 `json:"step,omitempty"` // from slot to slot
}

// Hole is a range of a file that is not wanted.
type Hole struct {
	File   int   `json:"file"`
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}

// Proof is what [Plan.Prove] found.
type Proof struct {
	CoveredOnce  bool     `json:"covered_once"`  // every wanted byte is read once and reaches a rank; all others are skipped
	WrittenOnce  bool     `json:"written_once"`  // every byte of every tensor on every rank is written once
	EqualRanks   bool     `json:"equal_ranks"`   // the ranks of each stage hold equally many bytes
	ScaleAligned bool     `json:"scale_aligned"` // no group of elements is parted from its scale
	Totals       bool     `json:"totals"`        // the numbers of the plan are those of its program
	Faults       []string `json:"faults,omitempty"`
}

// OK says whether everything was proven.
func (p *Proof) OK() bool {
	return p.CoveredOnce && p.WrittenOnce && p.EqualRanks && p.ScaleAligned && p.Totals
}
