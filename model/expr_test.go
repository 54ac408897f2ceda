package model

import (
	"math"
	"strings"
	"testing"
)

var testScope = scope{
	ints:  map[string]int64{"a": 6, "b": 4, "zero": 0, "big": math.MaxInt64, "low": math.MinInt64},
	lists: map[string][]int64{"none": nil, "three": {2, 3, 4}, "huge": {math.MaxInt64, 2}},
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "a": 6, "a + b * 2": 14, "(a+b)*2": 20, "a - b - 1": 1, "a / 2 / 3": 1, "a % b": 2,
		"-a + 7": 1, "--a": 6, "!a": 0, "!zero": 1, "!!a": 1, "a < b": 0, "a >= b": 1, "a == 6 && b == 4": 1,
		"a != 6 || b == 4": 1, "zero && missing": 0, "a || missing": 1, "zero || b": 1, "a && zero": 0,
		"len(three)": 3, "at(three, 0)": 2, "at(three, b - 2)": 4, "1 + at(three, 1) * 2": 7, "product(three)": 24, "product(none)": 1, "len(none)": 0,
		"min(a, b)": 4, "max(a, b + 9)": 13, "ceildiv(a, b)": 2, "ceildiv(96 * 4, 3)": 128, "ceildiv(0, 3)": 0,
		"low + 0": math.MinInt64, "big - 1": math.MaxInt64 - 1, "-big": -math.MaxInt64, "low / 1": math.MinInt64,
	} {
		e, err := parseExpr(text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := e.eval(&testScope); err != nil || got != want {
			t.Errorf("%s = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestExpressionsThatHaveNoValue(t *testing.T) {
	for text, want := range map[string]string{
		"big + 1": "64 bits", "low - 1": "64 bits", "big * 2": "64 bits", "-low": "64 bits", "low / -1": "64 bits",
		"0 - low": "64 bits", "a - low": "64 bits", "low * -1": "64 bits", "product(huge)": "64 bits",
		"a / zero": "zero", "a % zero": "zero", "a / b": "6 is not a multiple of 4", "missing": "no value",
		"len(missing)": "no value", "at(three, 3)": "none at 3", "at(three, -1)": "none at -1", "at(none, 0)": "0 entries",
		"at(missing, 0)": "no value", "at(three, missing)": "no value", "at(three, a / b)": "multiple", "ceildiv(a, zero)": "divisor", "ceildiv(-1, 2)": "dividend", "ceildiv(a, -1)": "divisor",
	} {
		e, err := parseExpr(text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := e.eval(&testScope); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestExpressionsThatDoNotParse(t *testing.T) {
	for _, text := range []string{"", " ", "1 +", "* 2", "(1", "1)", "1 2", "a b", "min(1)", "min(1, 2, 3)", "len(1)",
		"len(a + b)", "nothing(1)", "a = b", "a & b", "9223372036854775808", "1e3", "0x10", "1.5", "\"a\"", "a;b", "len three", "at(three)", "at(1, three)", "at(a + b, 1)", "at(three, 1, 2)",
		strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100), strings.Repeat("-", 500) + "1", strings.Repeat("1+", 2000) + "1", "é", "\xff"} {
		if e, err := parseExpr(text); err == nil {
			t.Errorf("%.40q parses as %+v", text, e)
		}
	}
}
