package jsonedit

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Every value of a text that Find accepts is where its pointer says, as a
// reader that shares no code sees it, and can be replaced.
func FuzzFind(f *testing.F) {
	for _, s := range []string{sample, `[]`, `{"a":{"":[1,{"~/":"\\"}]}}`, ` "x" `, `[[[[]]],"[",-0.5e+1,true]`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, _, err := Find(text, "/absent"); err != nil {
			return
		}
		var doc any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&doc) != nil {
			t.Fatalf("accepted: %s", text)
		}
		check(t, text, "", doc)
	})
}

func check(t *testing.T, text []byte, pointer string, want any) {
	raw, ok, err := Find(text, pointer)
	if err != nil || !ok {
		t.Fatalf("%q: %v %v", pointer, ok, err)
	}
	var got any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: %s, not %v (%v)", pointer, raw, want, err)
	}
	replaced, err := Replace(text, []Edit{{pointer, "null"}})
	if err != nil || !json.Valid(replaced) {
		t.Fatalf("%q replaced: %s (%v)", pointer, replaced, err)
	}
	switch v := want.(type) {
	case map[string]any:
		for name, member := range v {
			check(t, text, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), member)
		}
	case []any:
		for i, element := range v {
			check(t, text, pointer+"/"+strconv.Itoa(i), element)
		}
	}
}
