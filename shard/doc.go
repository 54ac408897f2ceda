// Package shard says which bytes of a checkpoint go to which device. [New]
// makes a [Plan] of a checkpoint, a model and a [Topology]; [Plan.Prove] shows
// that it is right, whoever made it; [Read] and [Plan.Write] keep it in a file.
//
// # Layout
//
// A plan is data. The ranks of one pipeline stage have equal arenas, so a place
// in an arena is said once for all of them. The program is a list of extents in
// the order of the files; an extent is a range that is read in one go, and holds
// runs: records that repeat at equal distances. The experts of one layer are
// such a run. What happens to one tensor is said once a kind of tensor, by a
// [Template] of moves: bytes that lie together, loops around them, and which
// part a rank takes. The 497,220 tensors of a Kimi K3 over eight ranks are 2,552
// runs of 50 templates.
//
// # Ranks
//
// A stage has max(TP, EP) ranks, of which one degree divides the other. With EP
// up to TP the ranks of a stage form EP groups, each with its own experts, split
// over the TP/EP ranks of the group; everything else is split TP ways. With EP
// above TP experts stay whole and everything else is split TP ways, EP/TP times
// over. Rank r is rank r mod stage size of stage r / stage size.
//
// # Limits
//
// Nothing here reads files: sizes and places are the checkpoint's. Plan files
// are bounded on reading; see [Read].
//
// # Concurrency
//
// A Plan does not change after it is returned and may be shared.
package shard
