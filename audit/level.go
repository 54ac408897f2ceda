package audit

import (
	"errors"
	"fmt"
	"strings"
)

// ErrLevel is matched by the error of ParseLevel for a text that names no level.
var ErrLevel = errors.New("unknown level")

// Level is a set of depths to which an audit goes. The four constants are
// single depths, as in Code.Level; what a user asks for is a set that ParseLevel
// completes, since each level includes those before it, hash not values.
type Level uint8

// The depths, by what has to be read.
const (
	LevelMetadata Level = 1 << iota // config and index alone; shards may be absent
	LevelHeaders                    // every file's size and header
	LevelValues                     // every payload, once
	LevelHash                       // every file's SHA-256
)

var levelNames = [...]struct {
	level Level
	name  string
}{
	{LevelMetadata, "metadata"},
	{LevelHeaders, "headers"},
	{LevelValues, "values"},
	{LevelHash, "hash"},
}

// ParseLevel reads one level name or several between commas, in any order and
// without regard to case, and adds the levels that they include.
func ParseLevel(text string) (Level, error) {
	var set Level
	for part := range strings.SplitSeq(text, ",") {
		l, ok := levelNamed(strings.ToLower(strings.TrimSpace(part)))
		if !ok {
			return 0, fmt.Errorf("%w %q: want metadata, headers, values, hash or values,hash", ErrLevel, part)
		}
		set |= l
	}
	return set.complete(), nil
}

func levelNamed(name string) (Level, bool) {
	for _, l := range levelNames {
		if l.name == name {
			return l.level, true
		}
	}
	return 0, false
}

// complete adds the levels that those in l include.
func (l Level) complete() Level {
	if l&(LevelValues|LevelHash) != 0 {
		l |= LevelHeaders
	}
	if l != 0 {
		l |= LevelMetadata
	}
	return l
}

// Has reports whether all depths of want are in l.
func (l Level) Has(want Level) bool { return l&want == want }

// String gives the shortest text from which ParseLevel makes the same set.
func (l Level) String() string {
	switch {
	case l.Has(LevelValues | LevelHash):
		return "values,hash"
	case l.Has(LevelHash):
		return "hash"
	case l.Has(LevelValues):
		return "values"
	case l.Has(LevelHeaders):
		return "headers"
	case l.Has(LevelMetadata):
		return "metadata"
	}
	return "none"
}

// MarshalText gives what String gives.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is ParseLevel.
func (l *Level) UnmarshalText(text []byte) error {
	parsed, err := ParseLevel(string(text))
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}
