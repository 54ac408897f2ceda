package quant

import (
	"fmt"

	"ckpt/quant/internal/kernel"
)

// Packed is a tensor in some layout. Where the scales lie inside the blocks
// (GGML) Codes holds the blocks and Scales is empty.
type Packed struct {
	Codes, Scales []byte
}

// Transcode brings rows × k elements from one layout to another. No value is
// touched: it is a permutation of nibbles and bytes. Tensor scales are not
// among them: see NVFP4TensorScale. dst and src must not overlap.
//
// Every system but GGML writes consecutive nibbles; MLX's words are the same
// bytes, the first in the low bits, and gpt-oss's four dimensions the same rows.
func Transcode(f Format, to Layout, dst Packed, from Layout, src Packed, rows, k int) error {
	if !to.carries(f) || !from.carries(f) {
		return fmt.Errorf("%s from %s to %s: %w", f, from, to, ErrUnsupported)
	}
	if err := from.check(f, src, rows, k); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	if err := to.check(f, dst, rows, k); err != nil {
		return fmt.Errorf("destination: %w", err)
	}
	n := rows * k / f.Block()
	switch {
	case from.inside() && to.inside():
		copy(dst.Codes, src.Codes)
	case to.inside():
		group(f, dst.Codes, src.Codes, src.Scales, n)
	case from.inside():
		ungroup(f, dst.Codes, dst.Scales, src.Codes, n)
	default:
		copy(dst.Codes, src.Codes)
		copy(dst.Scales, src.Scales)
	}
	return nil
}

// inside says whether scales lie inside the blocks.
func (l Layout) inside() bool { return l == LayoutGGML || l == LayoutGGMLNVFP4 }

// carries says whether a layout is one of this format.
func (l Layout) carries(f Format) bool {
	switch l {
	case LayoutPlain:
		return f.valid()
	case LayoutCompressedTensors, LayoutGPTOSS, LayoutDeepSeek, LayoutKimiLinear, LayoutGGML:
		return f == MXFP4
	case LayoutCompressedTensors8:
		return f == MXFP8E4M3
	case LayoutQuark:
		return f == MXFP4 || f == MXFP6E2M3 || f == MXFP6E3M2
	case LayoutMLX:
		return f == MXFP4 || f == MXFP8E4M3
	case LayoutModelOptNVFP4, LayoutCompressedTensorsNVFP4, LayoutGGMLNVFP4:
		return f == NVFP4
	default:
		return false
	}
}

// groupOf is the number of scales in one of GGML's blocks.
func groupOf(f Format) int {
	if f == NVFP4 {
		return 4
	}
	return 1
}

// check holds the lengths of a tensor against its shape.
func (l Layout) check(f Format, p Packed, rows, k int) error {
	unit := f.Block()
	if l.inside() {
		unit *= groupOf(f)
	}
	if rows < 0 || k < 0 || k%unit != 0 || k > 0 && rows > maxElements/k {
		return fmt.Errorf("%w: %d rows of %d, blocks of %d", ErrShape, rows, k, unit)
	}
	codes, scales := rows*f.CodeBytes(k), rows*f.ScaleBytes(k)
	if l.inside() {
		codes, scales = codes+scales, 0
	}
	if len(p.Codes) != codes || len(p.Scales) != scales {
		return fmt.Errorf("%w: %d bytes of codes and %d of scales, want %d and %d", ErrShape, len(p.Codes), len(p.Scales), codes, scales)
	}
	return nil
}

// maxElements keeps sizes in bytes within an int.
const maxElements = int(^uint(0)>>1) / 4

// group writes GGML's blocks: scales first, then each scale's codes with the
// second half of the block in the high nibbles.
func group(f Format, dst, codes, scales []byte, blocks int) {
	if f == MXFP4 {
		groupMXFP4(implementations()[0], dst, codes, scales)
		return
	}
	g, size := groupOf(f), f.Block()/2
	for i := 0; i < blocks; i += g {
		dst = dst[copy(dst, scales[i:i+g]):]
		for range g {
			splitHalves(dst[:size], codes[:size])
			dst, codes = dst[size:], codes[size:]
		}
	}
}

// ungroup is the inverse of group.
func ungroup(f Format, codes, scales, src []byte, blocks int) {
	if f == MXFP4 {
		ungroupMXFP4(implementations()[0], codes, scales, src)
		return
	}
	g, size := groupOf(f), f.Block()/2
	for i := 0; i < blocks; i += g {
		src = src[copy(scales[i:i+g], src):]
		for range g {
			joinHalves(codes[:size], src[:size])
			codes, src = codes[size:], src[size:]
		}
	}
}

// groupBlocks of MXFP4 stay in the first-level cache between two passes over them.
const groupBlocks = 512

func groupMXFP4(s *kernel.Set, dst, codes, scales []byte) {
	for len(scales) > 0 {
		n := min(groupBlocks, len(scales))
		s.Split(dst[1:], codes, 17, 16, n)
		for i, b := range scales[:n] {
			dst[17*i] = b
		}
		dst, codes, scales = dst[17*n:], codes[16*n:], scales[n:]
	}
}

func ungroupMXFP4(s *kernel.Set, codes, scales, src []byte) {
	for len(scales) > 0 {
		n := min(groupBlocks, len(scales))
		s.Join(codes, src[1:], 16, 17, n)
		for i := range scales[:n] {
			scales[i] = src[17*i]
		}
		codes, scales, src = codes[16*n:], scales[n:], src[17*n:]
	}
}

// splitHalves turns consecutive nibbles of one block into byte j = element j
// low, element j + n/2 high.
func splitHalves(dst, src []byte) {
	half := len(src) / 2
	for j := range half {
		a, b := src[j], src[j+half]
		dst[2*j], dst[2*j+1] = a&15|b<<4, a>>4|b&0xF0
	}
}

// joinHalves is the inverse of splitHalves.
func joinHalves(dst, src []byte) {
	half := len(src) / 2
	for j := range half {
		a, b := src[2*j], src[2*j+1]
		dst[j], dst[j+half] = a&15|b<<4, a>>4|b&0xF0
	}
}

// InterleaveRows writes gate's rows at the even places and up's at the odd
// ones, as gpt-oss stores its fused projections.
func InterleaveRows(dst, gate, up []byte, rows int) error {
	if err := checkPair(dst, gate, up, rows); err != nil || rows == 0 {
		return err
	}
	n := len(gate) / rows
	for i := range rows {
		copy(dst[2*i*n:], gate[i*n:(i+1)*n])
		copy(dst[(2*i+1)*n:], up[i*n:(i+1)*n])
	}
	return nil
}

// DeinterleaveRows is the inverse of InterleaveRows.
func DeinterleaveRows(gate, up, src []byte, rows int) error {
	if err := checkPair(src, gate, up, rows); err != nil || rows == 0 {
		return err
	}
	n := len(gate) / rows
	for i := range rows {
		copy(gate[i*n:(i+1)*n], src[2*i*n:])
		copy(up[i*n:(i+1)*n], src[(2*i+1)*n:])
	}
	return nil
}

func checkPair(both, gate, up []byte, rows int) error {
	if rows < 0 || len(gate) != len(up) || len(both) != 2*len(gate) || rows == 0 && len(gate) > 0 || rows > 0 && len(gate)%rows != 0 {
		return fmt.Errorf("%w: %d and %d bytes in %d rows each, %d interleaved", ErrShape, len(gate), len(up), rows, len(both))
	}
	return nil
}
