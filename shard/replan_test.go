package shard

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A plan comes out as it was, a part of one too; and its text is not believed
// where the rules say otherwise, proven or not.
func TestReplan(t *testing.T) {
	dir := mini(t)
	c, m := openAt(t, dir, "auto")
	first := func(name []byte) bool { return bytes.Contains(name, []byte("layers.0.")) }
	for name, o := range map[string]Options{
		"engine": {}, "as stored": {Layout: LayoutCheckpoint}, "heads": {ALog: ALogHeads}, "a part": {Keep: first},
	} {
		p := again(t, planOf(t, c, m, Topology{TP: 2}, o))
		if list, err := p.Replan(c, m); err != nil || len(list) > 0 {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}

	var text bytes.Buffer
	if err := planOf(t, c, m, Topology{TP: 2}, Options{}).Write(&text, false); err != nil {
		t.Fatal(err)
	}
	swapped := strings.NewReplacer("attn_k_a.weight", "attn_k_b.weight", "attn_k_b.weight", "attn_k_a.weight",
		"blk.{i}.ffn_norm.weight", "blk.{i}.attn_norm.weight", "blk.{i}.attn_norm.weight", "blk.{i}.ffn_norm.weight").Replace(text.String())
	if swapped == text.String() {
		t.Fatal("nothing to swap")
	}
	p, err := Read(strings.NewReader(swapped))
	if err != nil {
		t.Fatal(err)
	}
	prove(t, p)
	if err := p.Check(c); err != nil {
		t.Fatalf("the sources are as they were, yet: %v", err)
	}
	if list, err := p.Replan(c, m); err != nil || len(list) == 0 {
		t.Errorf("swapped names: %v, %v", list, err)
	}

	_, plain := openAt(t, dir, "none")
	if list, err := p.Replan(c, plain); err != nil || len(list) != 1 || list[0].What != "profile" {
		t.Errorf("another profile: %v, %v", list, err)
	}
}

// The config says where parts begin, and the fingerprint does not cover it.
func TestReplanSeesAnotherConfig(t *testing.T) {
	dir := mini(t)
	c, m := openAt(t, dir, "auto")
	p := planOf(t, c, m, Topology{TP: 2}, Options{ALog: ALogHeads})
	path := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(text, []byte(`"qk_nope_head_dim": 32`), []byte(`"qk_nope_head_dim": 48`), 1)
	other = bytes.Replace(other, []byte(`"v_head_dim": 32`), []byte(`"v_head_dim": 16`), 1)
	if bytes.Equal(other, text) {
		t.Fatal("the config has no such fields")
	}
	if err := os.WriteFile(path, other, 0o644); err != nil {
		t.Fatal(err)
	}
	c, m = openAt(t, dir, "kimi-k3")
	if err := p.Check(c); err != nil {
		t.Fatalf("the files are as they were, yet: %v", err)
	}
	if list, err := p.Replan(c, m); err == nil && len(list) == 0 {
		t.Error("heads that are cut elsewhere change nothing")
	}
}
