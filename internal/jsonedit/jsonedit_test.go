package jsonedit

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

const sample = `{
  "a": 1e-05,
  "b/c": {"~": [1, 2], "q": "x\"y\\"},
  "list": [
    3,
    4
  ],
  "last": null
}
`

func TestReplaceKeepsEverythingElse(t *testing.T) {
	got, err := Replace([]byte(sample), []Edit{
		{"/last", "true"}, {"/b~1c/~0", "[]"}, {"/b~1c/q", `"z"`}, {"/list/1", "5"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "a": 1e-05,
  "b/c": {"~": [], "q": "z"},
  "list": [
    3,
    5
  ],
  "last": true
}
`
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

func TestFind(t *testing.T) {
	for pointer, want := range map[string]string{
		"/a": "1e-05", "/b~1c/q": `"x\"y\\"`, "/b~1c": `{"~": [1, 2], "q": "x\"y\\"}`, "/list/0": "3", "/last": "null",
	} {
		got, ok, err := Find([]byte(sample), pointer)
		if err != nil || !ok || string(got) != want {
			t.Errorf("%s: %s %v %v, want %s", pointer, got, ok, err, want)
		}
	}
	if _, ok, _ := Find([]byte(sample), "/nothing"); ok {
		t.Error("found what is not there")
	}
}

func TestReplaceRefuses(t *testing.T) {
	for name, edits := range map[string][]Edit{
		"absent": {{"/x", "1"}},
		"nested": {{"/b~1c", "1"}, {"/b~1c/q", "2"}},
	} {
		if _, err := Replace([]byte(sample), edits); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := Replace([]byte(sample), []Edit{{"/x", "1"}}); !errors.Is(err, ErrAbsent) {
		t.Errorf("absent: %v", err)
	}
	for _, text := range []string{`{"a":1,"a":2}`, `{"a":`, `{"a":1}x`, `{"a":1} 2`, ``, ` `} {
		if _, err := Replace([]byte(text), nil); err == nil {
			t.Errorf("%s: accepted", text)
		}
	}
}

func TestArrayKeepsIndentation(t *testing.T) {
	old, _, err := Find([]byte(sample), "/list")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Array(old, []string{"7", "8", "9"}), "[\n    7,\n    8,\n    9\n  ]"; got != want {
		t.Errorf("got %q", got)
	}
	if got := Array([]byte("[1, 2]"), []string{"7", "8"}); got != "[7, 8]" {
		t.Errorf("got %q", got)
	}
	if got := Array(old, nil); got != "[]" {
		t.Errorf("got %q", got)
	}
	if got := Array([]byte("[\n]"), []string{"1"}); got != "[1]" {
		t.Errorf("got %q", got)
	}
}

// Any member of any flat object can be replaced, and the rest is as it was.
func TestReplaceProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,5}`), rapid.String(), 1, 6).Draw(t, "doc")
		key := rapid.SampledFrom(keys(doc)).Draw(t, "key")
		text, _ := json.MarshalIndent(doc, "", "  ")
		out, err := Replace(text, []Edit{{"/" + key, `["new"]`}})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		for k, v := range doc {
			if k != key && got[k] != v {
				t.Fatalf("%s changed", k)
			}
		}
		if _, ok := got[key].([]any); !ok {
			t.Fatalf("%s was not replaced", key)
		}
	})
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func TestElements(t *testing.T) {
	got, err := Elements([]byte(`[1, "a,b", [2, 3], {"x": 1e5}]`))
	if err != nil || len(got) != 4 || got[1] != `"a,b"` || got[2] != "[2, 3]" {
		t.Errorf("%q %v", got, err)
	}
	for _, text := range []string{``, `1`, `{}`, `[1`, `[1,]`} {
		if got, err := Elements([]byte(text)); err == nil {
			t.Errorf("%s: %q", text, got)
		}
	}
}
