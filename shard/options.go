package shard

// Layout is whose names and shapes the ranks hold.
type Layout string

// The layouts.
const (
	LayoutAuto       Layout = ""           // engine where the profile has one
	LayoutEngine     Layout = "engine"     // names, shapes and order of an inference engine
	LayoutCheckpoint Layout = "checkpoint" // names and order as stored
)

// ALog is what becomes of tensors that hold one value a head and then padding.
type ALog string

// The ways to keep them.
const (
	ALogStored ALog = "stored" // whole, padding included, on every rank
	ALogHeads  ALog = "heads"  // without the padding, split over heads
)

// Alignment is where tensors begin in an arena, in bytes: what device copies
// and kernels with vector loads want at least.
const Alignment = 256

// Options say how to plan.
type Options struct {
	Layout Layout
	ALog   ALog
	// Keep, if not nil, says which tensors are wanted; the others are listed as
	// skipped. The name is only valid during the call.
	Keep func(name []byte) bool
}
