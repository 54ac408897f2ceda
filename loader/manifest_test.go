package loader

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"ckpt/shard"
)

const manifestText = `{"schema":"ckpt.manifest/v1","algorithm":"xxh3-128","files":[
{"name":"a.safetensors","bytes":200,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","tensors":[
{"name":"x","bytes":8,"hash":"99aa06d3014798d86001c324468d497f"},
{"name":"y","bytes":0,"hash":"99aa06d3014798d86001c324468d497f"}]},
{"name":"b.safetensors","bytes":100,"tensors":[]}]}
`

func TestReadManifest(t *testing.T) {
	m, err := ReadManifest(strings.NewReader(manifestText))
	if err != nil || len(m.Files) != 2 || m.Files[0].Tensors[1].Name != "y" || m.Files[0].Tensors[0].XXH3[0] != 0x99 {
		t.Fatal(m, err)
	}
	for _, change := range [][2]string{
		{"ckpt.manifest/v1", "ckpt.manifest/v2"}, {"xxh3-128", "crc"}, {"99aa", "99AA"}, {"99aa", "99"}, {"e3b0", "e3b"},
		{`"bytes":8`, `"bytes":-8`}, {`"bytes":8`, `"bytes":201`}, {`"bytes":8`, `"bytes":8,"bytes":8`}, {`"bytes":8`, `"bytes":8,"more":1`},
		{"b.saf", "a.saf"}, {`"name":"y"`, `"name":"x"`}, {`100,"tensors":[]`, `100,"tensors":[{"name":"x","bytes":8,"hash":"99aa06d3014798d86001c324468d497f"}]`}, {"}]}\n", "}]} 1"}, {"]}]}\n", "]}]"}, {`"files":[`, `"files":{`}, {`"name":"b.safetensors"`, `"name":""`},
	} {
		bad := strings.Replace(manifestText, change[0], change[1], 1)
		if bad == manifestText {
			t.Fatal(change)
		}
		if _, err := ReadManifest(strings.NewReader(bad)); !errors.Is(err, ErrManifest) {
			t.Errorf("%q for %q: %v", change[1], change[0], err)
		}
	}
}

func FuzzReadManifest(f *testing.F) {
	f.Add([]byte(manifestText))
	f.Add([]byte(`{"schema":"ckpt.manifest/v1","algorithm":"xxh3-128","files":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadManifest(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, ErrManifest) || m != nil {
				t.Fatal(err)
			}
			return
		}
		var text, again bytes.Buffer
		if err := m.Write(&text); err != nil {
			t.Fatal(err)
		}
		back, err := ReadManifest(bytes.NewReader(text.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := back.Write(&again); err != nil || !bytes.Equal(text.Bytes(), again.Bytes()) {
			t.Fatal(err)
		}
	})
}

// What a manifest says otherwise, or not at all, is a failure, and counted.
func TestManifestSaysOtherwise(t *testing.T) {
	dir, p := mini(t, shard.Topology{TP: 2}, shard.Options{})
	host := NewHost()
	o := small(host)
	o.SHA256 = true
	l, _, err := Load(t.Context(), p, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	recorded := l.Manifest()
	closeAll(t, l)
	all := wantedTensors(p)
	for _, c := range []struct {
		name     string
		sha      bool
		change   func(m *Manifest)
		failures int64
	}{
		{"nothing", true, func(m *Manifest) {}, 0},
		{"size of a file", false, func(m *Manifest) { m.Files[0].Bytes++ }, 1},
		{"size not given", false, func(m *Manifest) { m.Files[0].Bytes = 0 }, 0},
		{"name of a file", true, func(m *Manifest) { m.Files[0].Name = "other" }, 2},
		{"name of a file that is not hashed", false, func(m *Manifest) { m.Files[0].Name = "other" }, 0},
		{"SHA-256 missing", true, func(m *Manifest) { m.Files[0].SHA256 = "" }, 1},
		{"SHA-256 not asked for", false, func(m *Manifest) { m.Files[0].SHA256 = "" }, 0},
		{"no tensors", false, func(m *Manifest) {
			for i := range m.Files {
				m.Files[i].Tensors = nil
			}
		}, all},
		{"nothing at all", true, func(m *Manifest) { m.Files = nil }, all + int64(len(p.Source.Files))},
	} {
		m := &Manifest{Files: slices.Clone(recorded.Files)}
		c.change(m)
		o.Manifest, o.SHA256 = m, c.sha
		l, r, err := Load(t.Context(), p, dir, o)
		if r == nil || r.Verify.Failures != c.failures || (c.failures > 0) != errors.Is(err, ErrVerify) || (err != nil) != (l == nil) {
			t.Fatalf("%s: %v, %+v", c.name, err, r)
		}
		closeAll(t, l)
	}
	closeAll(t, nil, host)
}
