package quant

import "fmt"

// Swizzle is an order in which a device wants a matrix of bytes: scales, one a
// block, or packed codes. It is a permutation after padding with zeros.
type Swizzle uint8

// The swizzles.
const (
	// CuBLASScales: tiles of 128 rows × 4 columns, row-tile major; within a
	// tile the offset is (r%32)*16 + (r%128/32)*4 + c%4.
	CuBLASScales Swizzle = iota + 1
	// AMDScales: rows padded to 256, columns to 8; the offset is
	// (r/32)*32C + (c/8)*256 + (c%4)*64 + (r%16)*4 + (c%8/4)*2 + (r%32)/16.
	AMDScales
	// AMDWeights: packed codes in tiles of 16 rows × 32 bytes; the offset is
	// (r/16)*16C + (c/32)*512 + (c%32/16)*256 + (r%16)*16 + c%16. Nothing is
	// padded: rows must be a multiple of 16, columns of 32.
	AMDWeights
)

// String is the name of s.
func (s Swizzle) String() string {
	return named8("Swizzle", uint8(s), "", "cublas scales", "amd scales", "amd weights")
}

// Padded is the shape after padding.
func (s Swizzle) Padded(rows, cols int) (int, int) {
	switch s {
	case CuBLASScales:
		return up(rows, 128), up(cols, 4)
	case AMDScales:
		return up(rows, 256), up(cols, 8)
	default:
		return rows, cols
	}
}

func up(n, unit int) int { return (n + unit - 1) / unit * unit }

// offset is where the byte of row r and column c goes; cols is padded.
func (s Swizzle) offset(r, c, cols int) int {
	switch s {
	case CuBLASScales:
		return r/128*128*cols + c/4*512 + r%32*16 + r%128/32*4 + c%4
	case AMDScales:
		return r/32*32*cols + c/8*256 + c%4*64 + r%16*4 + c%8/4*2 + r%32/16
	default:
		return r/16*16*cols + c/32*512 + c%32/16*256 + r%16*16 + c%16
	}
}

// Apply permutes a row-major matrix into dst, whose length is that of the
// padded shape.
func (s Swizzle) Apply(dst, src []byte, rows, cols int) error {
	padded, err := s.check(len(dst), len(src), rows, cols)
	if err != nil {
		return err
	}
	if len(dst) != len(src) {
		clear(dst)
	}
	if len(src) == 0 {
		return nil
	}
	for r := range rows {
		for c := range cols {
			dst[s.offset(r, c, padded)] = src[r*cols+c]
		}
	}
	return nil
}

// Undo is the inverse of Apply: it drops the padding.
func (s Swizzle) Undo(dst, src []byte, rows, cols int) error {
	padded, err := s.check(len(src), len(dst), rows, cols)
	if err != nil {
		return err
	}
	if len(dst) == 0 {
		return nil
	}
	for r := range rows {
		for c := range cols {
			dst[r*cols+c] = src[s.offset(r, c, padded)]
		}
	}
	return nil
}

// check holds lengths against a shape and gives the padded columns.
func (s Swizzle) check(swizzled, plain, rows, cols int) (int, error) {
	if s < CuBLASScales || s > AMDWeights {
		return 0, fmt.Errorf("swizzle %d: %w", uint8(s), ErrUnsupported)
	}
	if rows < 0 || cols < 0 || rows > 1<<30 || cols > 1<<30 {
		return 0, fmt.Errorf("%w: %d × %d", ErrShape, rows, cols)
	}
	if s == AMDWeights && (rows%16 != 0 || cols%32 != 0) {
		return 0, fmt.Errorf("%w: %d × %d is not made of tiles of 16 × 32", ErrShape, rows, cols)
	}
	r, c := s.Padded(rows, cols)
	if int64(plain) != int64(rows)*int64(cols) || int64(swizzled) != int64(r)*int64(c) {
		return 0, fmt.Errorf("%w: %d × %d in %d bytes, %d swizzled, want %d", ErrShape, rows, cols, plain, swizzled, int64(r)*int64(c))
	}
	return c, nil
}
