package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

const goodManifest = `{"schema":"ckpt.handoff/v1","hold":"00","source":{"path":"k3","format":"safetensors","fingerprint":"sha256:00"},
"profile":"kimi-k3","layout":"engine","a_log":"stored","tp":2,"ep":1,"pp":1,
"verify":{"mode":"source","algorithm":"xxh3-128","status":"recorded","reference":"none"},
"arenas":[{"arena":1,"rank":1,"stage":0,"device":"host","kind":"memfd","descriptor":1,"bytes":8192,"used_bytes":512,"canaries":[{"offset":512,"hex":"0011"}]}],
"orders":[[1,0]],
"tensors":[
{"name":"a","rank":1,"arena":1,"dtype":"BF16","shape":[2,4],"strides":[4,1],"offset":0,"bytes":16,"global_shape":[4,4],"axis":0,"range":[2,4],"replicated":false,"layout":"slice",
 "sources":[{"name":"a","file":"f","offset":8,"bytes":32}]},
{"name":"b","rank":1,"arena":1,"dtype":"U8","shape":[2],"strides":[1],"offset":256,"bytes":256,"global_shape":[2],"axis":null,"replicated":true,"layout":"slice","new_field":1,
 "sources":[{"name":"e.0","file":"f","offset":100,"bytes":1,"count":2,"stride":10,"order":1}]}]}`

func TestParseManifest(t *testing.T) {
	m, err := ParseManifest([]byte(goodManifest))
	if err != nil {
		t.Fatal(err)
	}
	if m.Tensors[0].Range[1] != 4 || m.Tensors[1].Axis != nil || m.Arenas[0].Canaries[0].Hex != "0011" {
		t.Errorf("%+v", m)
	}
}

// That one arena is one allocation was assumed by a reader, and was not so: a
// manifest lists allocations, and each tensor lies in one.
func TestFaultModelExpress634EachTensorLiesInOneAllocation(t *testing.T) {
	for name, edit := range map[string][2]string{
		"in no arena":         {`"name":"b","rank":1,"arena":1`, `"name":"b","rank":1,"arena":0`},
		"of another rank":     {`"name":"b","rank":1`, `"name":"b","rank":0`},
		"beyond what is used": {`"offset":256,"bytes":256`, `"offset":256,"bytes":257`},
		"before it":           {`"offset":256,"bytes":256`, `"offset":-1,"bytes":256`},
		"beyond all numbers":  {`"offset":256,"bytes":256`, `"offset":9223372036854775807,"bytes":256`},
		"over another":        {`"offset":256,"bytes":256`, `"offset":15,"bytes":256`},
		"bytes below 0":       {`"offset":256,"bytes":256`, `"offset":256,"bytes":-1`},
	} {
		refuses(t, name, edit)
	}
}

func refuses(t *testing.T, name string, edit [2]string) {
	t.Helper()
	text := strings.Replace(goodManifest, edit[0], edit[1], 1)
	if text == goodManifest {
		t.Fatalf("%s: nothing is edited", name)
	}
	if m, err := ParseManifest([]byte(text)); !errors.Is(err, ErrManifest) || m != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func TestParseManifestRefuses(t *testing.T) {
	for name, edit := range map[string][2]string{
		"schema":                 {`handoff/v1`, `handoff/v2`},
		"field twice":            {`"tp":2`, `"tp":2,"tp":4`},
		"other case":             {`"schema"`, `"Schema"`},
		"more used than there":   {`"bytes":8192`, `"bytes":511`},
		"no way to open":         {`"descriptor":1,`, ``},
		"two ways to open":       {`"descriptor":1,`, `"descriptor":1,"handle":"00",`},
		"handle that is none":    {`"descriptor":1,`, `"handle":"0",`},
		"descriptor below 0":     {`"descriptor":1,`, `"descriptor":-1,`},
		"canary that is none":    {`"hex":"0011"`, `"hex":"xx"`},
		"canary outside":         {`"offset":512,"hex"`, `"offset":8191,"hex"`},
		"canary before":          {`"offset":512,"hex"`, `"offset":-1,"hex"`},
		"strides":                {`"strides":[4,1]`, `"strides":[4]`},
		"axis":                   {`"axis":0`, `"axis":2`},
		"axis below 0":           {`"axis":0`, `"axis":-1`},
		"range":                  {`"range":[2,4]`, `"range":[4,2]`},
		"range of three":         {`"range":[2,4]`, `"range":[1,2,4]`},
		"range without axis":     {`"axis":0,"range"`, `"axis":null,"range"`},
		"order that is not":      {`"order":1`, `"order":2`},
		"order of other length":  {`"orders":[[1,0]]`, `"orders":[[1,0,2]]`},
		"source before its file": {`"offset":100`, `"offset":-100`},
		"arena below 0":          {`"arenas":[{"arena":1`, `"arenas":[{"arena":-1`},
		"rest":                   {`"order":1}]}]}`, `"order":1}]}]} {}`},
		"cut off":                {`"order":1}]}]}`, `"order":1}]}`},
	} {
		refuses(t, name, edit)
	}
	arena := `{"arena":1,"rank":1,"stage":0,"device":"host","kind":"memfd","descriptor":1,"bytes":8192,"used_bytes":512,"canaries":[]},`
	refuses(t, "arena twice", [2]string{`"arenas":[`, `"arenas":[` + arena})
}

// A manifest that is taken can be used: every place it names is in its arena, and
// it says the same when it is written again.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(goodManifest))
	f.Add([]byte(`{"schema":"ckpt.handoff/v1","arenas":[],"tensors":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			return
		}
		for i := range m.Tensors {
			x := &m.Tensors[i]
			k, ok := m.arena(x.Arena)
			if !ok || x.Offset < 0 || x.Bytes < 0 || x.Offset+x.Bytes < 0 || x.Offset+x.Bytes > m.Arenas[k].Bytes {
				t.Fatalf("%+v", x)
			}
		}
		for _, a := range m.Arenas {
			for _, c := range a.Canaries {
				if end := c.Offset + int64(len(c.Hex)/2); c.Offset < 0 || end < 0 || end > a.Bytes {
					t.Fatalf("%+v", c)
				}
			}
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseManifest(again); err != nil {
			t.Fatal(err)
		}
	})
}

// Lines of either side are taken or refused, whatever they are.
func FuzzProtocol(f *testing.F) {
	for _, line := range []string{
		`{"schema":"ckpt.handoff/v1","ranks":[0,3]}`, `{"schema":"ckpt.handoff/v1","manifest_bytes":7,"descriptors":2}`,
		`{"error":"no"}`, `{"commit":"00"}`, `{"committed":true}`, `[]`, ``,
	} {
		f.Add([]byte(line), 2)
	}
	f.Fuzz(func(t *testing.T, line []byte, descriptors int) {
		if r, err := ParseRequest(line); err == nil && (r.Schema != Schema || len(r.Ranks) > MaxRanks) {
			t.Errorf("%+v", r)
		}
		if a, err := parseAnswer(line, descriptors); err == nil && (a.Descriptors < 1 || a.ManifestBytes < 0 || a.Error != "") {
			t.Errorf("%+v", a)
		}
		if _, err := ParseCommit(line); err != nil && !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
		if err := parseCommitted(line); err != nil && !errors.Is(err, ErrProtocol) && !errors.As(err, new(*RefusedError)) {
			t.Error(err)
		}
	})
}
