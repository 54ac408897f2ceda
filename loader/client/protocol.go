package client

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
)

// MaxLine bounds a line of the protocol, in bytes.
const MaxLine = 64 << 10

// MaxRanks bounds how many ranks a client may name.
const MaxRanks = 4096

// ErrProtocol: the other side says what makes no sense.
var ErrProtocol = errors.New("the other side does not keep to the protocol")

// RefusedError is why the holder does not hand over what was asked for.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the holder refuses: " + e.Reason }

// Request is the first line of a client.
type Request struct {
	Schema string `json:"schema"`
	Ranks  []int  `json:"ranks,omitempty"` // none is all
}

// Answer is the line of the holder that comes with the descriptors.
type Answer struct {
	Schema        string `json:"schema"`
	ManifestBytes int64  `json:"manifest_bytes,omitzero"`
	Descriptors   int    `json:"descriptors,omitzero"`
	Error         string `json:"error,omitempty"`
}

// Commit is the second line of a client.
type Commit struct {
	Commit string `json:"commit"` // the manifest's hold
}

// Committed is the last line of the holder.
type Committed struct {
	Committed bool   `json:"committed,omitzero"`
	Error     string `json:"error,omitempty"`
}

// ParseRequest reads the first line of a client.
func ParseRequest(line []byte) (*Request, error) {
	r := new(Request)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("%w: schema %.60q, want %q", ErrProtocol, r.Schema, Schema)
	}
	if len(r.Ranks) > MaxRanks {
		return nil, fmt.Errorf("%w: %d ranks, at most %d", ErrProtocol, len(r.Ranks), MaxRanks)
	}
	return r, nil
}

// ParseCommit reads the second line of a client.
func ParseCommit(line []byte) (*Commit, error) {
	c := new(Commit)
	if err := json.Unmarshal(line, c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return c, nil
}

// parseAnswer reads the holder's answer, which came with so many descriptors.
func parseAnswer(line []byte, descriptors int) (*Answer, error) {
	a := new(Answer)
	err := json.Unmarshal(line, a)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	case a.Error != "":
		return nil, &RefusedError{a.Error}
	case a.Schema != Schema:
		return nil, fmt.Errorf("%w: schema %.60q, want %q", ErrProtocol, a.Schema, Schema)
	case a.Descriptors != descriptors || descriptors < 1:
		return nil, fmt.Errorf("%w: %d descriptors of %d", ErrProtocol, descriptors, a.Descriptors)
	case a.ManifestBytes < 0 || a.ManifestBytes > MaxManifest:
		return nil, fmt.Errorf("%w: a manifest of %d bytes", ErrProtocol, a.ManifestBytes)
	}
	return a, nil
}

// parseCommitted reads the holder's last line.
func parseCommitted(line []byte) error {
	c := new(Committed)
	err := json.Unmarshal(line, c)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	case c.Error != "":
		return &RefusedError{c.Error}
	case !c.Committed:
		return fmt.Errorf("%w: not committed", ErrProtocol)
	}
	return nil
}
