package model

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"ckpt/internal/names"
)

// edited is a config of testdata with some values changed: "path=json" sets,
// "-path" removes.
func edited(t testing.TB, name string, edits ...string) *Config {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, edit := range edits {
		path, value, set := strings.Cut(edit, "=")
		steps := strings.Split(strings.TrimPrefix(path, "-"), ".")
		at := doc
		for _, step := range steps[:len(steps)-1] {
			at = at[step].(map[string]any)
		}
		last := steps[len(steps)-1]
		if set {
			at[last] = json.RawMessage(value)
		} else {
			delete(at, last)
		}
	}
	data, err = json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// patterns gives the patterns of an instance's names, as a checkpoint that is
// complete would show them, with change applied to every pattern's text.
func patterns(in *Instance, change func(string) string) []PatternCount {
	counts := map[nameKey]int{}
	for _, f := range expected(in) {
		counts[nameKey{f.Text, f.Slots}] += int(f.Count)
	}
	var list []PatternCount
	for key, n := range counts {
		text := key.text
		if change != nil {
			text = change(text)
		}
		list = append(list, PatternCount{text, key.slots, n})
	}
	return list
}

// pattern gives one pattern as package names has it.
func pattern(text string, count int) PatternCount {
	mark := string([]byte{names.Mark})
	return PatternCount{strings.ReplaceAll(text, "{}", mark), strings.Count(text, "{}"), count}
}

// find looks a tensor up by its name.
func find(in *Instance, name string) (*Family, int64, bool) {
	text, n, slots := names.Split(nil, []byte(name))
	b := in.Bind(string(text), slots)
	if b == nil {
		return nil, 0, false
	}
	return b.Family(n)
}
