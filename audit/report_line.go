package audit

import (
	"fmt"
	"strconv"
	"strings"
)

// VerdictLine is the report in one line: the verdict, what it rests on, what the
// checkpoint is.
func (r *Report) VerdictLine() string {
	parts := r.reasons()
	if sizes := r.sizes(); sizes != "" {
		parts = append(parts, sizes)
	}
	if r.Identity != "" {
		parts = append(parts, r.Identity)
	}
	verdict := strings.ToUpper(string(r.Verdict))
	if r.Level != LevelHeaders.complete() {
		verdict += " at level " + r.Level.String()
	}
	if len(parts) == 0 {
		return verdict
	}
	return verdict + ": " + strings.Join(parts, "; ")
}

// reasons are the counts that lead to the verdict, and the warnings of a pass.
func (r *Report) reasons() []string {
	var parts []string
	if s := r.Summary; s.Errors+s.Warnings > 0 {
		parts = append(parts, countsOf(s))
	}
	if r.Verdict != Pass && r.Summary.Gaps > 0 {
		parts = append(parts, plural(int64(r.Summary.Gaps), "check")+" could not be made")
	}
	if n := len(r.Refetch); n > 0 {
		parts = append(parts, plural(int64(n), "file")+" to fetch again")
	}
	return parts
}

func countsOf(s Summary) string {
	var counts []string
	if s.Errors > 0 {
		counts = append(counts, plural(int64(s.Errors), "error"))
	}
	if s.Warnings > 0 {
		counts = append(counts, plural(int64(s.Warnings), "warning"))
	}
	return strings.Join(counts, ", ")
}

// sizes says how many files, tensors and bytes, as far as they are known.
func (r *Report) sizes() string {
	var parts []string
	if n := r.Stats.Shards; n != nil {
		parts = append(parts, plural(*n, "file"))
	}
	if n := r.Stats.MissingShards; n != nil && *n > 0 {
		parts = append(parts, thousands(*n)+" absent")
	}
	if n := r.Stats.Tensors; n != nil {
		parts = append(parts, plural(*n, "tensor"))
	}
	if n := r.Stats.TotalSize; n != nil {
		parts = append(parts, decimalBytes(*n))
	}
	return strings.Join(parts, ", ")
}

// thousands writes n with a comma between groups of three digits.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign, text := text[:len(text)-len(strings.TrimPrefix(text, "-"))], strings.TrimPrefix(text, "-")
	var groups []string
	for len(text) > 3 {
		groups = append([]string{text[len(text)-3:]}, groups...)
		text = text[:len(text)-3]
	}
	return sign + strings.Join(append([]string{text}, groups...), ",")
}

// decimalBytes writes a size in the largest decimal unit up to GB that leaves at
// least one before the point.
func decimalBytes(n int64) string {
	units := []struct {
		name string
		size int64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}
	for _, u := range units {
		if n >= u.size {
			tenths := n/(u.size/10) + n%(u.size/10)*2/(u.size/10) // rounded half up
			return fmt.Sprintf("%s.%d %s", thousands(tenths/10), tenths%10, u.name)
		}
	}
	return plural(n, "byte")
}
