package quant

import (
	"encoding/binary"
	"math"
	"sync"

	"ckpt/dtype"
	"ckpt/quant/internal/kernel"
)

// What kernels leave is rare but for two things that tensors may be full of:
// blocks of zeros, and scale bytes at the ends of the range.

// zeroBlock encodes a block of zeros of either sign; false leaves any other to
// the reference. codes of +0 are given.
func (e *Encoder) zeroBlock(codes, src, plus []byte) bool {
	signs := uint64(1 << 63)
	signs |= signs >> (8 * e.size)
	if e.size == 2 {
		signs |= signs >> 32
	}
	var seen uint64
	for i := 0; i < len(src); i += 8 {
		seen |= binary.LittleEndian.Uint64(src[i:])
	}
	if seen&^signs != 0 {
		return false
	}
	copy(codes, plus)
	if seen == 0 || e.recipe.Signs != SignsKept {
		return true // the sign of zero does not matter
	}
	at := e.size - 1 // the byte with the sign
	if len(codes) == kernel.Block {
		for i := range codes {
			codes[i] = src[at] & 0x80
			at += e.size
		}
		return true
	}
	for i := range codes {
		codes[i] = src[at]>>4&8 | src[at+e.size]&0x80
		at += 2 * e.size
	}
	return true
}

// edgeBlocks is the number of blocks that are looked up where a kernel stops.
const edgeBlocks = 16

// edges decodes blocks of any scale by a table of every product.
type edges struct {
	bits  int // of a code
	wide  bool
	table func() []uint32
}

// products are the edges of a format in F32 and BF16.
var products = func() (all [MXFP8E5M2 + 1][2]edges) {
	for _, f := range []Format{MXFP4, MXFP8E4M3, MXFP8E5M2} {
		for i, out := range [...]dtype.Type{dtype.BF16, dtype.F32} {
			all[f][i] = edges{f.Element().Bits(), out == dtype.F32, sync.OnceValue(func() []uint32 { return tabled(f, out) })}
		}
	}
	return all
}()

func edgesOf(f Format, out dtype.Type) *edges {
	if out == dtype.F32 {
		return &products[f][1]
	}
	return &products[f][0]
}

// tabled is the bits of every code under every scale byte, as the reference has
// them: the code in the low bits of the index.
func tabled(f Format, out dtype.Type) []uint32 {
	bits := f.Element().Bits()
	t := make([]uint32, 256<<bits)
	for i := range t {
		v := [1]float64{float64(f.Element().Decode(uint8(i&(1<<bits-1)))) * float64(E8M0(byte(i>>bits)))}
		var b [4]byte
		if out == dtype.F32 {
			store(b[:], out, v[:])
		} else {
			store(b[:2], out, v[:])
		}
		t[i] = binary.LittleEndian.Uint32(b[:])
	}
	return t
}

// decode decodes whole blocks.
func (g *edges) decode(dst, codes, scales []byte) {
	t, size := g.table(), kernel.Block*g.bits/8
	for b, s := range scales {
		row, in := t[int(s)<<g.bits:][:1<<g.bits], codes[b*size:][:size]
		var words [kernel.Block]uint32
		if g.bits == 4 {
			for i, c := range in {
				words[2*i], words[2*i+1] = row[c&15], row[c>>4]
			}
		} else {
			for i, c := range in {
				words[i] = row[c]
			}
		}
		if g.wide {
			out := dst[b*4*kernel.Block:][:4*kernel.Block]
			for i, w := range words {
				binary.LittleEndian.PutUint32(out[4*i:], w)
			}
			continue
		}
		out := dst[b*2*kernel.Block:][:2*kernel.Block]
		for i := 0; i < len(words); i += 2 {
			binary.LittleEndian.PutUint32(out[2*i:], words[i]&math.MaxUint16|words[i+1]<<16)
		}
	}
}
