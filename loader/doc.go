// Package loader brings the bytes of a plan into the memory of devices: it reads
// every wanted byte of a checkpoint once, scatters it to the arenas of the ranks
// through a small ring of staging memory, and verifies what it has read or
// placed. Load does all of it.
//
// # Layout
//
// An [Engine] reads ranges of files into slots of the staging area, a [Device]
// holds arenas and takes copies, and the pipeline between them follows the
// plan's copy program in the order of the files.
//
// # Limits
//
// Staging memory is bounded by Options.Pinned and never grows with the
// checkpoint. Nothing is mapped from the files, and nothing is written to them.
//
// # Concurrency
//
// One load uses its engine from one goroutine and each queue of a device from
// one goroutine that is locked to its thread.
package loader
