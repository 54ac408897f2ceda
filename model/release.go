package model

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Release is an official release as a profile records it. Zero values mean
// that the profile does not know.
type Release struct {
	Repo     string `json:"repo"`     // "moonshotai/Kimi-K3"
	Revision string `json:"revision"` // of the repository, the one with these files

	Totals       ReleaseTotals `json:"totals"`
	ConfigSHA256 string        `json:"config_sha256"`
	ConfigBytes  int64         `json:"config_bytes"`
	IndexSHA256  string        `json:"index_sha256"`
	IndexBytes   int64         `json:"index_bytes"`
	Files        []ReleaseFile `json:"files"`

	identity []condition
	when     *expr
	whenText string
}

// ReleaseTotals counts what an official release holds. Sizes are in bytes.
type ReleaseTotals struct {
	Tensors          int64 `json:"tensors"`
	LanguageTensors  int64 `json:"language_tensors"`
	VisionTensors    int64 `json:"vision_tensors"`
	ProjectorTensors int64 `json:"projector_tensors"`
	ExpertTensors    int64 `json:"expert_tensors"` // of routed experts, scales counted
	TotalSize        int64 `json:"total_size"`     // payload; the index's metadata.total_size
	TextBytes        int64 `json:"text_bytes"`     // payload of the language tower
	Files            int64 `json:"files"`
	FileBytes        int64 `json:"file_bytes"` // payload and headers
}

// ReleaseFile is one weight file of an official release.
type ReleaseFile struct {
	Name         string `json:"name"`
	Bytes        int64  `json:"bytes"`
	HeaderLen    int64  `json:"header_len"`    // JSON with its padding, without the 8 bytes before it
	HeaderSHA256 string `json:"header_sha256"` // of these HeaderLen bytes
	SHA256       string `json:"sha256"`        // of the whole file
}

// File finds a file of the release by name.
func (r *Release) File(name string) (*ReleaseFile, bool) {
	for i := range r.Files {
		if r.Files[i].Name == name {
			return &r.Files[i], true
		}
	}
	return nil, false
}

// releaseDocument is the JSON of a release.
type releaseDocument struct {
	Repo         string          `json:"repo"`
	Revision     string          `json:"revision"`
	When         string          `json:"when"`
	Identity     []conditionJSON `json:"identity"`
	Totals       ReleaseTotals   `json:"totals"`
	ConfigSHA256 string          `json:"config_sha256"`
	ConfigBytes  int64           `json:"config_bytes"`
	IndexSHA256  string          `json:"index_sha256"`
	IndexBytes   int64           `json:"index_bytes"`
	Files        []ReleaseFile   `json:"files"`
}

func (c *compiler) release() error {
	doc := c.doc.Release
	if doc == nil {
		return nil
	}
	if len(doc.Identity) == 0 {
		return errors.New("release.identity: a release is known by its fields, and none is given")
	}
	identity, err := c.conditionList("release.identity", doc.Identity)
	if err != nil {
		return err
	}
	when, err := c.names.optional(doc.When)
	if err != nil {
		return placed(err, "release.when")
	}
	for field, sum := range map[string]string{"config_sha256": doc.ConfigSHA256, "index_sha256": doc.IndexSHA256} {
		if !isSHA256(sum) {
			return fmt.Errorf("release.%s: %.80q is no SHA-256", field, sum)
		}
	}
	for i, f := range doc.Files {
		if f.Name == "" || f.Bytes < 0 || f.HeaderLen < 0 || !isSHA256(f.HeaderSHA256) || !isSHA256(f.SHA256) {
			return fmt.Errorf("release.files[%d]: a name, sizes from 0 and SHA-256 in hex are needed", i)
		}
	}
	c.p.Release = &Release{Repo: doc.Repo, Revision: doc.Revision, Totals: doc.Totals,
		ConfigSHA256: doc.ConfigSHA256, ConfigBytes: doc.ConfigBytes,
		IndexSHA256: doc.IndexSHA256, IndexBytes: doc.IndexBytes, Files: doc.Files,
		identity: identity, when: when, whenText: doc.When}
	return nil
}

// isSHA256 accepts a hash in hex, or none.
func isSHA256(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && (len(b) == 32 || len(b) == 0)
}

// differences lists the fields in which the config is not that of the release.
func (r *Release) differences(p *Profile, at *located, in *scope) []ConfigProblem {
	var list []ConfigProblem
	for i := range r.identity {
		c := &r.identity[i]
		if ok, path, actual := c.holds(at); !ok {
			list = append(list, ConfigProblem{Field: path, Expected: c.expected(), Actual: actual,
				Msg: fmt.Sprintf("%s is %s; the release of %s has %s", path, actual, p.Title, c.expected())})
		}
	}
	if r.when != nil {
		if n, err := r.when.eval(in); err != nil || n == 0 {
			list = append(list, ConfigProblem{Field: "config.json", Expected: r.whenText, Actual: "not so",
				Msg: fmt.Sprintf("config.json is without a part that the release of %s has: %s", p.Title, r.whenText)})
		}
	}
	return list
}

// InstantiateRelease gives the profile the sizes of the official release in
// place of those of the config, for a checkpoint whose files are known to be
// official: then a difference is a fault of the config and not another size.
// The problems are these differences. The instance is nil, and so are the
// problems, when the profile records no release.
func (p *Profile) InstantiateRelease(v View) (*Instance, []ConfigProblem) {
	if p.Release == nil || v.Config == nil {
		return nil, nil
	}
	own, problems := p.Instantiate(v)
	if own != nil && own.Release != nil {
		return own, problems
	}
	in, rest := p.instantiate(v, p.Release.values())
	at, _ := p.locate(v.Config)
	found := scope{ints: map[string]int64{}}
	for _, s := range p.sections {
		_, there := at.base[s.name]
		found.ints[s.name] = truth(there)
	}
	return in, append(p.Release.differences(p, at, &found), rest...)
}

// values gives what the release has at each of its identifying places.
func (r *Release) values() map[ref]jsontext.Value {
	values := make(map[ref]jsontext.Value, len(r.identity))
	for i := range r.identity {
		if c := &r.identity[i]; c.equals != nil {
			values[c.paths[0]] = c.equals
		}
	}
	return values
}
