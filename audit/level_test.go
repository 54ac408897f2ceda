package audit

import (
	"errors"
	"testing"
)

func TestParseLevel(t *testing.T) {
	tests := []struct {
		text, set string
		has       []Level
		hasNot    []Level
	}{
		{"metadata", "metadata", []Level{LevelMetadata}, []Level{LevelHeaders, LevelValues, LevelHash}},
		{"headers", "headers", []Level{LevelMetadata, LevelHeaders}, []Level{LevelValues, LevelHash}},
		{"values", "values", []Level{LevelMetadata, LevelHeaders, LevelValues}, []Level{LevelHash}},
		{"hash", "hash", []Level{LevelMetadata, LevelHeaders, LevelHash}, []Level{LevelValues}},
		{"values,hash", "values,hash", []Level{LevelMetadata, LevelHeaders, LevelValues, LevelHash}, nil},
		{"hash, VALUES", "values,hash", []Level{LevelValues, LevelHash}, nil},
		{"headers,metadata", "headers", []Level{LevelHeaders}, []Level{LevelValues}},
	}
	for _, test := range tests {
		l, err := ParseLevel(test.text)
		if err != nil || l.String() != test.set {
			t.Errorf("ParseLevel(%q) = %v, %v, want %s", test.text, l, err, test.set)
		}
		for _, want := range test.has {
			if !l.Has(want) {
				t.Errorf("%q lacks %v", test.text, want)
			}
		}
		for _, bad := range test.hasNot {
			if l.Has(bad) {
				t.Errorf("%q has %v", test.text, bad)
			}
		}
	}
}

func TestParseLevelRefuses(t *testing.T) {
	for _, text := range []string{"", ",", "header", "headers,", "values;hash", "all"} {
		if l, err := ParseLevel(text); !errors.Is(err, ErrLevel) || l != 0 {
			t.Errorf("ParseLevel(%q) = %v, %v", text, l, err)
		}
	}
}

func TestLevelTextGoesBothWays(t *testing.T) {
	for l := range LevelHash << 1 {
		if l != l.complete() || l == 0 {
			continue
		}
		text, _ := l.MarshalText()
		var back Level
		if err := back.UnmarshalText(text); err != nil || back != l {
			t.Errorf("%b: %s: %b, %v", l, text, back, err)
		}
	}
}

func TestParseSeverity(t *testing.T) {
	for _, s := range []Severity{Info, Warning, Error} {
		var back Severity
		text, _ := s.MarshalText()
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%v: %v, %v", s, back, err)
		}
	}
	for _, text := range []string{"", "errors", "fatal"} {
		if _, err := ParseSeverity(text); !errors.Is(err, ErrSeverity) {
			t.Errorf("ParseSeverity(%q): %v", text, err)
		}
	}
}
