package ui

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSizes(t *testing.T) {
	for _, tc := range []struct {
		n    int64
		want string
	}{
		{0, "0 bytes"},
		{1, "1 byte"},
		{999, "999 bytes"},
		{1000, "1,000 bytes (1.0 kB)"},
		{1024, "1,024 bytes (1.0 kB, 1.00 KiB)"},
		{999_960, "999,960 bytes (1.0 MB, 976.52 KiB)"},
		{1<<20 - 1, "1,048,575 bytes (1.0 MB, 1.00 MiB)"},
		{1_560_860_324_864, "1,560,860,324,864 bytes (1,560.9 GB, 1.42 TiB)"},
		{196_784_397_312, "196,784,397,312 bytes (196.8 GB, 183.27 GiB)"},
		{-5000, "-5,000 bytes (-5.0 kB, -4.88 KiB)"},
		{math.MaxInt64, "9,223,372,036,854,775,807 bytes (9,223,372,036.9 GB, 8,192.00 PiB)"},
		{math.MinInt64, "-9,223,372,036,854,775,808 bytes (-9,223,372,036.9 GB, -8,192.00 PiB)"},
	} {
		if got := Size(tc.n); got != tc.want {
			t.Errorf("%d: %q, want %q", tc.n, got, tc.want)
		}
	}
	if got := Echo("5G", 5e9); got != "5G = 5,000,000,000 bytes (4.66 GiB)" {
		t.Errorf("%q", got)
	}
	if got := Plural(1, "file") + ", " + Plural(96, "file"); got != "1 file, 96 files" {
		t.Errorf("%q", got)
	}
	if got := Count(uint64(math.MaxUint64)); got != "18,446,744,073,709,551,615" {
		t.Errorf("%q", got)
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		410 * time.Millisecond: "0.41 s", 5 * time.Second: "5 s", 12400 * time.Millisecond: "12 s",
		200 * time.Second: "3 min 20 s", 125 * time.Minute: "2 h 5 min",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1": 1, "5000000000": 5e9, "5G": 5e9, "5g": 5e9, "5GB": 5e9, "5gb": 5e9, "5 GB": 5e9,
		"5GiB": 5 << 30, "5Gi": 5 << 30, "5gib": 5 << 30, "0.5GiB": 1 << 29, "1.5k": 1500,
		"0.1GB": 1e8, "288 GB": 288e9, "4.66GiB": 5003636899, "1KiB": 1024, "2T": 2e12, "1PiB": 1 << 50,
		"7B": 7, "7 bytes": 7, ".5MB": 5e5, "5.GB": 5e9, "9223372036854775807": math.MaxInt64,
		" 3MB ": 3e6, "0.0000000001GB": 0,
	} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", " ", ".", "GB", "-1", "-5GB", "+5", "NaN", "nan", "inf", "1e9", "0x10", "1/2", "5XB", "5GBs", "5 G B",
		"1.2.3", "1.5", "1.5B", "9223372036854775808", "9000PB0", "10000000P", "5,000", "1_000", "٣GB",
		strings.Repeat("9", 100), "1" + strings.Repeat("0", 60) + "P", "5iB",
	} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("%q: %d, want an error", in, got)
		}
	}
}

