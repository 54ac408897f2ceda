// Package fio reads the JSON that fio prints, as far as a load can be compared
// with it: Parse gives the reads of the fastest group of jobs.
//
// Layout: one file. The document is that of fio 3 with --output-format=json, and
// what fio may print before it is skipped.
//
// Limits: MaxDocument bytes. Fields that fio has and this package does not know
// are left out; the parser is strict about JSON itself.
//
// Concurrency: Parse may be called in parallel.
package fio

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
)

// MaxDocument bounds a document, in bytes. A job takes about 6 kB, with its
// distribution of latencies a hundred times that.
const MaxDocument = 64 << 20

// ErrFormat: what was read is no result of fio, or one without reads.
var ErrFormat = errors.New("not a result of fio")

// Result is how fast fio read.
type Result struct {
	Version string
	Jobs    int   // that ran at the same time
	Bytes   int64 // that they read
	Seconds float64
	// Latency from submission to completion in microseconds, of the slowest
	// job; 0 where fio did not take it.
	P50, P99 float64
	// Options of the first of them, as they were given; empty where they were
	// not.
	Engine, Block, Depth, Direct, Memory, Pattern string
}

// Rate is in bytes a second.
func (r *Result) Rate() float64 { return float64(r.Bytes) / r.Seconds }

type document struct {
	Version string            `json:"fio version"`
	Global  map[string]string `json:"global options"`
	Jobs    []job             `json:"jobs"`
}

type job struct {
	Name    string            `json:"jobname"`
	Group   int               `json:"groupid"`
	Error   int               `json:"error"`
	Options map[string]string `json:"job options"`
	Read    struct {
		Bytes   int64 `json:"io_bytes"`
		Runtime int64 `json:"runtime"` // ms
		Latency struct {
			Percentile map[string]float64 `json:"percentile"` // ns
		} `json:"clat_ns"`
	} `json:"read"`
}

// Parse reads a document. Jobs of one group ran together and add up; of several
// groups, the fastest one counts. The error matches ErrFormat.
func Parse(data []byte) (*Result, error) {
	if len(data) > MaxDocument {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrFormat, len(data), MaxDocument)
	}
	if i := bytes.IndexByte(data, '{'); i > 0 {
		data = data[i:]
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if doc.Version == "" {
		return nil, fmt.Errorf("%w: it names no version of fio", ErrFormat)
	}
	groups := map[int]*Result{}
	var best *Result
	for i := range doc.Jobs {
		j := &doc.Jobs[i]
		if err := j.check(); err != nil {
			return nil, err
		}
		if j.Read.Bytes == 0 {
			continue
		}
		g := groups[j.Group]
		if g == nil {
			g = doc.result(j)
			groups[j.Group] = g
		}
		g.add(j)
	}
	for i := range doc.Jobs { // in the order of the document
		if g := groups[doc.Jobs[i].Group]; g != nil && (best == nil || g.Rate() > best.Rate()) {
			best = g
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%w: no job reads", ErrFormat)
	}
	return best, nil
}

func (j *job) check() error {
	const mostBytes = 1 << 60
	switch r := &j.Read; {
	case j.Error != 0:
		return fmt.Errorf("%w that counts: job %.60q ended with error %d", ErrFormat, j.Name, j.Error)
	case r.Bytes < 0 || r.Bytes > mostBytes || r.Runtime < 0 || r.Bytes > 0 && r.Runtime == 0:
		return fmt.Errorf("%w: job %.60q reads %d bytes in %d ms", ErrFormat, j.Name, r.Bytes, r.Runtime)
	}
	return nil
}

func (d *document) result(j *job) *Result {
	option := func(name string) string {
		if v, ok := j.Options[name]; ok {
			return v
		}
		return d.Global[name]
	}
	return &Result{
		Version: d.Version, Engine: option("ioengine"), Block: option("bs"), Depth: option("iodepth"),
		Direct: option("direct"), Memory: option("iomem"), Pattern: option("rw"),
	}
}

func (r *Result) add(j *job) {
	r.Jobs++
	r.Bytes = min(math.MaxInt64-j.Read.Bytes, r.Bytes) + j.Read.Bytes
	r.Seconds = max(r.Seconds, float64(j.Read.Runtime)/1000)
	for name, ns := range j.Read.Latency.Percentile {
		switch p, err := strconv.ParseFloat(name, 64); {
		case err != nil || ns < 0:
		case p == 50:
			r.P50 = max(r.P50, ns/1000)
		case p == 99:
			r.P99 = max(r.P99, ns/1000)
		}
	}
}
