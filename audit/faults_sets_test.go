package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The index named a tensor that its shard lacks, and the API let it pass.
func TestFaultHuggingFaceHub4725IndexedAndAbsent(t *testing.T) {
	k := mini(t)
	k.rewrite(shard(3), func(b *body) {
		b.take("language_model.model.layers.2.input_layernorm.weight")
		b.take("language_model.model.layers.2.self_attn.A_log")
	})
	k.rewrite(shard(4), func(b *body) { b.take("language_model.model.layers.3.input_layernorm.weight") })
	r := k.wants(Options{All: true}, "IX003 error x3 #3 L2.input_layernorm.weight")
	if f := r.Findings[0]; len(f.Examples) != 3 || f.Examples[2].File != shard(4) {
		t.Errorf("not one error for each tensor and shard: %+v", f.Examples)
	}
}

// Forty-three scales that the index names existed in no shard: garbage with
// green health.
func TestFaultVLLM57108ScalesInNoShard(t *testing.T) {
	k := mini(t)
	k.rewrite(shard(moeShard), func(b *body) {
		for n := range 43 {
			b.take(fmt.Sprintf("%s%d.w%d.weight_scale", experts1, n/3, n%3+1))
		}
	})
	r := k.wants(Options{}, "IX003 error x43 #2 L1.E0.w1.weight_scale", "QT001 error x43 #2 L1.E0.w1.weight_packed")
	if len(r.Refetch) != 1 || r.Refetch[0] != shard(moeShard) {
		t.Errorf("refetch %v", r.Refetch)
	}
}

// Reused shards held tensors that the index does not give to them, and that
// overwrote good ones.
func TestFaultVLLM54230UnindexedTensors(t *testing.T) {
	k := mini(t)
	var old []piece
	k.rewrite(shard(moeShard), func(b *body) {
		for n := range 16 {
			old = append(old, *b.find(fmt.Sprintf("%s%d.w1.weight_packed", experts1, n)))
		}
	})
	k.rewrite(shard(3), func(b *body) { b.tensors = append(b.tensors, old...) })
	r := k.wants(Options{All: true}, "IX005 error x16 #3 L1.E0.w1.weight_packed")
	if f := r.Findings[0]; len(f.Examples) != 16 {
		t.Errorf("only %d of 16 are named", len(f.Examples))
	}
}

// Shards were lost from a glob, and "all 141 files are present".
func TestFaultSGLang32279WhichNumberIsMissing(t *testing.T) {
	k := mini(t)
	k.remove(indexName, shard(11))
	r := k.wants(Options{}, "IX007 error #11", "IX008 info")
	k.says(r, "number 11 of 11 is missing")
}

func TestFaultColibri1317WhichNumbersAreMissing(t *testing.T) {
	k := mini(t)
	k.remove(indexName, shard(1), shard(7))
	r := k.wants(Options{}, "IX007 error x2 #1", "IX008 info")
	k.says(r, "number 1 of 11 is missing", "number 7 of 11 is missing")
	if len(r.Refetch) != 2 {
		t.Errorf("refetch %v", r.Refetch)
	}
}

// The name of one shard promises a billion: it is counted, not walked.
func TestManyNumbersMissing(t *testing.T) {
	k := mini(t)
	for n := 1; n <= shards; n++ {
		k.rename(shard(n), fmt.Sprintf("model-%d-of-999999999.safetensors", n))
	}
	k.remove(indexName)
	r := k.audit("", Options{})
	if r.Summary.Errors != 999_999_999-shards || len(r.Refetch) > 20_000 {
		t.Errorf("%d errors, %d files to fetch", r.Summary.Errors, len(r.Refetch))
	}
}

// A stale index said 30 shards, 15 of another split existed.
func TestFaultCoSER3StaleIndex(t *testing.T) {
	k := mini(t)
	for n := 1; n <= shards; n++ {
		k.rename(shard(n), fmt.Sprintf("model-%05d-of-00011.safetensors", n))
	}
	r := k.wants(Options{}, "FS002 error x11 #1", "FS013 warning x11 model-00001-of-00011.safetensors")
	if *r.Stats.MissingShards != shards {
		t.Errorf("%d shards are missing", *r.Stats.MissingShards)
	}
}

// Two splits side by side, taken together by a glob.
func TestFaultMLXVLM1464TwoSplits(t *testing.T) {
	k := mini(t)
	for n := 10; n <= shards; n++ {
		k.write(fmt.Sprintf("model-%05d-of-00002.safetensors", n-9), k.read(shard(n)))
	}
	k.wants(Options{}, "FS013 warning x2 model-00001-of-00002.safetensors")
	k.remove(indexName)
	k.wants(Options{}, "IX005 error x18 #10 mm_projector.post_norm.weight", "IX008 info")
}

// A pattern that wanted five digits refused -of-000163.
func TestFaultHuggingFaceJS1817SixDigits(t *testing.T) {
	k := mini(t)
	k.remove(indexName)
	for n := 1; n <= shards; n++ {
		k.rename(shard(n), fmt.Sprintf("model-%06d-of-%07d.safetensors", n, shards))
	}
	k.wants(Options{}, "IX008 info")
	k.remove("model-000004-of-0000011.safetensors")
	k.wants(Options{}, "IX007 error model-000004-of-0000011.safetensors", "IX008 info")
}

// Values such as ../../x were opened.
func TestFaultTransformers47176WeightMapEscapes(t *testing.T) {
	k := mini(t)
	secret := filepath.Join(filepath.Dir(k.dir), "secret.safetensors")
	k.check(os.WriteFile(secret, k.read(shard(3)), 0o644))
	k.remove(shard(3))
	for _, to := range []string{"../secret.safetensors", secret} {
		k.reindex(func(x *indexDoc) {
			for i := range x.pairs {
				if n := x.pairs[i].file; n == shard(3) || strings.Contains(n, "secret") {
					x.pairs[i].file = to
				}
			}
		})
		r := k.wants(Options{}, "FS010 error "+to)
		k.says(r, "was not opened")
	}
}

// A scanner stopped at one bad entry and reported the rest clean.
func TestFaultModelScan354StopsAtOneBadEntry(t *testing.T) {
	k := mini(t)
	k.text(shard(2), "")
	k.text(shard(3), lfsText)
	k.edit(shard(4), func(b []byte) []byte { return b[:len(b)-8] })
	k.rehead(shard(5), func(h *header) { h.entries[3].dtype = "Q9" })
	k.remove(shard(6))
	k.rehead(shard(7), func(h *header) { h.entries[2].name, h.entries[5].name = "a", "b" })
	k.text("pytorch_model.bin", "x")
	r := k.audit("", Options{})
	for _, id := range []string{"FS012", "FS005", "FS003", "ST007", "FS002", "IX003", "IX004", "SE002"} {
		if !strings.Contains(strings.Join(found(r), "\n"), id) {
			t.Errorf("%s is not found", id)
		}
	}
	if diff := fmt.Sprint(r.Refetch); diff != fmt.Sprint([]string{shard(2), shard(3), shard(4), shard(5), shard(6), shard(7)}) {
		t.Errorf("refetch %v", r.Refetch)
	}
}
