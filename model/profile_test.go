package model

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEmbeddedProfiles(t *testing.T) {
	list := Embedded()
	if len(list) != len(Names()) {
		t.Fatalf("%d profiles of %d", len(list), len(Names()))
	}
	for i, name := range Names() {
		p, ok := Named(name)
		if !ok || p != list[i] || p.Name != name || p.Title == "" || len(p.Companions) == 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	files, err := filepath.Glob("profiles/*.json")
	if err != nil || len(files) != len(list) {
		t.Errorf("%d files for %d profiles, %v", len(files), len(list), err)
	}
	if _, ok := Named("../profiles/llama"); ok {
		t.Error("a path is a name")
	}
}

const minimal = `{"schema":"ckpt.profile/v1","name":"x","title":"X",
 "sections":[{"name":"text","at":[""]}],
 "prefixes":[{"name":"lm","options":["model."]}],
 "match":{"config":[{"paths":["text:model_type"],"equals":"x"}],"names":["{lm}norm.weight"]},
 "fields":[{"name":"layers","paths":["text:n"],"min":1,"max":8},{"name":"hidden","paths":["text:h"],"min":1,"max":64}],
 "sets":[{"name":"all","from":"0","to":"layers"}],
 "families":[{"pattern":"{lm}norm.weight","tower":"language","group":"g","role":"norm","dtypes":["F32"],"shapes":[["hidden"]]},
  {"pattern":"{lm}layers.{i}.w","tower":"language","group":"g","role":"w","dtypes":["F32","BF16"],"shapes":[["hidden",2]],"layers":"all"}]}`

func TestMinimalProfile(t *testing.T) {
	p, err := ParseProfile([]byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	in := instantiate(t, p, View{Config: mustConfig(t, `{"n":3,"h":5}`)})
	want := Totals{Tensors: 4, Bytes: 20 + 3*40, Towers: map[string]TowerTotals{"language": {4, 140}}}
	if diff := cmp.Diff(want, in.Totals()); diff != "" {
		t.Error(diff)
	}
}

func TestDefinitions(t *testing.T) {
	text := strings.Replace(minimal, `"sets":`, `"let":[{"name":"half","expr":"hidden / 2"},{"name":"never","expr":"1 / 0","when":"hidden > 64"}],"sets":`, 1)
	p, err := ParseProfile([]byte(strings.Replace(text, `["hidden"]`, `["half"]`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	in := instantiate(t, p, View{Config: mustConfig(t, `{"n":3,"h":6}`)})
	f, ok := in.Family("model.norm.weight")
	if _, defined := in.Vars["never"]; defined || !ok || f.Sizes()[0] != 3 {
		t.Errorf("%v, %+v", in.Vars, f)
	}
	if in, problems := p.Instantiate(View{Config: mustConfig(t, `{"n":3,"h":5}`)}); in != nil || !hasBounds(problems, "half") {
		t.Errorf("half of 5: %+v", problems)
	}
}

// One name may belong to one family only; which, nobody could tell.
func TestFamiliesShareNoName(t *testing.T) {
	twice := strings.Replace(minimal, `{"pattern":"{lm}layers.{i}.w"`, `{"pattern":"{lm}layers.2.w","tower":"language","group":"g","role":"w","dtypes":["F32"],"shapes":[["hidden"]]},{"pattern":"{lm}layers.{i}.w"`, 1)
	p, err := ParseProfile([]byte(twice))
	if err != nil {
		t.Fatal(err)
	}
	if in, problems := p.Instantiate(View{Config: mustConfig(t, `{"n":3,"h":5}`)}); in != nil || len(problems) != 1 {
		t.Errorf("%+v", problems)
	}
}

// Every error says where in the profile it is.
func TestProfileErrorsNameTheField(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"ckpt.profile/v1"`, `"ckpt.profile/v2"`, "schema"},
		{`"name":"x"`, `"name":""`, "name"},
		{`"name":"x"`, `"name":"a/b"`, "name"},
		{`"title":"X"`, `"title":"X","titel":"Y"`, "titel"},
		{`"title":"X"`, `"title":"X","title":"Y"`, "title"},
		{`"title":"X"`, `"title":4`, "/title"},
		{`"min":1,"max":8`, `"min":1,"max":9223372036854775808`, "/fields/0/max"},
		{`"min":1,"max":8`, `"min":9,"max":8`, "fields[0] (layers): max"},
		{`"paths":["text:h"]`, `"paths":["h"]`, "fields[1] (hidden): paths"},
		{`"paths":["text:h"]`, `"paths":[]`, "fields[1] (hidden): paths"},
		{`"paths":["text:h"]`, `"paths":["vision:h"]`, "fields[1] (hidden): paths"},
		{`"name":"hidden"`, `"name":"layers"`, "fields[1] (layers)"},
		{`"name":"hidden"`, `"name":"hid den"`, "fields[1]"},
		{`"name":"hidden"`, `"name":"hidden","type":"float"`, "type"},
		{`"name":"hidden"`, `"name":"hidden","type":"ints"`, "longest"},
		{`"name":"hidden"`, `"name":"hidden","default":"later"`, "default"},
		{`"to":"layers"`, `"to":"layers +"`, "sets[0] (all)"},
		{`"to":"layers"`, `"list":"layers"`, "sets[0] (all)"},
		{`[["hidden"]]`, `[["hiden"]]`, "families[0] ({lm}norm.weight): shapes: [0][0]"},
		{`[["hidden"]]`, `[[1.5]]`, "families[0] ({lm}norm.weight): shapes: [0][0]"},
		{`[["hidden"]]`, `[[true]]`, "families[0] ({lm}norm.weight): shapes: [0][0]"},
		{`[["hidden"]]`, `[[{"min":"hidden","most":"9"}]]`, "families[0] ({lm}norm.weight): shapes: [0][0]"},
		{`[["hidden"]]`, `[]`, "families[0] ({lm}norm.weight): shapes"},
		{`[["hidden",2]]`, `[["hidden",1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]]`, "families[1]"},
		{`"dtypes":["F32"]`, `"dtypes":["F33"]`, "families[0] ({lm}norm.weight): dtypes"},
		{`"dtypes":["F32"]`, `"dtypes":[]`, "families[0] ({lm}norm.weight): dtypes"},
		{`"layers":"all"`, `"layers":"none"`, "families[1] ({lm}layers.{i}.w): layers"},
		{`,"layers":"all"`, ``, "families[1] ({lm}layers.{i}.w): pattern"},
		{`{lm}layers.{i}.w`, `{lm}layers.w`, "families[1] ({lm}layers.w): pattern"},
		{`{lm}layers.{i}.w`, `{lm}layers.x{i}.w`, "families[1]"},
		{`{lm}layers.{i}.w`, `{lm}layers.{i}.{i}`, "families[1]"},
		{`{lm}layers.{i}.w`, `{lm}1.2.3.{i}.w`, "families[1]"},
		{`{lm}layers.{i}.w`, `{ml}layers.{i}.w`, "families[1]"},
		{`{lm}layers.{i}.w`, `{lm}layers.{i.w`, "families[1]"},
		{`"options":["model."]`, `"options":[]`, "prefixes[0]"},
		{`"equals":"x"`, `"equals":{}`, "match.config[0]"},
		{`"equals":"x"`, `"equals":"x","present":true`, "match.config[0]"},
		{`"role":"norm"`, `"role":"norm","axis":-1`, "axis"},
		{`"role":"norm"`, `"role":"norm","scale":{"pattern":"z","group":32}`, "scale"},
		{`"role":"norm"`, `"role":"norm","engine":{"names":["a","b"],"shapes":[[1]]}`, "engine: shapes"},
		{`"title":"X"`, `"title":"X","tie":{"field":"tied","embedding":"a","head":"b"}`, "tie"},
		{`"title":"X"`, `"title":"X","companions":[{"any_of":["../x"]}]`, "companions[0]"},
		{`"title":"X"`, `"title":"X","partitions":[["some"]]`, "partitions[0]"},
		{`"title":"X"`, `"title":"X","let":[{"name":"y","expr":"z"}]`, "let[0]"},
		{`"title":"X"`, `"title":"X","checks":[{"expr":"z == 1"}]`, "checks[0]"},
		{`"title":"X"`, `"title":"X","release":{"config_sha256":"ab"}`, "release.identity"},
		{`"title":"X"`, `"title":"X","release":{"identity":[{"paths":["text:n"],"equals":1}],"config_sha256":"ab"}`, "release.config_sha256"},
	} {
		text := strings.Replace(minimal, c.old, c.new, 1)
		if text == minimal {
			t.Errorf("%s is not in the profile", c.old)
			continue
		}
		if _, err := ParseProfile([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v does not name %s", c.new, err, c.want)
		}
	}
}

func TestLoadProfile(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.json")
	if err := os.WriteFile(good, []byte(minimal), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := LoadProfile(good); err != nil || p.Name != "x" {
		t.Errorf("%+v, %v", p, err)
	}
	long := filepath.Join(dir, "long.json")
	if err := os.WriteFile(long, bytes.Repeat([]byte(" "), MaxProfile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{long, dir, filepath.Join(dir, "none.json"), "/dev/zero"} {
		if _, err := LoadProfile(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
