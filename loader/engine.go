package loader

import "time"

// Request asks for a range of a file. Where the file is open for direct I/O,
// Offset, the length of Buf and its address are multiples of the file's
// alignment, so the range may begin before what is wanted and end behind it.
type Request struct {
	File   *File
	Offset int64
	Buf    []byte // of the staging area
	Need   int    // bytes of Buf that the file must have; what follows may lie behind its end
	Tag    uint64 // returned in the completion
}

// Completion is what became of a request.
type Completion struct {
	Tag     uint64
	N       int   // bytes read from the beginning of Buf on; at least Need without an error
	Err     error // a *ReadError
	Latency time.Duration
	Retries int // resubmissions: short reads, EINTR, EAGAIN
}

// Engine reads ranges of files. It is used from one goroutine, which is locked
// to its thread; only Close of an engine that nobody uses may come from another.
// Short reads are completed by the engine: a completion has all that was needed,
// or an error that names file, offset and reason.
type Engine interface {
	// Name is "uring", "pread" or "mem".
	Name() string
	// Depth is how many requests may be in flight.
	Depth() int
	// Submit starts a request. It does not block; with Depth requests in
	// flight it is an error of the caller.
	Submit(Request) error
	// Wait blocks until at least one request is done and fills done with as
	// many as there are, up to its length.
	Wait(done []Completion) (int, error)
	// Close waits for what is in flight and releases everything. No buffer is
	// written to afterwards.
	Close() error
}
