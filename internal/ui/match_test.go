package ui

import "testing"

func TestMatcher(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true},
		{"*.weight", "a.b.weight", true},
		{"*.weight", "a.b.weight_scale", false},
		{"layers.?.w", "layers.1.w", true},
		{"layers.?.w", "layers.12.w", false},
		{"layers.[0-3].w", "layers.2.w", true},
		{"layers.[!0-3].w", "layers.2.w", false},
		{"a.b", "a-b", false},
		{"a+(b)", "a+(b)", true},
		{"größe*", "größe.模型", true},
		{"[ab", "[ab", true},
		{`\*`, "*", true},
		{`\*`, "x", false},
		{"re:q_proj|k_proj", "layers.1.k_proj.weight", true},
		{"re:^q_proj", "layers.1.q_proj.weight", false},
		{"*", "a\nb", true},
	} {
		m, err := NewMatcher([]string{"nothing", tc.pattern})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Match([]byte(tc.name)); got != tc.want {
			t.Errorf("%q on %q: %v", tc.pattern, tc.name, got)
		}
	}
	if _, err := NewMatcher([]string{"re:("}); err == nil {
		t.Error("no error for a bad expression")
	}
	if m, err := NewMatcher(nil); err != nil || !m.Match([]byte("x")) {
		t.Error("no pattern does not want all")
	}
}
