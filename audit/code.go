package audit

import (
	"cmp"
	"slices"
	"strings"
)

// Code is one kind of finding. A code never changes its meaning.
type Code struct {
	ID       string
	Severity Severity // of a finding that does not say otherwise
	Level    Level    // the depth at which it is decided
	Format   string   // "safetensors" or "gguf" where it speaks of one format, else ""

	Title  string // the finding in a few words
	Detail string // what follows the title in the contract, "" when nothing does

	Cause       string // how a checkpoint comes to be like this
	Consequence string // what happens to who uses it all the same
	Cure        string // what to do
	Command     string // the command that mends or shows it; FILE, REPO, DIR and PATH stand for the reader's own
}

// The formats a code may speak of.
const (
	FormatSafetensors = "safetensors"
	FormatGGUF        = "gguf"
)

//go:generate go run ./internal/gendocs -o ../docs/audit-codes.md

// Codes gives every code, in the order of the contract, in a slice of the caller's own.
func Codes() []Code {
	return slices.Concat(
		fileCodes, securityCodes,
		safetensorsCodes, ggufCodes,
		indexCodes, configCodes,
		quantCodes, modelCodes,
		valueCodes, hashCodes,
	)
}

// Explain finds a code by its ID, without regard to case.
func Explain(id string) (Code, bool) {
	for _, c := range Codes() {
		if strings.EqualFold(c.ID, strings.TrimSpace(id)) {
			return c, true
		}
	}
	return Code{}, false
}

// Near gives up to three codes that whoever typed id may have meant, the
// likeliest first: fs3 is near to FS003. It gives none for what resembles none.
func Near(id string) []string {
	type candidate struct {
		id   string
		cost int
	}
	var all []candidate
	want := normalID(id)
	for _, c := range Codes() {
		if cost := distance(want, c.ID); cost <= 2 {
			all = append(all, candidate{c.ID, cost})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	var ids []string
	for _, c := range all[:min(3, len(all))] {
		ids = append(ids, c.id)
	}
	return ids
}

// normalID brings what people type for a code into its form: fs-3 → FS003.
func normalID(id string) string {
	id = strings.ToUpper(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -_", r) {
			return -1
		}
		return r
	}, id))
	id = id[:min(len(id), 16)] // no code is longer, and distance is quadratic
	letters := strings.TrimRight(id, "0123456789")
	digits := strings.TrimLeft(id[len(letters):], "0")
	if letters == id || len(digits) > 3 {
		return id
	}
	return letters + strings.Repeat("0", 3-len(digits)) + digits
}

// distance is the number of bytes to insert, delete or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := min(row[j], row[j+1]) + 1
			if a[i] == b[j] {
				next = min(next, diagonal)
			} else {
				next = min(next, diagonal+1)
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
