package audit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An audit writes nothing: contents, times, inodes and their number stay, of
// sound checkpoints and of spoilt ones, at both levels.
func TestAuditWritesNothing(t *testing.T) {
	for name, spoil := range map[string]func(*kit){
		"good":      func(*kit) {},
		"shard cut": func(k *kit) { k.edit(shard(3), func(b []byte) []byte { return b[:len(b)/2] }) },
		"index cut": func(k *kit) { k.edit(indexName, func(b []byte) []byte { return b[:100] }) },
		"no config": func(k *kit) { k.remove("config.json") },
		"partial":   func(k *kit) { k.rename(shard(3), shard(3)+".incomplete") },
	} {
		t.Run(name, func(t *testing.T) {
			k := mini(t)
			spoil(k)
			before := tree(t, k.dir)
			for _, level := range []Level{LevelMetadata, LevelHeaders} {
				k.audit("", Options{Level: level, Jobs: 4})
				k.audit(shard(5), Options{Level: level})
			}
			if diff := cmp.Diff(before, tree(t, k.dir)); diff != "" {
				t.Errorf("the audit changed the directory:\n%s", diff)
			}
		})
	}
}
