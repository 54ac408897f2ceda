package quant

import "testing"

func TestConformance(t *testing.T) {
	all, err := CheckConformance()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		t.Logf("%-24s %-10s %-50s %d/%d (%d undefined)", c.Scheme, c.Format, c.Row, c.Passed, c.Cases, c.Undefined)
		for _, f := range c.Failures {
			t.Errorf("%s %s: %s", c.Scheme, c.Format, f)
		}
	}
}
