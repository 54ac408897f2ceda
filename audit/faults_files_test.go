package audit

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ckpt/internal/synth"
)

// The tests of the faults_ files are named by the public report of the fault,
// in another program, that they keep from happening here.

// wants compares the findings of a copy of the small Kimi K3 with those that a
// fault has to give beyond the baseline.
func (k *kit) wants(opts Options, want ...string) *Report {
	k.Helper()
	t, ok := k.TB.(*testing.T)
	if !ok {
		k.Fatal("no test")
	}
	r := k.audit("", opts)
	m := mutation{want: want, refetch: shortened(r.Refetch)}
	m.judge(t, r)
	return r
}

func shortened(names []string) (out []string) {
	for _, n := range names {
		out = append(out, short(n))
	}
	return out
}

func (k *kit) says(r *Report, words ...string) {
	k.Helper()
	all := messages(r)
	for _, w := range words {
		if !strings.Contains(all, w) {
			k.Errorf("nothing says %q in:\n%s", w, all)
		}
	}
}

// Eight shards of 102 were 301 MB short, and were mapped past their end.
func TestFaultVMLXSwift217ShardsCutShort(t *testing.T) {
	k := mini(t)
	for n := 2; n <= 9; n++ {
		k.edit(shard(n), func(b []byte) []byte { return b[:len(b)-30_100] })
	}
	r := k.wants(Options{All: true}, "FS003 error x8 #2 L1.E9.w2.weight_packed")
	if len(r.Refetch) != 8 {
		t.Errorf("refetch %v", r.Refetch)
	}
	k.says(r, "ends 30,100 bytes early", shard(9))
}

// A downloader ended with status 0 and left a part under another name.
func TestFaultHuggingFaceHub4223IncompleteLeftBehind(t *testing.T) {
	k := mini(t)
	k.rename(shard(6), shard(6)+".incomplete")
	r := k.wants(Options{}, "FS008 error #6")
	if r.ExitStatus() != 3 {
		t.Errorf("exit status %d", r.ExitStatus())
	}
}

// A pointer of Git LFS, read as a header, is "too large".
func TestFaultManyLFSPointerTooLarge(t *testing.T) {
	k := mini(t)
	k.text(shard(2), lfsText)
	r := k.wants(Options{}, "FS005 error #2")
	k.says(r, "oid sha256:4d7a2146", "size 16990911504")
	if strings.Contains(messages(r), "large") {
		t.Error("the length of a header is named")
	}
}

// A zip, a GGUF and a page of HTML under a name of safetensors.
func TestFaultSafetensors414ForeignFormats(t *testing.T) {
	k := mini(t)
	k.write(shard(2), zipped("data.pkl"))
	k.text(shard(3), "GGUF\x03\x00\x00\x00"+strings.Repeat("\x00", 100))
	k.text(shard(4), "<html><body>Sign in</body></html>")
	k.says(k.wants(Options{}, "FS006 error #4", "FS007 error x2 #2"), "zip archive", "GGUF", "web page")
}

// "Metadata incomplete buffer" told nobody anything.
func TestFaultAirLLM137WhatIsShort(t *testing.T) {
	k := mini(t)
	k.edit(shard(2), func(b []byte) []byte { return b[:len(b)-1] })
	r := k.wants(Options{}, "FS003 error #2 L1.E9.w3.weight_scale")
	k.says(r, "ends 1 byte early", "hf download", shard(2))
}

// One dangling link hid a whole repository.
func TestFaultHuggingFaceHub4550OneDanglingLink(t *testing.T) {
	k := mini(t)
	if err := os.Symlink("gone", k.path("x")); err != nil {
		t.Skip(err)
	}
	k.link("../../blobs/gone", shard(5))
	k.edit(shard(7), func(b []byte) []byte { return append(b, 0) })
	r := k.wants(Options{}, "FS004 error #7", "FS009 error x2 #5")
	if n := *r.Stats.Tensors; n < 700 {
		t.Errorf("only %d tensors were seen", n)
	}
}

// A relative cache directory made links that dangle elsewhere.
func TestFaultHuggingFaceHub1388RelativeCache(t *testing.T) {
	k := mini(t)
	for n := 1; n <= shards; n++ {
		k.link(fmt.Sprintf("cache/blobs/%064x", n), shard(n))
	}
	r := k.wants(Options{}, "FS009 error x11 #1")
	if len(r.Refetch) != shards {
		t.Errorf("refetch %v", r.Refetch)
	}
	k.says(r, "cache/blobs/")
}

// Published shards began with zero bytes: the length of their header is 0.
func TestFaultVeritasPP2HeaderNeverWritten(t *testing.T) {
	k := mini(t)
	k.edit(shard(3), func(b []byte) []byte { clear(b[:1<<16]); return b })
	k.says(k.wants(Options{}, "FS019 error #3", "ST005 error #3"), "allocated, never written", "the rest of the file may be good", "mirror")
}

