package loader

import (
	"bytes"
	"errors"
	"strings"
	"testing"
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
		{"b.saf", "a.saf"}, {"}]}\n", "}]} 1"}, {"]}]}\n", "]}]"}, {`"files":[`, `"files":{`}, {`"name":"b.safetensors"`, `"name":""`},
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
