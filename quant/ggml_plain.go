package quant

import (
	"encoding/binary"
	"math"

	"ckpt/dtype"
)

func word(b []byte, at int) uint16  { return binary.LittleEndian.Uint16(b[at:]) }
func dword(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }

// half reads an F16 field.
func half(b []byte, at int) float32 { return fromF16(word(b, at)) }

// putHalf writes an F16 field, rounded to nearest even.
func putHalf(b []byte, at int, x float32) { binary.LittleEndian.PutUint16(b[at:], toF16(float64(x))) }

// Types of one element a block. Integers and F64 are rounded once.

func decodeF32(dst []float32, src []byte) { dst[0] = math.Float32frombits(dword(src, 0)) }

func decodeF16(dst []float32, src []byte) { dst[0] = half(src, 0) }

func decodeBF16(dst []float32, src []byte) { dst[0] = fromBF16(word(src, 0)) }

func decodeF64(dst []float32, src []byte) {
	dst[0] = float32(math.Float64frombits(binary.LittleEndian.Uint64(src)))
}

func decodeI8(dst []float32, src []byte) { dst[0] = float32(int8(src[0])) }

func decodeI16(dst []float32, src []byte) { dst[0] = float32(int16(word(src, 0))) }

func decodeI32(dst []float32, src []byte) { dst[0] = float32(int32(dword(src, 0))) }

func decodeI64(dst []float32, src []byte) {
	dst[0] = float32(int64(binary.LittleEndian.Uint64(src)))
}

// loads reads many numbers of one type.
func loads(t dtype.Type) func(dst []float32, src []byte) {
	return func(dst []float32, src []byte) { load(dst, t, src) }
}

func encodeF32(dst []byte, src []float32) {
	binary.LittleEndian.PutUint32(dst, math.Float32bits(src[0]))
}

func encodeF16(dst []byte, src []float32) { putHalf(dst, 0, src[0]) }

// encodeBF16 keeps the upper bits of a NaN and makes it quiet.
func encodeBF16(dst []byte, src []float32) {
	b := math.Float32bits(src[0])
	if src[0] != src[0] {
		binary.LittleEndian.PutUint16(dst, uint16(b>>16)|1<<6)
		return
	}
	binary.LittleEndian.PutUint16(dst, uint16((b+0x7FFF+b>>16&1)>>16))
}
