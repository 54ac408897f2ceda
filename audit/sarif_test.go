package audit

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func sarifOf(t *testing.T, r *Report) map[string]any {
	t.Helper()
	var out bytes.Buffer
	if err := r.WriteSARIF(&out, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// at walks objects by key and lists by index.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch key := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				t.Fatalf("%v: %d elements", path, len(list))
			}
			v = list[key]
		}
	}
	return v
}

func listAt(t *testing.T, v any, path ...any) []any {
	t.Helper()
	list, _ := at(t, v, path...).([]any)
	return list
}

// TestSARIFHoldsToTheSchema checks what the schema of SARIF 2.1.0 demands of the
// objects that are written: required properties, enumerations, uniqueness.
func TestSARIFHoldsToTheSchema(t *testing.T) {
	doc := sarifOf(t, sample(t))
	if at(t, doc, "version") != "2.1.0" || !strings.Contains(at(t, doc, "$schema").(string), "sarif-2.1.0") {
		t.Errorf("version %v, schema %v", doc["version"], doc["$schema"])
	}
	run := at(t, doc, "runs", 0)
	if at(t, run, "tool", "driver", "name") != "ckpt" || at(t, run, "tool", "driver", "version") != "1.2.3" {
		t.Errorf("driver %v", at(t, run, "tool", "driver", "name"))
	}
	levels := map[any]bool{"error": true, "warning": true, "note": true}
	rules := listAt(t, run, "tool", "driver", "rules")
	seen := map[any]bool{}
	for i, c := range Codes() {
		rule := rules[i]
		if at(t, rule, "id") != c.ID || seen[c.ID] {
			t.Errorf("rule %d is %v, want %s", i, at(t, rule, "id"), c.ID)
		}
		seen[c.ID] = true
		for _, text := range []string{"shortDescription", "fullDescription", "help"} {
			if s, _ := at(t, rule, text, "text").(string); s == "" {
				t.Errorf("%s: no %s", c.ID, text)
			}
		}
		if !levels[at(t, rule, "defaultConfiguration", "level")] {
			t.Errorf("%s: level %v", c.ID, at(t, rule, "defaultConfiguration", "level"))
		}
	}
	for _, result := range listAt(t, run, "results") {
		index := int(at(t, result, "ruleIndex").(float64))
		if at(t, rules[index], "id") != at(t, result, "ruleId") {
			t.Errorf("index %d of %v is %v", index, at(t, result, "ruleId"), at(t, rules[index], "id"))
		}
		if !levels[at(t, result, "level")] || at(t, result, "message", "text") == "" || at(t, result, "occurrenceCount").(float64) < 1 {
			t.Errorf("result %v", result)
		}
		for _, list := range []string{"locations", "relatedLocations"} {
			for _, l := range listAt(t, result, list) {
				checkLocation(t, l)
			}
		}
	}
	for _, n := range listAt(t, run, "invocations", 0, "toolExecutionNotifications") {
		if !levels[at(t, n, "level")] || at(t, n, "message", "text") == "" {
			t.Errorf("notification %v", n)
		}
	}
}

func checkLocation(t *testing.T, l any) {
	t.Helper()
	physical, logical := at(t, l, "physicalLocation"), listAt(t, l, "logicalLocations")
	if physical == nil && len(logical) == 0 {
		t.Errorf("location without a place: %v", l)
	}
	if physical == nil {
		return
	}
	text, _ := at(t, physical, "artifactLocation", "uri").(string)
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() != (at(t, physical, "artifactLocation", "uriBaseId") == nil) {
		t.Errorf("uri %q: %v", text, err)
	}
}

func TestSARIFResults(t *testing.T) {
	run := at(t, sarifOf(t, sample(t)), "runs", 0)
	results := listAt(t, run, "results")

	short := results[0]
	if at(t, short, "ruleId") != "FS003" || at(t, short, "level") != "error" {
		t.Fatalf("first result %v", short)
	}
	place := at(t, short, "locations", 0)
	if got := at(t, place, "physicalLocation", "artifactLocation", "uri"); got != "model%202%3A3.safetensors" {
		t.Errorf("uri %v", got)
	}
	if got := at(t, place, "physicalLocation", "artifactLocation", "uriBaseId"); got != sarifBase {
		t.Errorf("base %v", got)
	}
	if got := at(t, place, "physicalLocation", "region", "byteOffset"); got != float64(1<<40) {
		t.Errorf("offset %v", got)
	}
	if got := at(t, place, "logicalLocations", 0, "fullyQualifiedName"); got != "layers.{}.w\u202e1" {
		t.Errorf("tensor %v", got)
	}
	want := "layers.{{}}.w\u202e1: 301,000,000 bytes are missing (expected 16,990,922,320 bytes, actual 1,099,511,627,776 bytes)"
	if got := at(t, short, "message", "text"); got != want {
		t.Errorf("message %v", got)
	}
	if len(listAt(t, short, "suppressions")) != 0 {
		t.Error("a finding that counts is suppressed")
	}

	missing := results[1]
	if at(t, missing, "ruleId") != "MD001" || at(t, missing, "properties", "count") != 4.0 ||
		len(listAt(t, missing, "locations")) != 1 || len(listAt(t, missing, "relatedLocations")) != 2 {
		t.Errorf("group %v", missing)
	}
	if got := at(t, missing, "relatedLocations", 0, "logicalLocations", 0, "name"); got != "b\ufffd\ufffd" {
		t.Errorf("related %v", got)
	}

	ignored := results[2]
	if at(t, ignored, "ruleId") != "CF005" || at(t, ignored, "suppressions", 0, "kind") != "external" ||
		at(t, ignored, "suppressions", 0, "justification") != "served without text (until 2026-12-31)" {
		t.Errorf("ignored %v", ignored)
	}
}

func TestSARIFInvocation(t *testing.T) {
	run := at(t, sarifOf(t, sample(t)), "runs", 0)
	in := at(t, run, "invocations", 0)
	if at(t, in, "exitCode") != 3.0 || at(t, in, "executionSuccessful") != true {
		t.Errorf("invocation %v", in)
	}
	if got := at(t, in, "toolExecutionNotifications", 0, "associatedRule", "id"); got != "ST013" {
		t.Errorf("gap of %v", got)
	}
	if got := at(t, run, "originalUriBaseIds", sarifBase, "uri"); got != "file:///raid/k%203/" {
		t.Errorf("base %v", got)
	}
	incomplete := clean(CollectorOptions{})
	incomplete.Gap("ST013", "closed")
	run = at(t, sarifOf(t, incomplete.Report(subject)), "runs", 0)
	if at(t, run, "invocations", 0, "executionSuccessful") != false {
		t.Error("an incomplete audit was successful")
	}
	if at(t, run, "originalUriBaseIds", sarifBase, "uri") != nil {
		t.Error("a relative path became a URI")
	}
	if results, ok := at(t, run, "results").([]any); !ok || len(results) != 0 {
		t.Errorf("results %v", results)
	}
}

func TestRelativeURI(t *testing.T) {
	tests := []struct{ name, uri string }{
		{"model-00001-of-000096.safetensors", "model-00001-of-000096.safetensors"},
		{"sub dir/a%b", "sub%20dir/a%25b"},
		{"c:x", "c%3Ax"},
		{"a\xff?#", "a%FF%3F%23"},
	}
	for _, test := range tests {
		if got := relativeURI(test.name); got != test.uri {
			t.Errorf("%q: %s", test.name, got)
		}
	}
	if got := sarifFile("/etc/x y"); got.URI != "file:///etc/x%20y" || got.BaseID != "" {
		t.Errorf("absolute %+v", got)
	}
}
