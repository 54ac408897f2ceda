// Package pages hands out large memory outside of Go's heap: [New] for staging,
// [NewShared] for arenas that another process can have, both on huge pages where
// the system gives them, both with every page in place before the call returns.
//
// Layout: area.go says what an area is, area_linux.go, shared_linux.go and
// fill_linux.go make it, sealed_linux.go is for memory files that are final.
//
// Limits: sizes are rounded up to whole pages. Memory is never returned to the
// system before Close, and whoever uses it afterwards faults.
//
// Concurrency: one area is made and closed by one goroutine at a time; its bytes
// are anybody's.
package pages
