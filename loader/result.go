package loader

// ResultSchema is the value of a result's "schema" field.
const ResultSchema = "ckpt.load/v1"

// Result is how a load went: the JSON document of the load command. Sizes are
// bytes, GB are 10^9 of them. Of several runs it is the median by total, and
// Runs has all.
type Result struct {
	Schema  string         `json:"schema"`
	Source  string         `json:"source"`
	Device  string         `json:"device"`
	Ranks   []RankResult   `json:"ranks"`
	Engine  EngineResult   `json:"engine"`
	Bytes   BytesResult    `json:"bytes"`
	Seconds SecondsResult  `json:"seconds"`
	Rate    float64        `json:"gb_per_s"` // of the payload, from the first request to the last byte placed
	Ceiling *CeilingResult `json:"ceiling"`
	Latency LatencyResult  `json:"latency_us"`
	Reads   ReadsResult    `json:"requests"`
	Stalls  StallsResult   `json:"stalls"`
	Copies  CopiesResult   `json:"copies"`
	CPU     CPUResult      `json:"cpu"`
	Memory  MemoryResult   `json:"memory"`
	Cold    ColdResult     `json:"cold"`
	Verify  VerifyResult   `json:"verify"`
	Files   []FileResult   `json:"files"`
	Notes   []string       `json:"notes"` // what a reader should know, in words
	Runs    []RunResult    `json:"runs"`
}

// RankResult is what a rank got.
type RankResult struct {
	Rank    int     `json:"rank"`
	Device  string  `json:"device"`
	Bytes   int64   `json:"bytes"`       // of tensors
	Arena   int64   `json:"arena_bytes"` // with padding
	Copies  int64   `json:"copies"`
	Seconds float64 `json:"seconds"` // from the first request to its last byte placed
	Rate    float64 `json:"gb_per_s"`
}

// EngineResult is how the files were read, and why so.
type EngineResult struct {
	Name     string   `json:"name"`
	Reason   string   `json:"reason"` // why not a better one; empty where it is the best
	Ladder   []string `json:"ladder"` // every choice in a line
	Direct   bool     `json:"direct"`
	Buffered string   `json:"buffered_reason,omitempty"` // why files are not read directly
	Block    int64    `json:"block"`
	Inflight int64    `json:"inflight"` // at the end
	Depth    int      `json:"depth"`    // the same in requests
	Tuned    bool     `json:"tuned"`    // the depth was found: not given, and not still growing at the end
	Fixed    bool     `json:"fixed_buffers"`
	FixedWhy string   `json:"fixed_buffers_reason,omitempty"`
	Pages    string   `json:"pages"`                  // kind of the staging area
	PagesWhy string   `json:"pages_reason,omitempty"` // why not all of it lies on huge pages
	Huge     int64    `json:"huge_pages"`             // bytes of it on huge pages
	System   string   `json:"file_system"`
	Workers  int      `json:"workers"`
}

// BytesResult counts.
type BytesResult struct {
	// Read is what storage gave: all that was requested of files that were read
	// directly. Of others, what lay in the page cache before is left out, as much of
	// it as there was, so that storage gave as much at least.
	Read      int64 `json:"read"`
	Requested int64 `json:"requested"` // what our requests were given, by storage or the page cache
	Payload   int64 `json:"payload"`   // wanted source bytes, each once
	Device    int64 `json:"device"`    // that the ranks hold, without padding
	// Disk is what the drive read meanwhile for anyone, as it counts; -1 where that
	// is not known.
	Disk          int64   `json:"disk"`
	Amplification float64 `json:"amplification"`      // requested / payload
	Drive         float64 `json:"disk_amplification"` // disk / payload; 0 where that is not known
}

// SecondsResult is where the time went. FirstByte, LastByte and Total count from
// the start of the command, the others are lengths.
type SecondsResult struct {
	Open      float64 `json:"open"` // devices, headers, and the files compared with the plan
	Plan      float64 `json:"plan"` // made or read, and proven
	Alloc     float64 `json:"alloc"`
	FirstByte float64 `json:"first_byte"`
	LastByte  float64 `json:"last_byte"`
	Verify    float64 `json:"verify"` // after the last byte
	Total     float64 `json:"total"`
}

