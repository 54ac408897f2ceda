package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

func TestParseIgnore(t *testing.T) {
	got, err := ParseIgnore([]byte(`
		[{"id": "FS013", "file": "old-*.safetensors", "reason": "leftover", "until": "2026-12-31"},
		 {"until": "2028-02-29", "reason": "cut", "tensor": "layers.[0-9].*", "id": "MD*"}] `))
	if err != nil {
		t.Fatal(err)
	}
	want := []IgnoreRule{
		{ID: "FS013", File: "old-*.safetensors", Reason: "leftover", Until: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC)},
		{ID: "MD*", Tensor: "layers.[0-9].*", Reason: "cut", Until: time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rules, err := ParseIgnore([]byte("[]")); err != nil || len(rules) != 0 {
		t.Errorf("empty list: %v, %v", rules, err)
	}
}

func TestParseIgnoreRefuses(t *testing.T) {
	const good = `{"id": "FS013", "reason": "r", "until": "2026-12-31"}`
	tests := []struct {
		name, text, want string
	}{
		{"nothing", ``, "ignore list: nothing in it"},
		{"no list", good, "ignore list: want a JSON array"},
		{"null", `null`, "ignore list: want a JSON array"},
		{"no end", `[` + good, "ignore list: "},
		{"no comma", `[` + good + good + `]`, "entry 2: at byte"},
		{"more behind", `[` + good + `] []`, "something follows the list"},
		{"no object", `[` + good + `, "FS013"]`, "entry 2: want an object"},
		{"unknown field", `[` + good + `, {"id": "FS013", "reson": "r"}]`, `entry 2: "reson": no such field`},
		{"wrong case", `[{"ID": "FS013", "reason": "r", "until": "2026-12-31"}]`, `entry 1: "ID": no such field`},
		{"field twice", `[{"id": "FS013", "id": "FS014", "reason": "r", "until": "2026-12-31"}]`, `entry 1: "id": stands twice`},
		{"entry twice", `[` + good + `,` + good + `]`, "entry 2: says what entry 1 says"},
		{"number", `[{"id": 13, "reason": "r", "until": "2026-12-31"}]`, "entry 1: id: want a string"},
		{"null field", `[{"id": "FS013", "file": null, "reason": "r", "until": "2026-12-31"}]`, "entry 1: file: want a string"},
		{"no id", `[{"reason": "r", "until": "2026-12-31"}]`, "entry 1: id: missing"},
		{"no reason", `[{"id": "FS013", "until": "2026-12-31"}]`, "entry 1: reason: missing"},
		{"no date", `[{"id": "FS013", "reason": "r"}]`, "entry 1: until: missing"},
		{"blank reason", `[{"id": "FS013", "reason": " \t", "until": "2026-12-31"}]`, "entry 1: reason: empty"},
		{"unknown code", `[{"id": "FS133", "reason": "r", "until": "2026-12-31"}]`, `entry 1: id: no code "FS133"; near: FS003, FS013`},
		{"small code", `[{"id": "fs013", "reason": "r", "until": "2026-12-31"}]`, `entry 1: id: no code "fs013"; near: FS013`},
		{"glob of no code", `[{"id": "XX*", "reason": "r", "until": "2026-12-31"}]`, `entry 1: id: no code "XX*"`},
		{"bad glob", `[{"id": "FS013", "tensor": "a[", "reason": "r", "until": "2026-12-31"}]`, `entry 1: tensor: "a[" is no glob`},
		{"empty glob", `[{"id": "FS013", "file": "", "reason": "r", "until": "2026-12-31"}]`, "entry 1: file: empty"},
		{"no such day", `[{"id": "FS013", "reason": "r", "until": "2026-02-29"}]`, `entry 1: until: "2026-02-29" is no date`},
		{"other form", `[{"id": "FS013", "reason": "r", "until": "31.12.2026"}]`, "entry 1: until:"},
		{"short form", `[{"id": "FS013", "reason": "r", "until": "2026-1-1"}]`, "entry 1: until:"},
		{"time", `[{"id": "FS013", "reason": "r", "until": "2026-12-31T00:00:00Z"}]`, "entry 1: until:"},
		{"not UTF-8", "[{\"id\": \"FS013\", \"reason\": \"\xff\", \"until\": \"2026-12-31\"}]", "entry 1: "},
		{"too large", strings.Repeat(" ", maxIgnore+1), "larger than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rules, err := ParseIgnore([]byte(test.text))
			if err == nil || !errors.Is(err, ErrIgnore) || rules != nil {
				t.Fatalf("%v, %v", rules, err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q lacks %q", err, test.want)
			}
		})
	}
}

func TestLoadIgnore(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ignore.json")
	if _, err := LoadIgnore(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(name, []byte(`[{"id": "FS013"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadIgnore(name); !errors.Is(err, ErrIgnore) || !strings.Contains(err.Error(), name) {
		t.Errorf("bad file: %v", err)
	}
	if err := os.WriteFile(name, []byte(`[]`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadIgnore(name); err != nil {
		t.Error(err)
	}
}

// FuzzParseIgnore writes every list that parses again and compares what that means.
func FuzzParseIgnore(f *testing.F) {
	f.Add([]byte(`[{"id": "FS013", "file": "a*", "tensor": "b", "reason": "r", "until": "2026-12-31"}]`))
	f.Add([]byte(`[{"id": "MD*", "reason": "é\u0000", "until": "2026-12-31"}, {"id": "FS???", "reason": "r", "until": "0001-01-01"}]`))
	f.Add([]byte(`[{"id": 1}]`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rules, err := ParseIgnore(data)
		if err != nil {
			if !errors.Is(err, ErrIgnore) || rules != nil {
				t.Fatalf("%v, %v", rules, err)
			}
			return
		}
		again, err := ParseIgnore(writeIgnore(t, rules))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rules, again); diff != "" && len(rules) > 0 {
			t.Fatal(diff)
		}
	})
}

func writeIgnore(t *testing.T, rules []IgnoreRule) []byte {
	entries := []map[string]string{}
	for _, r := range rules {
		e := map[string]string{"id": r.ID, "reason": r.Reason, "until": r.Until.Format(dateLayout)}
		if r.File != "" {
			e["file"] = r.File
		}
		if r.Tensor != "" {
			e["tensor"] = r.Tensor
		}
		entries = append(entries, e)
	}
	data, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
