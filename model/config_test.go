package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfigIsStrict(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "blank": "  ", "array": "[]", "number": "4", "null": "null", "cut": `{"a":`,
		"trailing": `{} x`, "two": `{}{}`, "comma": `{"a":1,}`, "single quotes": `{'a':1}`, "comment": `{/**/}`,
		"duplicate": `{"a":1,"a":1}`, "duplicate by escape": `{"a":1,"\u0061":1}`, "nested duplicate": `{"a":{"b":1,"b":2}}`,
		"duplicate in a list": `{"a":[{"b":1,"b":2}]}`, "not UTF-8": "{\"a\":\"\xff\"}", "half a pair": `{"a":"\ud800"}`,
		"NaN": `{"a":NaN}`, "plus": `{"a":+1}`, "leading zero": `{"a":01}`, "BOM": "\ufeff{}",
		"deep":      strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100),
		"deep list": `{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}",
		"too long":  `{"a":"` + strings.Repeat("x", MaxConfig) + `"}`,
	} {
		if c, err := ParseConfig([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", name, c)
		}
	}
}

func TestConfigLookup(t *testing.T) {
	c := mustConfig(t, `{"a": {"b": {"c": 9007199254740993}, "list": [1, 2], "": 7}, "s": "x\u0079", "n": null, "t": true, "one": "z", "many": ["p", 1, "q"]}`)
	if v, ok := c.Lookup("a.b.c"); !ok || v.String() != "9007199254740993" {
		t.Errorf("2^53+1 is %s", v)
	}
	v, _ := c.Lookup("a.list")
	if list, err := v.Ints(2); err != nil || !cmp.Equal(list, []int64{1, 2}) {
		t.Errorf("list %v, %v", list, err)
	}
	if _, err := v.Ints(1); err == nil {
		t.Error("a list longer than allowed is read")
	}
	if v, _ := c.Lookup("s"); v.String() != `"x\u0079"` {
		t.Errorf("s shows as %s", v)
	} else if s, ok := v.Text(); !ok || s != "xy" {
		t.Errorf("s is %q", s)
	}
	if v, ok := c.Lookup("n"); !ok || !v.IsNull() {
		t.Error("a null is there and null")
	}
	if v, _ := c.Lookup("many"); !cmp.Equal(v.Strings(), []string{"p", "q"}) {
		t.Errorf("strings %v", v.Strings())
	}
	if v, _ := c.Lookup("one"); !cmp.Equal(v.Strings(), []string{"z"}) {
		t.Errorf("one string %v", v.Strings())
	}
	if v, ok := c.Lookup(""); !ok || !v.IsObject() {
		t.Error("the empty path is the whole config")
	}
	if b, ok := func() (bool, bool) { v, _ := c.Lookup("t"); return v.Bool() }(); !b || !ok {
		t.Error("true is not true")
	}
	for _, path := range []string{"b", "a.b.c.d", "a.list.0", "s.x", "a..b", "n.x"} {
		if v, ok := c.Lookup(path); ok {
			t.Errorf("%s is %s", path, v)
		}
	}
	if diff := cmp.Diff([]string{"b", "list", ""}, c.Names("a")); diff != "" {
		t.Error(diff)
	}
	var none *Config
	if _, ok := none.Lookup("a"); ok {
		t.Error("a config that is not there has a value")
	}
}

func TestCodeFiles(t *testing.T) {
	if diff := cmp.Diff([]string{"configuration_kimi_k3.py", "modeling_kimi_k3.py", "modeling_kimi_linear.py"}, readConfig(t, "k3-config.json").CodeFiles()); diff != "" {
		t.Error(diff)
	}
	c := mustConfig(t, `{"auto_map": {"AutoTokenizer": ["tok.Slow", null], "AutoModel": "other/repo--m.M", "A": "../x.Y", "B": 4, "C": ".z", "D": "plain"}}`)
	if diff := cmp.Diff([]string{"tok.py"}, c.CodeFiles()); diff != "" {
		t.Error(diff)
	}
	if files := mustConfig(t, `{"auto_map": 4}`).CodeFiles(); len(files) > 0 {
		t.Error(files)
	}
}
