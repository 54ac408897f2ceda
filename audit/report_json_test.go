package audit

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// sample is a report with something in every field.
func sample(t *testing.T) *Report {
	t.Helper()
	c := clean(CollectorOptions{Ignore: rules(t,
		`[{"id": "CF005", "reason": "served without text", "until": "2026-12-31"},
		  {"id": "FS013", "reason": "leftover", "until": "2026-01-31"}]`)})
	c.Add(Finding{ID: "CF005", File: "tokenizer.json", Message: "missing"})
	c.Add(Finding{
		ID: "FS003", File: "model 2:3.safetensors", Tensor: "layers.{}.w\u202e1", Offset: At(1 << 40), Refetch: true,
		Expected: "16,990,922,320 bytes", Actual: "1,099,511,627,776 bytes",
		Message: "301,000,000 bytes are missing", Fix: "hf download REPO 'model 2:3.safetensors'",
	})
	for _, tensor := range []string{"b\xff\xfe", "a", "c", "d"} {
		c.Add(Finding{ID: "MD001", Tensor: tensor, Message: "of the profile, in no shard"})
	}
	c.Add(Finding{ID: "FS020", File: "link", Message: "leads to /elsewhere/\xffx"})
	c.Waive("QT*", "--profile none")
	c.Gap("ST013", "file closed")
	return c.Report(Subject{
		Path: "k3", Dir: "/raid/k 3", Format: FormatSafetensors, Profile: "kimi-k3",
		Identity: "Kimi K3", Stats: Stats{Tensors: At(497220), Shards: At(96)},
	})
}

func written(t *testing.T, r *Report) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// keys gives the names of an object in the order in which they stand.
func keys(t *testing.T, object jsontext.Value) []string {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, token.String())
		if err := d.SkipValue(); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestJSONKeepsTheNamesOfTheContract holds the fields of ckpt.audit/v1: more may
// come, none may go or change its name.
func TestJSONKeepsTheNamesOfTheContract(t *testing.T) {
	var doc struct {
		Summary, Stats   jsontext.Value
		Checks, Findings []jsontext.Value
	}
	data := written(t, sample(t))
	if err := json.Unmarshal(data, &doc, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		object jsontext.Value
		want   string
	}{
		{"document", data, "schema path profile level verdict summary stats checks refetch findings"},
		{"summary", doc.Summary, "errors warnings infos passed skipped"},
		{"stats", doc.Stats, "tensors language_tensors expert_tensors shards missing_shards total_size file_bytes text_bytes"},
		{"check", doc.Checks[0], "id title status reason"},
		{"finding", doc.Findings[0], "id severity file tensor offset expected actual message fix count examples ignored"},
	}
	for _, test := range tests {
		have := map[string]bool{}
		for _, k := range keys(t, test.object) {
			have[k] = true
		}
		for want := range strings.FieldsSeq(test.want) {
			if !have[want] {
				t.Errorf("%s lacks %s", test.name, want)
			}
		}
	}
}

func TestJSONDocument(t *testing.T) {
	const golden = "testdata/report.json"
	got := written(t, sample(t))
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run with UPDATE=1 where the change is meant:\n%s", diff)
	}
}

func TestJSONGoesBothWays(t *testing.T) {
	data := written(t, sample(t))
	var back Report
	if err := json.Unmarshal(data, &back, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if again := written(t, &back); !bytes.Equal(data, again) {
		t.Error(cmp.Diff(string(data), string(again)))
	}
}

func TestJSONOfAnEmptyReportHasNoNullLists(t *testing.T) {
	text := string(written(t, clean(CollectorOptions{}).Report(Subject{Path: "k3"})))
	for _, want := range []string{`"refetch": []`, `"findings": []`, `"ignore": []`, `"notes": []`, `"waived": []`, `"tensors": null`, `"profile": ""`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if !strings.HasSuffix(text, "}\n") {
		t.Error("no line break at the end")
	}
}

func TestJSONIsSafeForATerminalAndExact(t *testing.T) {
	name := "w\x1b[2J\u202e\u2066\u009b\x7f\u2028é\u0000"
	c := clean(CollectorOptions{})
	c.Add(Finding{ID: "ST014", Tensor: name, Message: "unsafe"})
	data := written(t, c.Report(subject))
	for _, r := range string(data) {
		if unsafeRune(r) || r < ' ' && r != '\n' {
			t.Errorf("%U stands in the document", r)
		}
	}
	var back Report
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Findings[0].Tensor; got != name {
		t.Errorf("%q came back as %q", name, got)
	}
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	tests := []struct{ name, text, hex string }{
		{"é\ufffd", "é\ufffd", ""},
		{"a\xff\xfeb", "a\ufffd\ufffdb", "61fffe62"},
		{"\xe2\x82", "\ufffd\ufffd", "e282"},
	}
	for _, test := range tests {
		text, hex := printableName(test.name, "")
		if text != test.text || hex != test.hex || !utf8.ValidString(text) {
			t.Errorf("%q: %q, %q", test.name, text, hex)
		}
	}
}
