package names

import "bytes"

// Split takes name apart without a table: the text of its pattern, appended to
// dst, its numbers, and how many there are.
func Split(dst, name []byte) (text []byte, n [Slots]uint32, slots int) {
	if bytes.IndexByte(name, Mark) >= 0 {
		return append(dst, name...), n, 0
	}
	copied, at := 0, 0
	for at < len(name) {
		if v, width := number(name[at:]); width > 0 {
			dst = append(dst, name[copied:at]...)
			dst = append(dst, Mark)
			n[slots] = v
			slots++
			at += width
			copied = at
			if slots == Slots {
				break
			}
		}
		dot := bytes.IndexByte(name[at:], '.')
		if dot < 0 {
			break
		}
		at += dot + 1
	}
	return append(dst, name[copied:]...), n, slots
}

// number reads the canonical decimal that s begins with and that a dot or the
// end of s ends. Its width is 0 where there is none.
func number(s []byte) (v uint32, width int) {
	const digits = 10 // of 2^32-1
	sum := uint64(0)
	for width < len(s) && s[width] != '.' {
		c := s[width] - '0'
		if c > 9 || width == digits {
			return 0, 0
		}
		sum = sum*10 + uint64(c)
		width++
	}
	if width == 0 || sum > 1<<32-1 || (s[0] == '0' && width > 1) {
		return 0, 0
	}
	return uint32(sum), width
}
