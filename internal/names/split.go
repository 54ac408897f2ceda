package names

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Split takes name apart without a table: the text of its pattern, appended to
// dst, its numbers, and how many there are.
func Split(dst, name []byte) (text []byte, n [Slots]uint32, slots int) {
	if bytes.IndexByte(name, Mark) >= 0 {
		return append(dst, name...), n, 0
	}
	copied := 0
	for at := nextDigit(name, 0); at < len(name); {
		v, width := number(name[at:])
		if width > 0 {
			dst = append(dst, name[copied:at]...)
			dst = append(dst, Mark)
			n[slots] = v
			slots++
			copied = at + width
			if slots == Slots {
				break
			}
		}
		at = nextDigit(name, at+max(width, 1))
	}
	return append(dst, name[copied:]...), n, slots
}

// nextDigit finds the first digit from at on that begins a segment: at the
// start of the name or behind a dot. It looks at eight bytes at once.
func nextDigit(name []byte, at int) int {
	if at == 0 && len(name) > 0 && name[0]-'0' <= 9 {
		return 0
	}
	at = max(at, 1)
	for ; at+8 <= len(name); at += 8 {
		x := binary.LittleEndian.Uint64(name[at:])
		before := binary.LittleEndian.Uint64(name[at-1:])
		if hit := digits(x) & equal(before, '.'); hit != 0 {
			return at + bits.TrailingZeros64(hit)/8
		}
	}
	for ; at < len(name); at++ {
		if name[at-1] == '.' && name[at]-'0' <= 9 {
			return at
		}
	}
	return at
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// digits marks, with its high bit, each of the eight bytes of x that is a
// decimal digit. No byte carries into the next.
func digits(x uint64) uint64 {
	low := x &^ highs
	return (low + ones*(0x80-'0')) &^ (low + ones*(0x80-'0'-10)) &^ x & highs
}

// equal marks each byte of x that is c.
func equal(x uint64, c byte) uint64 {
	x ^= ones * uint64(c)
	return ^((x&^highs + ^uint64(highs)) | x) & highs
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
