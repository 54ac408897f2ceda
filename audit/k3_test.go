package audit

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ckpt/internal/synth"
)

// full is a copy of the full-size Kimi K3, whose payloads are holes.
func full(t *testing.T) *kit {
	t.Helper()
	if testing.Short() {
		t.Skip("the full size takes seconds")
	}
	return copyOf(t, good(t, "kimi-k3", synth.Options{Full: true}))
}

// k3Shard is the name of one of its 96 shards.
func k3Shard(n int) string { return fmt.Sprintf("model-%05d-of-000096.safetensors", n) }

// respell changes the header of a file whose payload is a hole. The new header
// is as long as the old one.
func (k *kit) respell(name string, change func(h *header)) {
	k.Helper()
	f, err := os.Open(k.path(name))
	k.check(err)
	defer f.Close()
	info, err := f.Stat()
	k.check(err)
	var length [8]byte
	_, err = f.ReadAt(length[:], 0)
	k.check(err)
	head := make([]byte, 8+binary.LittleEndian.Uint64(length[:]))
	_, err = f.ReadAt(head, 0)
	k.check(err)
	h, _ := parse(k, head)
	change(h)
	end := int64(0)
	for _, e := range h.entries {
		end = max(end, e.end)
	}
	k.write(name, file(h, nil))
	grown, err := os.Stat(k.path(name))
	k.check(err)
	k.check(os.Truncate(k.path(name), grown.Size()+end))
	if grown.Size() != int64(len(head)) {
		k.Logf("%s: header of %d bytes in place of %d, %d bytes in all", name, grown.Size(), len(head), info.Size())
	}
}

// k3Baseline is what is true of the full size.
var k3Baseline = []string{
	"CF005 warning x7 chat_template.jinja",
	"FS018 info x96 model-00001-of-000096.safetensors",
	"SE001 info config.json",
}

func wantFound(t *testing.T, r *Report, verdict Verdict, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := found(r); !slices.Equal(got, want) {
		t.Errorf("found\n  %s\nwanted\n  %s\n%s", strings.Join(got, "\n  "), strings.Join(want, "\n  "), messages(r))
	}
	if r.Verdict != verdict {
		t.Errorf("verdict %s, want %s; gaps %v", r.Verdict, verdict, r.Gaps())
	}
	if want := map[Verdict]int{Pass: 0}; r.ExitStatus() != want[verdict] && r.ExitStatus() != exitFail {
		t.Errorf("exit status %d", r.ExitStatus())
	}
}

func TestFullSize(t *testing.T) {
	k := full(t)
	r := k.audit("", Options{})
	wantFound(t, r, Pass, k3Baseline...)
	if r.ExitStatus() != exitPass || r.Profile != "kimi-k3" || r.Identity != "official Kimi K3 (96 of 96 headers official)" {
		t.Errorf("exit status %d, profile %q, identity %q", r.ExitStatus(), r.Profile, r.Identity)
	}
	s := r.Stats
	got := []int64{*s.Tensors, *s.LanguageTensors, *s.ExpertTensors, *s.Shards, *s.MissingShards, *s.TotalSize, *s.TextBytes, *s.FileBytes}
	want := []int64{497_220, 497_052, 494_592, 96, 0, 1_560_860_324_864, 1_559_965_606_912, 1_560_936_091_448}
	if !slices.Equal(got, want) {
		t.Errorf("stats %v, want %v", got, want)
	}
}

func TestFullSizeWithoutMarker(t *testing.T) {
	k := full(t)
	k.remove(synth.MarkerFile)
	r := k.audit("", Options{})
	wantFound(t, r, Fail, "CF005 warning x7 chat_template.jinja", "FS018 error x96 model-00001-of-000096.safetensors", "SE001 info config.json")
	if r.ExitStatus() != 3 || len(r.Refetch) != 96 || r.Refetch[9] != k3Shard(10) {
		t.Errorf("exit status %d, refetch %v", r.ExitStatus(), r.Refetch)
	}
}

// Config and index alone: what one has before the weights are fetched.
func TestFullSizeMetadataOnly(t *testing.T) {
	k := full(t)
	for n := 1; n <= 96; n++ {
		k.remove(k3Shard(n))
	}
	k.remove(synth.MarkerFile)
	r := k.audit("", Options{Level: LevelMetadata})
	wantFound(t, r, Pass, "CF005 warning x7 chat_template.jinja", "SE001 info config.json")
	s := r.Stats
	got := []int64{*s.Tensors, *s.LanguageTensors, *s.ExpertTensors, *s.Shards, *s.MissingShards, *s.TotalSize}
	if want := []int64{497_220, 497_052, 494_592, 96, 96, 1_560_860_324_864}; !slices.Equal(got, want) {
		t.Errorf("stats %v, want %v", got, want)
	}
	if s.FileBytes != nil {
		t.Errorf("bytes of files that are not here: %d", *s.FileBytes)
	}
	if r.Identity != "official Kimi K3" {
		t.Errorf("identity %q", r.Identity)
	}
}

// The same checkpoint to who computes with it, not to the byte.
func TestFullSizeWithOneHeaderSpeltAnew(t *testing.T) {
	k := full(t)
	k.respell(k3Shard(1), func(h *header) { slices.Reverse(h.entries) })
	k.edit("config.json", func(b []byte) []byte { return append(b, '\n') })
	r := k.audit("", Options{})
	wantFound(t, r, Pass, append(k3Baseline, "CF006 info config.json", "MD008 info "+k3Shard(1))...)
	if r.Identity != "official Kimi K3 (95 of 96 headers official)" {
		t.Errorf("identity %q", r.Identity)
	}
}

// Sound in itself, and other bytes than the release has: A_log may have any
// length from the number of heads.
func TestFullSizeWithAnotherTotal(t *testing.T) {
	k := full(t)
	k.respell(k3Shard(1), func(h *header) {
		i := slices.IndexFunc(h.entries, func(e entry) bool { return strings.HasSuffix(e.name, ".A_log") })
		h.entries[i].shape = []int64{96}
		h.entries[i].end -= 128
		for j := range h.entries {
			if j != i && h.entries[j].begin > h.entries[i].begin {
				h.entries[j].begin -= 128
				h.entries[j].end -= 128
			}
		}
	})
	k.replace(indexName, "1560860324864", "1560860324736")
	wantFound(t, k.audit("", Options{}), Fail, append(k3Baseline, "MD007 error", "MD007 error", "MD008 info "+k3Shard(1), "MD008 info index")...)
}

// The files are the release's, so it is the config that is wrong.
func TestFullSizeWithAnotherConfig(t *testing.T) {
	k := full(t)
	good := k.read("config.json")
	for _, c := range []struct{ field, value, want string }{
		{"num_experts", "895", "CF003 error config.json"},
		{"num_hidden_layers", "4611686018427387904", "CF002 error config.json"},
		{"hidden_act", `"silu"`, "CF003 error config.json"},
	} {
		k.write("config.json", good)
		k.config(c.field, c.value)
		r := k.audit("", Options{Level: LevelMetadata})
		wantFound(t, r, Fail, "CF005 warning x7 chat_template.jinja", "SE001 info config.json", c.want)
		if all := messages(r); !strings.Contains(all, c.field) || !strings.Contains(all, strings.Trim(c.value, `"`)) {
			t.Errorf("%s is not named with its value:\n%s", c.field, all)
		}
	}
}
