package main

import (
	"strings"
	"testing"

	"ckpt/shard"
)

// hostile is a name that tries what a name in a page or a drawing could do.
const hostile = `</title></text><script>alert(1)</script>"'&\x1b[31m` + "\x1b[2J\u202e"

func hostilePlan() *shard.Plan {
	axis := 0
	return &shard.Plan{
		Profile: hostile, Layout: "engine", TP: 1, EP: 1, PP: 1,
		Source: shard.Source{Path: hostile, Fingerprint: hostile},
		Stages: []shard.Stage{{Ranks: 1, Bytes: 10, Arena: 256, Tensors: 1}},
		Ranks:  []shard.Rank{{Bytes: 10, Padding: 246, Tensors: 1}},
		Groups: []shard.Group{{Group: hostile, Total: 10, PerRank: 10, Stages: []int64{10}, Action: shard.Split}},
		Families: []shard.Family{
			{Pattern: hostile, Names: []string{hostile}, Group: hostile, DType: "BF16", Shape: []uint64{5}, Count: 1, Axis: &axis, Parts: 1, Copies: 1,
				Action: shard.Split, Total: 10, PerRank: 10, Stages: []int64{10}},
			{Pattern: hostile, Names: []string{}, Group: hostile, DType: "BF16", Shape: []uint64{5}, Count: 1, Action: shard.Skip, Reason: hostile, Total: 10, Stages: []int64{0}},
		},
		Degrees: []shard.Degree{{TP: 2, Reason: hostile}},
		Axes:    []shard.Axis{{Pattern: hostile, Families: 1, Size: 5, Group: 1, Widths: []shard.Width{{TP: 2}}}},
		Notes:   []string{hostile},
		Proof:   &shard.Proof{Faults: []string{hostile}},
	}
}

// Whatever names say, a page and a drawing run nothing, and a terminal is told
// nothing.
func TestPagesHoldNames(t *testing.T) {
	p := hostilePlan()
	var svg, page, text strings.Builder
	if err := writePlanSVG(&svg, p); err != nil {
		t.Fatal(err)
	}
	if err := writePlanHTML(&page, p); err != nil {
		t.Fatal(err)
	}
	printer := planPrinter{w: &text, plan: p, families: true, widths: true, width: 100}
	printer.print(nil)
	for name, out := range map[string]string{"drawing": svg.String(), "page": page.String()} {
		for _, bad := range []string{"<script", "alert(1)</", "\x1b", "\u202e"} {
			if strings.Contains(out, bad) {
				t.Errorf("the %s has %q", name, bad)
			}
		}
		if !strings.Contains(out, "&lt;script&gt;alert(1)") {
			t.Errorf("the %s does not show the name", name)
		}
	}
	if strings.ContainsAny(text.String(), "\x1b\u202e") {
		t.Error("the terminal gets what the name says")
	}
}

func TestParseRanks(t *testing.T) {
	for text, want := range map[string]int{"": 0, "0": 1, "3": 1, "0-7": 8, "0,4": 2, "0-1, 6-7": 4} {
		if got, err := parseRanks("--rank", text, 8); err != nil || len(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"8", "-1", "1-", "a", "3-1", "0-8", ",", "1,,2", "99999999999999999999"} {
		if got, err := parseRanks("--rank", text, 8); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
