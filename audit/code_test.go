package audit

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contract reads the table of the contract: code, severity, finding.
func contract(t *testing.T) [][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/codes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(data)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows[1:]
}

func TestCodesAreThoseOfTheContract(t *testing.T) {
	var got [][]string
	for _, c := range Codes() {
		got = append(got, []string{c.ID, c.Severity.String(), c.Title + c.Detail})
	}
	if diff := cmp.Diff(contract(t), got); diff != "" {
		t.Error(diff)
	}
}

func TestCodesExplainThemselves(t *testing.T) {
	for _, c := range Codes() {
		for name, text := range map[string]string{"cause": c.Cause, "consequence": c.Consequence, "cure": c.Cure} {
			if len(text) < 20 || !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %s %q is no sentence", c.ID, name, text)
			}
		}
		if c.Command == "" {
			t.Errorf("%s: no command", c.ID)
		}
		if c.Title == "" || strings.HasSuffix(c.Title, " ") {
			t.Errorf("%s: title %q", c.ID, c.Title)
		}
		if c.Detail != "" && !strings.ContainsAny(c.Detail[:1], " :;,") {
			t.Errorf("%s: detail %q does not continue the title", c.ID, c.Detail)
		}
	}
}

func TestCodesHaveALevelAndFormat(t *testing.T) {
	for _, c := range Codes() {
		if !slices.Contains([]Level{LevelMetadata, LevelHeaders, LevelValues, LevelHash}, c.Level) {
			t.Errorf("%s: level %b is not a single depth", c.ID, c.Level)
		}
		if strings.HasPrefix(c.ID, "VA") && c.Level != LevelValues || strings.HasPrefix(c.ID, "HS") && c.Level != LevelHash {
			t.Errorf("%s: level %v", c.ID, c.Level)
		}
		if got, want := c.Format == FormatGGUF, strings.HasPrefix(c.ID, "GG"); got != want {
			t.Errorf("%s: format %q", c.ID, c.Format)
		}
		if strings.HasPrefix(c.ID, "ST") && c.Format != FormatSafetensors {
			t.Errorf("%s: format %q", c.ID, c.Format)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, id := range []string{"FS003", "fs003", " Fs003 "} {
		if c, ok := Explain(id); !ok || c.ID != "FS003" {
			t.Errorf("Explain(%q) = %q, %v", id, c.ID, ok)
		}
	}
	for _, id := range []string{"", "FS", "FS3", "FS0033", "XX001"} {
		if c, ok := Explain(id); ok {
			t.Errorf("Explain(%q) = %q", id, c.ID)
		}
	}
}

func TestNear(t *testing.T) {
	tests := []struct {
		id    string
		first string // "" for none
	}{
		{"fs3", "FS003"},
		{"FS-003", "FS003"},
		{"FS0003", "FS003"},
		{"FS099", "FS009"},
		{"F5003", "FS003"},
		{"MD01", "MD001"},
		{"IX9", "IX001"},
		{"", ""},
		{"weights", ""},
		{"fs" + strings.Repeat("0", 1000), "FS001"},
		{strings.Repeat("x", 100000), ""},
	}
	for _, test := range tests {
		got := Near(test.id)
		switch {
		case len(got) > 3:
			t.Errorf("Near(%.20q) gives %d", test.id, len(got))
		case test.first == "" && len(got) > 0:
			t.Errorf("Near(%.20q) = %q", test.id, got)
		case test.first != "" && (len(got) == 0 || got[0] != test.first):
			t.Errorf("Near(%.20q) = %q, want %s first", test.id, got, test.first)
		}
	}
}
