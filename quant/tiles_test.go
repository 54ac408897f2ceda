package quant

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"ckpt/dtype"
)

// The product is formed exactly and rounded once, in tiles that are cut too.
func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	for _, el := range []Element{E4M3, E5M2} {
		for _, st := range []dtype.Type{dtype.F32, dtype.BF16, dtype.F8_E8M0} {
			const rows, cols = 130, 257
			codes := randomBytes(rng, rows*cols)
			values := make([]float64, 2*3)
			var scales []byte
			for i := range values {
				x := math.Float32frombits(0x3A000000 + rng.Uint32()>>6)
				switch st {
				case dtype.F32:
					scales = binary.LittleEndian.AppendUint32(scales, math.Float32bits(x))
				case dtype.BF16:
					scales = binary.LittleEndian.AppendUint16(scales, toBF16(x))
					x = fromBF16(toBF16(x))
				default:
					scales = append(scales, byte(i*50))
					x = E8M0(byte(i * 50))
				}
				values[i] = float64(x)
			}
			dst := make([]byte, rows*cols*2)
			err := DecodeTiles(dst, codes, scales, Tiles{
				Element: el, Rows: rows, Cols: cols, TileRows: 128, TileCols: 128, ScaleType: st, OutputType: dtype.BF16,
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, code := range codes {
				s := values[i/cols/128*3+i%cols/128]
				want := exactBF16(float64(el.Decode(code)), s)
				got := binary.LittleEndian.Uint16(dst[2*i:])
				if nan := got&0x7FFF > 0x7F80 && want&0x7FFF > 0x7F80; got != want && !nan {
					t.Fatalf("%s, scales %s: element %d code %#x × %v = %#x, want %#x", el, st, i, code, s, got, want)
				}
			}
		}
	}
}

// exactBF16 is a*b rounded to bf16 by math/big.
func exactBF16(a, b float64) uint16 {
	if p := a * b; p != p || math.IsInf(a, 0) || p == 0 {
		return uint16(math.Float32bits(float32(p)) >> 16)
	}
	p := new(big.Float).SetPrec(200).Mul(big.NewFloat(a), big.NewFloat(b))
	return exactNarrow(p, 8, 7)
}

// Tiles need not be square.
func TestTilesOfTwoByThree(t *testing.T) {
	codes := []byte{0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38, 0x38} // ones, 3 × 4
	dst := make([]byte, 48)
	scales := bytesOf(dtype.F32, []float32{1, 2, 3, 4})
	err := DecodeTiles(dst, codes, scales, Tiles{
		Element: E4M3, Rows: 3, Cols: 4, TileRows: 2, TileCols: 3, ScaleType: dtype.F32, OutputType: dtype.F32,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got [12]float32
	load(got[:], dtype.F32, dst)
	if want := [12]float32{1, 1, 1, 2, 1, 1, 1, 2, 3, 3, 3, 4}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTilesRefuse(t *testing.T) {
	ok := Tiles{Element: E4M3, Rows: 1, Cols: 1, TileRows: 128, TileCols: 128, ScaleType: dtype.F32, OutputType: dtype.BF16}
	for name, change := range map[string]func(*Tiles){
		"element": func(x *Tiles) { x.Element = E2M1 }, "scales": func(x *Tiles) { x.ScaleType = dtype.U8 },
		"output": func(x *Tiles) { x.OutputType = dtype.F64 },
	} {
		bad := ok
		change(&bad)
		if err := DecodeTiles(make([]byte, 2), make([]byte, 1), make([]byte, 4), bad); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*Tiles){
		"rows": func(x *Tiles) { x.Rows = 2 }, "negative": func(x *Tiles) { x.Cols = -1 }, "tile": func(x *Tiles) { x.TileCols = 0 },
		"huge": func(x *Tiles) { x.Rows, x.Cols = 1<<30, 1<<30 },
	} {
		bad := ok
		change(&bad)
		if err := DecodeTiles(make([]byte, 2), make([]byte, 1), make([]byte, 4), bad); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A matrix without elements takes no time, whatever its other side.
func TestEmptyMatricesReturnAtOnce(t *testing.T) {
	begin := time.Now()
	for _, shape := range [][2]int{{1 << 30, 0}, {0, 1 << 30}, {0, 0}} {
		tiles := Tiles{Element: E4M3, Rows: shape[0], Cols: shape[1], TileRows: 128, TileCols: 128, ScaleType: dtype.F32, OutputType: dtype.F32}
		for range 20 {
			if err := DecodeTiles(nil, nil, nil, tiles); err != nil {
				t.Errorf("tiles %v: %v", shape, err)
			}
			for _, s := range []Swizzle{CuBLASScales, AMDScales, AMDWeights} {
				if err := errors.Join(s.Apply(nil, nil, shape[0], shape[1]), s.Undo(nil, nil, shape[0], shape[1])); err != nil {
					t.Errorf("%s %v: %v", s, shape, err)
				}
			}
		}
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}
