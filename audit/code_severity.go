package audit

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSeverity is matched by the error of ParseSeverity.
var ErrSeverity = errors.New("unknown severity")

// Severity is how much a finding weighs. The zero value stands for the default
// of the finding's code.
type Severity uint8

// The severities, by weight.
const (
	Info    Severity = iota + 1 // worth knowing
	Warning                     // likely harmful
	Error                       // the checkpoint must not be used
)

var severityNames = [...]string{"", "info", "warning", "error"}

// ParseSeverity reads info, warning or error.
func ParseSeverity(text string) (Severity, error) {
	for s := Info; s <= Error; s++ {
		if strings.EqualFold(text, severityNames[s]) {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%w %q: want error, warning or info", ErrSeverity, text)
}

func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// MarshalText gives what String gives.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseSeverity.
func (s *Severity) UnmarshalText(text []byte) error {
	parsed, err := ParseSeverity(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
