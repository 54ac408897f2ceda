package quant

import (
	"strings"
	"testing"
)

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

// Every row of the vectors that comes from running a system is some scheme's,
// and so are the derived ones, but for those named here.
func TestEveryRowIsCovered(t *testing.T) {
	left := map[string]string{
		"microxcaling_nearest":                         "the library returns values and stores no codes",
		"microxcaling_even":                            "likewise",
		"compressed_tensors_triton(0.18.0 and before)": "older than the release that the scheme means; derived, not run",
		"tinygrad_old_asm_gemm":                        "activations only; derived, not run",
		"jax_scaled_matmul":                            "activations only; derived, not run",
	}
	v, err := readVectors()
	if err != nil {
		t.Fatal(err)
	}
	covered := map[Format]map[string]bool{MXFP4: {}, MXFP8E4M3: {}}
	for _, s := range Schemes() {
		for _, r := range s.Recipes {
			for _, name := range r.Rows {
				if m := covered[r.Format]; m != nil {
					m[strings.TrimSuffix(name, finiteOnly)] = true
				}
			}
		}
	}
	for f, cases := range map[Format][]vector{MXFP4: v.MXFP4, MXFP8E4M3: v.MXFP8E4M3} {
		rows := map[string]bool{}
		for _, c := range cases {
			for name := range c.Results {
				rows[name] = true
				if !covered[f][name] && left[name] == "" {
					t.Errorf("%s: no scheme gives %s", f, name)
				}
			}
		}
		for name := range covered[f] {
			if !rows[name] {
				t.Errorf("%s: there is no row %s", f, name)
			}
		}
	}
	if len(v.MXFP4) != 29 || len(v.MXFP8E4M3) != 15 || len(v.MXFP6) != 6 || len(v.NVFP4) != 3 || len(v.E8M0) != 20 {
		t.Errorf("%d, %d, %d, %d, %d cases", len(v.MXFP4), len(v.MXFP8E4M3), len(v.MXFP6), len(v.NVFP4), len(v.E8M0))
	}
}
