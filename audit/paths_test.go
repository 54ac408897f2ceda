package audit

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ckpt/checkpoint"
	ckptfs "ckpt/internal/fs"
)

// A shard, the index and the config stand for their set.
func TestPathsOfASet(t *testing.T) {
	for _, path := range []string{"", "/", indexName, "config.json", shard(5)} {
		k := mini(t)
		k.edit(shard(3), func(b []byte) []byte { return append(b, 1) })
		r := k.audit(path, Options{})
		wantFound(t, r, Fail, append([]string{"FS004 error #3"}, baseline...)...)
		if *r.Stats.Shards != shards {
			t.Errorf("%s: %d shards", path, *r.Stats.Shards)
		}
	}
}

// So does a shard whose link leads nowhere.
func TestPathOfADanglingShard(t *testing.T) {
	k := mini(t)
	k.link("gone", shard(5))
	wantFound(t, k.audit(shard(5), Options{}), Fail, append([]string{"FS009 error #5"}, baseline...)...)
}

func TestPathOfADanglingFile(t *testing.T) {
	k := &kit{t, t.TempDir()}
	k.link("gone", "model.safetensors")
	wantFound(t, k.audit("model.safetensors", Options{}), Fail, "FS009 error model.safetensors")
}

// A file with nothing beside it is audited alone, which waives what concerns
// sets and is no gap.
func TestSingleFile(t *testing.T) {
	k := &kit{t, t.TempDir()}
	k.write("model.safetensors", mini(t).read(shard(3)))
	r := k.audit("model.safetensors", Options{})
	wantFound(t, r, Pass)
	if len(r.Gaps()) > 0 || !strings.Contains(r.Identity, "audited alone") {
		t.Errorf("gaps %v, identity %q", r.Gaps(), r.Identity)
	}
	for _, c := range r.Checks {
		if c.Status == StatusSkip && c.Reason == "" {
			t.Errorf("%s is skipped without a reason", c.ID)
		}
	}
	k.edit("model.safetensors", func(b []byte) []byte { return b[:len(b)-1] })
	r = k.audit("model.safetensors", Options{})
	wantFound(t, r, Fail, "FS003 error model.safetensors L2.E9.w3.weight_scale")
}

// A numbered shard with nothing but its set beside it stands for the set.
func TestShardOfASetAlone(t *testing.T) {
	k := mini(t)
	k.remove("config.json", indexName)
	wantFound(t, k.audit(shard(3), Options{}), Fail, "CF001 error config.json", "CF005 warning x6 chat_template.jinja", "IX008 info")
	k.remove(shard(8))
	wantFound(t, k.audit(shard(3), Options{}), Fail, "CF001 error config.json", "CF005 warning x6 chat_template.jinja", "IX007 error #8", "IX008 info")
}

// What was not checked is never a pass: every check has an end, and a skip its
// reason.
func TestChecksEnd(t *testing.T) {
	for _, level := range []Level{LevelMetadata, LevelHeaders} {
		for _, spoil := range []func(*kit){
			func(*kit) {},
			func(k *kit) { k.remove("config.json") },
			func(k *kit) { k.remove(indexName) },
			func(k *kit) { k.text(indexName, "x") },
			func(k *kit) { k.remove(shard(2)) },
			func(k *kit) { k.text(shard(2), "") },
			func(k *kit) { k.text("config.json", `{"model_type":"other"}`) },
		} {
			k := mini(t)
			spoil(k)
			r := k.audit("", Options{Level: level})
			if len(r.Checks) != len(Codes()) {
				t.Errorf("%d checks of %d codes", len(r.Checks), len(Codes()))
			}
			if gaps := r.Gaps(); len(gaps) > 0 {
				t.Errorf("level %s: %v\n%v", level, gaps, found(r))
			}
			for _, c := range r.Checks {
				if c.Status == StatusSkip && c.Reason == "" {
					t.Errorf("%s is skipped without a reason", c.ID)
				}
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(ctx, mini(t).dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", r, err)
	}
}

// Levels that read payloads come later and are refused by name.
func TestDeepLevelsAreRefused(t *testing.T) {
	for _, level := range []Level{LevelValues, LevelHash} {
		_, err := Run(t.Context(), mini(t).dir, Options{Level: level})
		if !errors.Is(err, ErrLevel) || !strings.Contains(err.Error(), level.String()) {
			t.Errorf("%s: %v", level, err)
		}
	}
}

// A file in many small pieces is told, and blamed for nothing.
func TestFragments(t *testing.T) {
	for runs, want := range map[int]bool{1: false, 99: false, 218: true} {
		f := &checkpoint.File{Name: "model.safetensors", Size: 17_000_000_000, Extents: &ckptfs.Extents{Count: runs, Runs: runs}}
		a := &audit{Checkpoint: &checkpoint.Checkpoint{Files: []*checkpoint.File{f}}, col: NewCollector(CollectorOptions{Level: LevelHeaders})}
		a.checkLayout()
		r := a.col.Report(Subject{})
		if got := len(r.Findings) == 1 && r.Findings[0].ID == "FS017" && r.Findings[0].Severity == Info; got != want {
			t.Errorf("%d pieces: %v", runs, found(r))
		}
	}
}
