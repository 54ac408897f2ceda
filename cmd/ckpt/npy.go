package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"ckpt/dtype"
)

// npyTypes names the array types of NumPy. Types that NumPy lacks stand as
// their bits.
var npyTypes = map[dtype.Type]string{
	dtype.BOOL: "|b1", dtype.U8: "|u1", dtype.I8: "|i1",
	dtype.F8_E5M2: "|u1", dtype.F8_E4M3: "|u1", dtype.F8_E8M0: "|u1",
	dtype.F8_E4M3FNUZ: "|u1", dtype.F8_E5M2FNUZ: "|u1",
	dtype.I16: "<i2", dtype.U16: "<u2", dtype.F16: "<f2", dtype.BF16: "<u2",
	dtype.I32: "<i4", dtype.U32: "<u4", dtype.F32: "<f4",
	dtype.I64: "<i8", dtype.U64: "<u8", dtype.F64: "<f8", dtype.C64: "<c8",
}

// npyMagic begins a file of format 1.0; the header after it is padded so that
// the data start at a multiple of 64 bytes.
const (
	npyMagic = "\x93NUMPY\x01\x00"
	npyAlign = 64
)

func writeNPY(w io.Writer, in source, part *selection) error {
	if _, err := w.Write(npyHeader(part)); err != nil {
		return err
	}
	return in.copy(w, part)
}

func npyHeader(part *selection) []byte {
	kind, shape := npyTypes[part.dtype], part.shape
	if kind == "" { // packed: the bytes that hold the elements
		kind, shape = "|u1", packedShape(part)
	}
	var dims strings.Builder
	for _, n := range shape {
		fmt.Fprintf(&dims, "%d, ", n)
	}
	text := strings.TrimSuffix(dims.String(), " ")
	if len(shape) > 1 {
		text = strings.TrimSuffix(text, ",")
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, text)
	room := len(npyMagic) + 2 + len(header) + 1
	header += strings.Repeat(" ", (npyAlign-room%npyAlign)%npyAlign) + "\n"
	out := binary.LittleEndian.AppendUint16([]byte(npyMagic), uint16(len(header)))
	return append(out, header...)
}

// packedShape is the shape in bytes: of the last dimension where its rows end
// on bytes, else flat.
func packedShape(part *selection) []uint64 {
	if n := len(part.shape); n > 0 {
		if row, err := part.dtype.Size(part.shape[n-1:]); err == nil {
			return append(append([]uint64{}, part.shape[:n-1]...), row)
		}
	}
	total := uint64(0)
	for range part.runs() {
		total += uint64(part.run)
	}
	return []uint64{total}
}
