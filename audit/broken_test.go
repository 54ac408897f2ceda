package audit

import (
	"fmt"
	"strings"
	"testing"
)

// Cases that were found by breaking the audit: each gave a pass, or a hundred
// consequences of one cause.

func TestLostShardBehindAnUnusableIndex(t *testing.T) {
	for _, index := range []string{"{", `{"metadata": {"total_size": 0}, "weight_map": {}}`, `{"weight_map": {"a": 1}}`} {
		k := mini(t)
		k.text(indexName, index)
		k.remove(shard(3))
		r := k.wants(Options{}, "IX001 error index", "IX007 error #3")
		if want := fmt.Sprint([]string{shard(3), indexName}); fmt.Sprint(r.Refetch) != want {
			t.Errorf("%s: refetch %v, want %v", index, r.Refetch, want)
		}
		if n := *r.Stats.MissingShards; n != 1 {
			t.Errorf("%s: %d missing shards", index, n)
		}
	}
}

func TestNumberOutOfRange(t *testing.T) {
	for _, to := range []string{"model-00012-of-000011.safetensors", "model-00000-of-000011.safetensors"} {
		k := mini(t)
		k.remove(indexName)
		k.rename(shard(3), to)
		r := k.audit("", Options{})
		got := strings.Join(found(r), "\n")
		// From 0 to 10 the set would be whole if number 11 were the one that is gone.
		if r.Verdict != Fail || !strings.Contains(got, "IX007 error") {
			t.Errorf("%s: %s\n%s", to, r.Verdict, got)
		}
	}
}

func TestNothingReadIsNoPass(t *testing.T) {
	k := mini(t)
	for n := 1; n <= 11; n++ {
		k.remove(shard(n))
	}
	r := k.audit("", Options{})
	for _, c := range r.Checks {
		if c.Status == StatusPass && (strings.HasPrefix(c.ID, "ST") || strings.HasPrefix(c.ID, "QT") || c.ID == "MD003" || c.ID == "MD004" ||
			c.ID == "MD006" || c.ID == "FS003" || c.ID == "FS012" || c.ID == "FS018" || c.ID == "IX003") {
			t.Errorf("%s passes and no header was read", c.ID)
		}
	}
}

func TestShardStandsForItsOwnSet(t *testing.T) {
	k := mini(t)
	k.remove(indexName)
	for n := 1; n <= 11; n++ {
		if n != 3 {
			k.write(strings.Replace(shard(n), "model-", "alt-", 1), k.read(shard(n)))
		}
	}
	r := k.audit(shard(1), Options{})
	if got := strings.Join(found(r), "\n"); r.Verdict != Pass || strings.Contains(got, "IX005") {
		t.Errorf("%s:\n%s", r.Verdict, got)
	}
}

func TestForeignFileStandsForItself(t *testing.T) {
	k := mini(t)
	k.text("notes.txt", "to do: buy eight GPUs\n")
	r := k.audit("notes.txt", Options{})
	if got := strings.Join(found(r), "\n"); r.Verdict != Fail || got != "FS006 error notes.txt" {
		t.Errorf("%s:\n%s", r.Verdict, got)
	}
}
