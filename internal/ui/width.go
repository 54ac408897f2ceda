package ui

import "unicode"

// Width is the number of terminal columns that s takes, where s holds no
// control characters except the colour sequences of [Style].
func Width(s string) int {
	if clean(s) {
		return len(s)
	}
	n := 0
	inSequence := false
	for _, r := range s {
		switch {
		case inSequence:
			inSequence = r != 'm'
		case r == '\x1b':
			inSequence = true
		default:
			n += runeWidth(r)
		}
	}
	return n
}

// wide holds the ranges that take two columns: East Asian wide and fullwidth
// (Unicode's EastAsianWidth W and F, joined to few ranges) and pictographs.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x33ff}, {0x3400, 0x4dbf},
	{0x4e00, 0x9fff}, {0xa000, 0xa4cf}, {0xa960, 0xa97f}, {0xac00, 0xd7a3},
	{0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
}

func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	for _, w := range wide {
		if r >= w[0] && r <= w[1] {
			return 2
		}
	}
	return 1
}