// 1.29 million tensors: a header of 132 MB was written and cannot be read. It
// is refused by its length, unread.
func TestFaultSafetensors668HeaderOverTheCap(t *testing.T) {
	k := mini(t)
	k.write("big.safetensors", binary.LittleEndian.AppendUint64(nil, 132_000_000))
	k.check(os.Truncate(k.path("big.safetensors"), 140_000_000))
	k.rename("big.safetensors", shard(3))
	k.says(k.wants(Options{}, "ST003 error #3"), "132000000", "100000000")
}

// Duplicate keys of JSON were shown as "invalid offset".
func TestFaultSafetensors401DuplicateKeys(t *testing.T) {
	k := mini(t)
	k.rehead(shard(3), func(h *header) { h.entries = append(h.entries, h.entries[4]) })
	r := k.audit("", Options{})
	k.says(r, "occurs twice")
	for _, f := range r.Findings {
		if f.ID == "ST008" {
			t.Errorf("the offsets are blamed: %s", f.Message)
		}
	}
}

// alone audits one file of the given tensors and nothing else.
func alone(t *testing.T, b *body) *Report {
	t.Helper()
	k := &kit{t, t.TempDir()}
	h, payload := &header{pad: 8}, []byte(nil)
	for _, p := range b.tensors {
		p.begin = int64(len(payload))
		payload = append(payload, p.data...)
		p.end = int64(len(payload))
		h.entries = append(h.entries, p.entry)
	}
	k.write("model.safetensors", file(h, payload))
	return k.audit("model.safetensors", Options{})
}

// Tensors of no bytes and of no dimensions crashed loaders. They are legal.
func TestFaultSafetensors442ZeroSizeAndRankZero(t *testing.T) {
	r := alone(t, &body{tensors: []piece{
		{entry{name: "empty", dtype: "F32", shape: []int64{0, 7}}, nil},
		{entry{name: "scalar", dtype: "F64"}, make([]byte, 8)},
		{entry{name: "nothing", dtype: "BF16", shape: []int64{3, 0}}, nil},
	}})
	wantFound(t, r, Pass)
}

// The shape of F4 counts elements, two a byte.
func TestFaultSafetensors839LogicalShapeOfF4(t *testing.T) {
	wantFound(t, alone(t, &body{tensors: []piece{{entry{name: "a", dtype: "F4", shape: []int64{4, 32}}, make([]byte, 64)}}}), Pass)
	wantFound(t, alone(t, &body{tensors: []piece{{entry{name: "a", dtype: "F4", shape: []int64{4, 16}}, make([]byte, 64)}}}), Fail, "ST009 error model.safetensors a")
}

// Shape and offsets were not compared, and memory leaked into the output.
func TestFaultDS4543ShapeBeyondOffsets(t *testing.T) {
	r := alone(t, &body{tensors: []piece{{entry{name: "a", dtype: "F32", shape: []int64{1 << 20}}, make([]byte, 64)}}})
	wantFound(t, r, Fail, "ST009 error model.safetensors a")
}

// Unaligned tensors: 59 GB of hidden copies.
func TestFaultVMLXSwift377Unaligned(t *testing.T) {
	r := alone(t, &body{tensors: []piece{
		{entry{name: "a", dtype: "U8", shape: []int64{3}}, make([]byte, 3)},
		{entry{name: "b", dtype: "F32", shape: []int64{2}}, make([]byte, 8)},
	}})
	wantFound(t, r, Pass, "ST013 info model.safetensors")
}

// A fault of a network file system was told as SIGBUS. What the system says is
// named, with the file and its file system; and nothing is mapped.
func TestFaultLlamaCpp6885ErrnoAndFileSystem(t *testing.T) {
	a := &audit{col: NewCollector(CollectorOptions{Level: LevelHeaders})}
	f := a.unreadable("model.safetensors", filepath.Join(t.TempDir(), "model.safetensors"),
		&os.PathError{Op: "read", Path: "model.safetensors", Err: os.ErrDeadlineExceeded})
	if f.ID != "FS011" || !strings.Contains(f.Message, os.ErrDeadlineExceeded.Error()) || !strings.Contains(f.Message, " on ") {
		t.Errorf("%+v", f)
	}
}

// What mounts FUSE, caches or tmpfs: a directory that is a link is a directory.
func TestDirectoryThroughALink(t *testing.T) {
	k := mini(t)
	link := filepath.Join(t.TempDir(), "latest")
	if err := os.Symlink(k.dir, link); err != nil {
		t.Skip(err)
	}
	k.dir = link
	k.wants(Options{})
}

// Llama, to prove that nothing of K3 is taken for granted.
func TestGoodOthers(t *testing.T) {
	for _, c := range []struct{ family, preset string }{{"llama", "mini"}, {"llama", "mini-tied"}, {"kimi-linear", "mini"}, {"kimi-linear-mxfp4", "mini"}} {
		r := copyOf(t, good(t, c.family, synth.Options{Preset: c.preset})).audit("", Options{})
		for _, f := range r.Findings {
			if f.Severity == Error || f.ID != "CF005" && f.ID != "SE001" && f.ID != "IX008" {
				t.Errorf("%v: %s", c, f.ID+": "+f.Message)
			}
		}
		if r.Profile != c.family || r.Verdict != Pass {
			t.Errorf("%v: profile %q, verdict %s", c, r.Profile, r.Verdict)
		}
	}
}
