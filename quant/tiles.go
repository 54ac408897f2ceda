package quant

import (
	"encoding/binary"
	"fmt"
	"math"

	"ckpt/dtype"
)

// Tiles describes a matrix of FP8 codes with one scale a tile, as DeepSeek-V3
// writes them (128 × 128, weight_scale_inv, a multiplier). The last tile of a
// row or column may be cut.
type Tiles struct {
	Element      Element    // E4M3 or E5M2
	Rows, Cols   int        // of the matrix
	TileRows     int        // 128
	TileCols     int        // 128
	ScaleType    dtype.Type // F32, BF16, F16 or F8_E8M0
	OutputType   dtype.Type // BF16, F16 or F32
	scaleColumns int
}

// DecodeTiles decodes the whole matrix: the product of element and scale is
// rounded once to the output's type, ties to even. A NaN scale makes its tile
// NaN; scales lie row-major, one a tile.
func DecodeTiles(dst, codes, scales []byte, t Tiles) error {
	size, err := t.check(len(dst), len(codes), len(scales))
	if err != nil {
		return err
	}
	if len(dst) == 0 {
		return nil
	}
	row := make([]float64, t.Cols)
	for r := range t.Rows {
		for c := range t.Cols {
			s := t.scale(scales, r/t.TileRows*t.scaleColumns+c/t.TileCols)
			row[c] = float64(t.Element.Decode(codes[r*t.Cols+c])) * s
		}
		store(dst[r*t.Cols*size:(r+1)*t.Cols*size], t.OutputType, row)
	}
	return nil
}

func (t *Tiles) scale(scales []byte, i int) float64 {
	var v [1]float32
	switch t.ScaleType {
	case dtype.F8_E8M0:
		return float64(E8M0(scales[i]))
	case dtype.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(scales[4*i:])))
	default:
		load(v[:], t.ScaleType, scales[2*i:])
		return float64(v[0])
	}
}

// check holds lengths against the shape and gives the bytes of a number.
func (t *Tiles) check(dst, codes, scales int) (int, error) {
	size, err := sourceBytes(t.OutputType)
	if err != nil {
		return 0, err
	}
	per := 1
	if t.ScaleType != dtype.F8_E8M0 {
		if per, err = sourceBytes(t.ScaleType); err != nil {
			return 0, fmt.Errorf("scales: %w", err)
		}
	}
	if t.Element != E4M3 && t.Element != E5M2 {
		return 0, fmt.Errorf("tiles of %s: %w", t.Element, ErrUnsupported)
	}
	if t.Rows < 0 || t.Cols < 0 || t.Rows > 1<<30 || t.Cols > 1<<30 || t.TileRows <= 0 || t.TileCols <= 0 {
		return 0, fmt.Errorf("%w: %d × %d in tiles of %d × %d", ErrShape, t.Rows, t.Cols, t.TileRows, t.TileCols)
	}
	t.scaleColumns = (t.Cols + t.TileCols - 1) / t.TileCols
	n := int64(t.Rows) * int64(t.Cols)
	tiles := int64((t.Rows+t.TileRows-1)/t.TileRows) * int64(t.scaleColumns)
	if int64(codes) != n || int64(dst) != n*int64(size) || int64(scales) != tiles*int64(per) {
		return 0, fmt.Errorf("%w: %d × %d from %d bytes of codes and %d of scales into %d; %d scales are wanted",
			ErrShape, t.Rows, t.Cols, codes, scales, dst, tiles)
	}
	return size, nil
}
