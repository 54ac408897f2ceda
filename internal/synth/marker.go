package synth

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ckpt/internal/newfile"
)

// marker is the document of MarkerFile. It carries no time, host or path, so
// that equal work gives equal bytes.
type marker struct {
	Schema  string `json:"schema"`
	Family  string `json:"family"`
	Preset  string `json:"preset"`
	Seed    uint64 `json:"seed"`
	Layers  int    `json:"layers"`
	Experts int    `json:"experts"`
}

func (p *plan) writeMarker(out *newfile.Directory) error {
	m := marker{"ckpt.synth/v1", p.result.Family, p.result.Preset, p.opts.Seed, p.result.Layers, p.result.Experts}
	return writeJSON(out, MarkerFile, m)
}

// writeManifest lists the files in the place of an index.
func (p *plan) writeManifest(out *newfile.Directory) error {
	m := struct {
		Format  string   `json:"format"`
		Tensors int      `json:"tensor_count"`
		Bytes   int64    `json:"logical_bytes"`
		Files   []string `json:"files"`
	}{Format: p.layout.Manifest.Format, Tensors: p.result.Tensors, Bytes: p.result.TotalSize}
	for _, s := range p.shards {
		m.Files = append(m.Files, s.name)
	}
	return writeJSON(out, p.layout.Manifest.File, m)
}

func writeJSON(out *newfile.Directory, name string, v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return out.Write(name, append(text, '\n'))
}
