package main

import (
	"os"
	"strings"
	"testing"

	"ckpt/audit"

	"github.com/google/go-cmp/cmp"
)

func TestDocumentIsThatOfTheTable(t *testing.T) {
	have, err := os.ReadFile("../../../docs/audit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(render(audit.Codes())), string(have)); diff != "" {
		t.Errorf("run go run ./audit/internal/gendocs:\n%s", diff)
	}
}

func TestEveryCodeHasItsHeading(t *testing.T) {
	text := string(render(audit.Codes()))
	for _, c := range audit.Codes() {
		if n := strings.Count(text, "\n### "+c.ID+"\n"); n != 1 {
			t.Errorf("%s has %d headings", c.ID, n)
		}
	}
}

func TestProse(t *testing.T) {
	if got, want := prose("a_b `c_d` *.py | <x>"), "a\\_b `c_d` \\*.py | \\<x>"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := cell("a|b"); got != `a\|b` {
		t.Error(got)
	}
}