func TestParseTokens(t *testing.T) {
	for in, want := range map[string]int64{
		"131072": 131072, "128k": 128000, "128K": 131072, "1m": 1e6, "1M": 1 << 20, "1.5k": 1500, "0.5K": 512, "0": 0,
	} {
		if got, err := ParseTokens(in); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-1", "1.5", "0.0001k", "128Ki", "128kB", "NaN", "9999999999999999999", "99999999999G"} {
		if got, err := ParseTokens(in); err == nil {
			t.Errorf("%q: %d, want an error", in, got)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"5GB", "4.66GiB", "-1", "NaN", "1e9", ".", "9223372036854775808"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseSize(s); err == nil && n < 0 {
			t.Errorf("%q: %d", s, n)
		}
		if n, err := ParseTokens(s); err == nil && n < 0 {
			t.Errorf("%q: %d", s, n)
		}
	})
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"model.layers.0.w":           "model.layers.0.w",
		"weights/größe/模型":           "weights/größe/模型",
		"a\x1b[31mred":               `a\x1b[31mred`,
		"a\nb\tc\r":                  `a\nb\tc\r`,
		"a\x00\x7f":                  `a\x00\x7f`,
		"\u202egnp.exe":              `\u202egnp.exe`,
		"a\u200bb\u2060\ufeff":       `a\u200bb\u2060\ufeff`,
		"\x9b31m":                    `\x9b31m`,
		"\u009b31m":                  `\u009b31m`,
		"bad\xff\xfeutf8":            `bad\xff\xfeutf8`,
		"\ufffd":                     "\ufffd",
		"\U000e0041":                 `\U000e0041`,
		"a\u00a0b":                   `a\u00a0b`,
		"\u3164":                     `\u3164`,
		`C:\dir`:                     `C:\dir`,
		"line\u2028sep\u2066i\u2069": `line\u2028sep\u2066i\u2069`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEscapeHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		out := Escape(in)
		if !utf8.ValidString(out) {
			t.Fatalf("%q: not UTF-8", out)
		}
		for _, r := range out {
			if !visible(r) {
				t.Fatalf("%q holds %U", out, r)
			}
		}
		if Escape(out) != out {
			t.Fatalf("%q: escaping twice changes it", out)
		}
		const room = 20
		if w := Width(Short(in, room)); w > room {
			t.Fatalf("%q: %d columns", Short(in, room), w)
		}
	})
}

func TestShort(t *testing.T) {
	if got := Short("language_model.layers.12.w1", 13); got != "langu…s.12.w1" {
		t.Errorf("%q", got)
	}
	if got := Short(strings.Repeat("a", 10_000_000), 9); got != "aaa…aaaaa" {
		t.Errorf("%q", got)
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"abc": 3, "größe": 5, "模型": 4, "e\u0301": 1, "\x1b[1;31mred\x1b[0m": 3, "": 0, "한글": 4,
	} {
		if got := Width(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	var tb Table
	tb.Right, tb.Indent = "lr", 1
	tb.Row("模型", "1", "x")
	tb.Row("abcdef", "1,000", "")
	tb.Row("b")
	var b bytes.Buffer
	if err := tb.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := " 模型        1  x\n abcdef  1,000\n b\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

func TestWrap(t *testing.T) {
	got := Wrap("one two  three\nfour incomprehensibilities five", 9)
	want := []string{"one two", "three", "four", "incomprehensibilities", "five"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestStyle(t *testing.T) {
	if got := (Style{}).Red("x"); got != "x" {
		t.Errorf("%q", got)
	}
	if got := (Style{on: true}).Red("x"); got != "\x1b[1;31mx\x1b[0m" {
		t.Errorf("%q", got)
	}
	if NewStyle(new(bytes.Buffer), func(string) string { return "" }).on {
		t.Error("colours into a buffer")
	}
}

func TestNearest(t *testing.T) {
	names := []string{
		"language_model.model.layers.12.self_attn.q_proj.weight",
		"language_model.model.layers.12.self_attn.k_proj.weight",
		"language_model.model.embed_tokens.weight",
		"vision_tower.patch_embed.weight",
	}
	got := Nearest("language_model.model.layers.12.self_attn.q_porj.weight", slices.Values(names), 2)
	if d := cmp.Diff(names[:2], got); d != "" {
		t.Error(d)
	}
	if got := Nearest("something.else.altogether", slices.Values(names), 3); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if got := Nearest("audti", slices.Values([]string{"ls", "cat", "audit"}), 1); len(got) != 1 || got[0] != "audit" {
		t.Errorf("%q", got)
	}
}

func TestDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.StringMatching(`[ab]{0,9}`)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		limit := rapid.IntRange(0, 9).Draw(t, "limit")
		want := min(slow(a, b), limit+1)
		if got := distance(a, b, limit); got != want {
			t.Fatalf("distance(%q, %q, %d) = %d, want %d", a, b, limit, got, want)
		}
	})
}

func slow(a, b string) int {
	switch {
	case a == "":
		return len(b)
	case b == "":
		return len(a)
	case a[0] == b[0]:
		return slow(a[1:], b[1:])
	}
	return 1 + min(slow(a[1:], b), slow(a, b[1:]), slow(a[1:], b[1:]))
}