// CeilingResult is what could be had at most, measured in the same run.
type CeilingResult struct {
	Null    float64 `json:"null_gb_per_s"`   // the same reads, nothing kept
	Device  float64 `json:"device_gb_per_s"` // copies to the device alone, of payload bytes
	Percent float64 `json:"percent"`         // of the lower of the two
	Lowest  string  `json:"lowest"`          // "null" or "device"
	CPU     float64 `json:"null_cpu_seconds_per_gb"`
}

// LatencyResult is how long requests took, in microseconds.
type LatencyResult struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// ReadsResult counts requests.
type ReadsResult struct {
	Count   int64 `json:"count"`
	Retries int64 `json:"retries"` // short reads, EINTR, EAGAIN: submitted again
}

// StallsResult says in seconds on what the reader waited.
type StallsResult struct {
	Storage float64 `json:"storage"` // with as much in flight as allowed
	Copy    float64 `json:"copy"`    // no free slot: most of them waited to be copied
	Hash    float64 `json:"hash"`    // no free slot: most of them waited to be hashed
	Planner float64 `json:"planner"` // opened files and made requests
	Drain   float64 `json:"drain"`   // nothing left to read: copies and hashes ended
}

// CopiesResult counts copies to devices.
type CopiesResult struct {
	Count int64  `json:"count"`
	Rows  int64  `json:"rects"` // of Count: rectangles of rows
	Way   string `json:"way"`   // how rows are taken
	// WayRates are what each way took in a short calibration, in GB/s; empty
	// where the device offers one.
	WayRates  map[string]float64 `json:"way_gb_per_s,omitempty"`
	Assembled int64              `json:"assembled"` // of Count: put together in memory first
}

// CPUResult is what the process used from the first request to the last byte.
type CPUResult struct {
	User   float64 `json:"user_seconds"`
	System float64 `json:"system_seconds"`
	PerGB  float64 `json:"seconds_per_gb"` // of payload
}

// MemoryResult is what the load took beside the arenas on devices.
type MemoryResult struct {
	PeakRSS int64 `json:"peak_rss"` // of the process so far, host arenas included
	Pinned  int64 `json:"pinned"`   // staging memory
}

// ColdResult says what of the files lay in memory; -1 where that is not known.
type ColdResult struct {
	Asked  bool  `json:"asked"`
	Before int64 `json:"resident_before"`
	After  int64 `json:"resident_after"`
}

// Statuses of a verification.
const (
	StatusOK       = "ok"       // equal to a reference
	StatusRecorded = "recorded" // hashes were taken, there was nothing to compare with
	StatusFailed   = "failed"
	StatusNone     = "none"
)

// References of a verification.
const (
	ReferenceRelease  = "release"
	ReferenceManifest = "manifest"
	ReferenceReadBack = "read-back"
	ReferenceNone     = "none"
)

// VerifyResult is what was checked against what.
type VerifyResult struct {
	Mode      Verify     `json:"mode"`
	Algorithm string     `json:"algorithm"` // "xxh3-128", "sha256", "bytes"; empty without
	Tensors   int64      `json:"tensors"`   // source tensors that were hashed or compared
	Compared  int64      `json:"compared"`  // of them: with a reference
	Files     int        `json:"files"`     // whole files that were hashed
	Status    string     `json:"status"`
	Reference string     `json:"reference"`
	Failed    []Mismatch `json:"failed,omitempty"` // the first of them
	Failures  int64      `json:"failures"`
}

// Mismatch is something that is not what it should be.
type Mismatch struct {
	Name   string `json:"name"` // of a tensor, or of a file
	File   string `json:"file,omitempty"`
	Rank   *int   `json:"rank,omitempty"` // of a placed tensor
	Offset int64  `json:"offset"`         // in the file; of a placed tensor, in the arena
	Want   string `json:"want"`
	Got    string `json:"got"`
}

// FileResult is how one file was read.
type FileResult struct {
	Name    string  `json:"name"`
	Bytes   int64   `json:"bytes"` // read of it
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"gb_per_s"`
	Direct  bool    `json:"direct"`
	SHA256  string  `json:"sha256,omitempty"`
}

// RunResult is one run of several.
type RunResult struct {
	Seconds SecondsResult `json:"seconds"`
	Rate    float64       `json:"gb_per_s"`
	Read    int64         `json:"read"`
	Disk    int64         `json:"disk"`
	CPU     float64       `json:"cpu_seconds_per_gb"`
	Cold    ColdResult    `json:"cold"`
	Latency LatencyResult `json:"latency_us"`
	Stalls  StallsResult  `json:"stalls"`
	Status  string        `json:"verify_status"`
}
