package main

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"

	"ckpt/dtype"
)

// writeText writes a line for each row, the last dimension, with its values
// apart by spaces. Types without a value of their own here (the 8-bit floats)
// are written as their bits in hexadecimal, packed ones as their bytes.
func writeText(w io.Writer, in source, part *selection) error {
	width, appendValue := textForm(part.dtype)
	row := part.row
	if packed := packedShape(part); npyTypes[part.dtype] == "" {
		row = packed[len(packed)-1]
	}
	t := &textWriter{w: w, width: width, row: row, value: appendValue}
	if err := in.copy(t, part); err != nil {
		return err
	}
	return t.close()
}

// textWriter turns bytes into values, and values into lines.
type textWriter struct {
	w     io.Writer
	width int
	row   uint64 // values a line
	value func(dst, value []byte) []byte

	rest []byte // the beginning of a value
	line []byte
	at   uint64 // values in line
}

func (t *textWriter) Write(p []byte) (int, error) {
	n := len(p)
	if len(t.rest) > 0 {
		take := min(t.width-len(t.rest), len(p))
		t.rest, p = append(t.rest, p[:take]...), p[take:]
		if len(t.rest) == t.width {
			if err := t.add(t.rest); err != nil {
				return 0, err
			}
			t.rest = t.rest[:0]
		}
	}
	for ; len(p) >= t.width; p = p[t.width:] {
		if err := t.add(p[:t.width]); err != nil {
			return 0, err
		}
	}
	t.rest = append(t.rest, p...)
	return n, nil
}

func (t *textWriter) add(value []byte) error {
	if t.at > 0 {
		t.line = append(t.line, ' ')
	}
	t.line = t.value(t.line, value)
	if t.at++; t.at < t.row {
		if len(t.line) < pieceSize {
			return nil
		}
		_, err := t.w.Write(t.line)
		t.line = t.line[:0]
		return err
	}
	return t.close()
}

// close ends a line that has begun.
func (t *textWriter) close() error {
	if t.at == 0 {
		return nil
	}
	_, err := t.w.Write(append(t.line, '\n'))
	t.line, t.at = t.line[:0], 0
	return err
}

// textForm gives the bytes of a value and how it is written.
func textForm(d dtype.Type) (int, func(dst, v []byte) []byte) {
	le := binary.LittleEndian
	switch d {
	case dtype.BOOL, dtype.U8:
		return 1, func(dst, v []byte) []byte { return strconv.AppendUint(dst, uint64(v[0]), 10) }
	case dtype.I8:
		return 1, func(dst, v []byte) []byte { return strconv.AppendInt(dst, int64(int8(v[0])), 10) }
	case dtype.U16:
		return 2, func(dst, v []byte) []byte { return strconv.AppendUint(dst, uint64(le.Uint16(v)), 10) }
	case dtype.I16:
		return 2, func(dst, v []byte) []byte { return strconv.AppendInt(dst, int64(int16(le.Uint16(v))), 10) }
	case dtype.U32:
		return 4, func(dst, v []byte) []byte { return strconv.AppendUint(dst, uint64(le.Uint32(v)), 10) }
	case dtype.I32:
		return 4, func(dst, v []byte) []byte { return strconv.AppendInt(dst, int64(int32(le.Uint32(v))), 10) }
	case dtype.U64:
		return 8, func(dst, v []byte) []byte { return strconv.AppendUint(dst, le.Uint64(v), 10) }
	case dtype.I64:
		return 8, func(dst, v []byte) []byte { return strconv.AppendInt(dst, int64(le.Uint64(v)), 10) }
	case dtype.F16:
		return 2, func(dst, v []byte) []byte { return appendFloat(dst, float64(half(le.Uint16(v))), 32) }
	case dtype.BF16:
		return 2, func(dst, v []byte) []byte {
			return appendFloat(dst, float64(math.Float32frombits(uint32(le.Uint16(v))<<16)), 32)
		}
	case dtype.F32:
		return 4, func(dst, v []byte) []byte {
			return appendFloat(dst, float64(math.Float32frombits(le.Uint32(v))), 32)
		}
	case dtype.F64:
		return 8, func(dst, v []byte) []byte { return appendFloat(dst, math.Float64frombits(le.Uint64(v)), 64) }
	case dtype.C64:
		return 8, func(dst, v []byte) []byte {
			dst = appendFloat(dst, float64(math.Float32frombits(le.Uint32(v))), 32)
			im := appendFloat(nil, float64(math.Float32frombits(le.Uint32(v[4:]))), 32)
			if im[0] != '-' && im[0] != '+' {
				dst = append(dst, '+')
			}
			return append(append(dst, im...), 'j')
		}
	default:
		return 1, func(dst, v []byte) []byte {
			const digits = "0123456789abcdef"
			return append(dst, '0', 'x', digits[v[0]>>4], digits[v[0]&15])
		}
	}
}

// appendFloat writes the shortest number that reads back as the same value of
// that many bits.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "nan"...)
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// half is the value of an IEEE 754 binary16: 1 bit of sign, 5 of exponent
// (bias 15), 10 of fraction.
func half(bits uint16) float32 {
	sign := 1.0
	if bits>>15 != 0 {
		sign = -1
	}
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	switch exponent {
	case 31:
		if fraction != 0 {
			return float32(math.NaN())
		}
		return float32(math.Inf(int(sign)))
	case 0: // subnormal
		return float32(sign * math.Ldexp(fraction, -24))
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}
