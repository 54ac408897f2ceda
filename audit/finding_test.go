package audit

import "testing"

func TestShapeOfMessages(t *testing.T) {
	tests := []struct{ a, b string }{
		{"301,000,000 bytes are missing", "7 bytes are missing"},
		{`want "q_proj", have "k_proj"`, `want "a \" quote", have ""`},
		{"offset 12.5 of 13", "offset 9 of 1,000"},
		{"file `a` of 2", "file `b` of 30"},
	}
	for _, test := range tests {
		a, b := string(appendShape(nil, test.a)), string(appendShape(nil, test.b))
		if a != b {
			t.Errorf("%q and %q differ: %q, %q", test.a, test.b, a, b)
		}
	}
	different := []struct{ a, b string }{
		{"1 byte is missing", "2 bytes are missing"},
		{`an open "quote`, `an open "quotation`},
		{"ends with 1.", "ends with 1"},
	}
	for _, test := range different {
		a, b := string(appendShape(nil, test.a)), string(appendShape(nil, test.b))
		if a == b {
			t.Errorf("%q and %q have one shape %q", test.a, test.b, a)
		}
	}
}

func FuzzShape(f *testing.F) {
	f.Add(`1,2 "x\" y`)
	f.Fuzz(func(t *testing.T, message string) {
		shape := appendShape(nil, message)
		if len(shape) > len(message) {
			t.Errorf("%q grew to %q", message, shape)
		}
	})
}
