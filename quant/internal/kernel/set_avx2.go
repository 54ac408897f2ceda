//go:build amd64 && !noasm

package kernel

import "unsafe"

// lanes is the number of blocks that the assembly takes at a time; a rest is
// padded with zeros.
const lanes = 16

// AVX2 is the Set in AVX2 assembly. It must not be used on a processor without.
func AVX2() *Set {
	return &Set{
		Name:       "avx2",
		EncodeE2M1: encoder(Block/2, encodeE2M1AVX2, encodeE2M1ZerosAVX2),
		EncodeE4M3: encoder(Block, encodeE4M3AVX2, encodeE4M3ZerosAVX2),
		EncodeE5M2: encoder(Block, encodeE5M2AVX2, encodeE5M2ZerosAVX2),
		DecodeE2M1: decoder(Block/2, decodeE2M1AVX2, decodeE2M1),
		DecodeE4M3: decoder(Block, decodeE4M3AVX2, func(dst, codes, scales []byte) int { return decode8(dst, codes, scales, &e4m3) }),
		DecodeE5M2: decoder(Block, decodeE5M2AVX2, func(dst, codes, scales []byte) int { return decode8(dst, codes, scales, &e5m2) }),
		NarrowF32:  stream(4, 2, narrowF32AVX2, narrowF32),
		NarrowF16:  stream(2, 2, narrowF16AVX2, narrowF16),
		WidenBF16:  stream(2, 4, widenBF16AVX2, widenBF16),
		Split:      blocks(splitAVX2),
		Join:       blocks(joinAVX2),
		Errors:     errorsAVX2,
		Beyond:     beyondBlocks,
	}
}

func encoder(code int, plain, zeros func(codes, scales, src *byte, n int, r *byte) (redo, clipped int)) func(codes, scales, src []byte, r *Rule) Counts {
	return func(codes, scales, src []byte, r *Rule) (n Counts) {
		run, rule := plain, (*byte)(unsafe.Pointer(r))
		if r.zeros() {
			run = zeros
		}
		// the slices prove the lengths that assembly relies on
		codes, src = codes[:len(scales)*code], src[:len(scales)*2*Block]
		whole := len(scales) / lanes * lanes
		if whole > 0 {
			n.Redo, n.Clipped = run(first(codes), first(scales), first(src), whole, rule)
		}
		if rest := len(scales) - whole; rest > 0 {
			var in [lanes * 2 * Block]byte
			var out [lanes * Block]byte
			var s [lanes]byte
			copy(in[:], src[whole*2*Block:])
			redo, clipped := run(&out[0], &s[0], &in[0], lanes, rule)
			copy(codes[whole*code:], out[:])
			copy(scales[whole:], s[:])
			for _, b := range s[rest:] { // zeros: to be redone, or a scale like any other
				if b == Redo {
					redo--
				}
			}
			n.Redo, n.Clipped = n.Redo+redo, n.Clipped+clipped
		}
		return n
	}
}

func decoder(code int, run func(dst, codes, scales *byte, n int) int, portable func(dst, codes, scales []byte) int) func(dst, codes, scales []byte) int {
	return func(dst, codes, scales []byte) (done int) {
		codes, dst = codes[:len(scales)*code], dst[:len(scales)*2*Block]
		if whole := len(scales) / lanes * lanes; whole > 0 {
			done = run(first(dst), first(codes), first(scales), whole)
			dst, codes, scales = dst[done*2*Block:], codes[done*code:], scales[done:]
			if done < whole { // this batch holds a block that cannot be done
				scales = scales[:lanes]
			}
		}
		return done + portable(dst, codes, scales)
	}
}

func stream(in, out int, run func(dst, src *byte, n int), portable func(dst, src []byte)) func(dst, src []byte) {
	return func(dst, src []byte) {
		n := len(src) / in
		dst = dst[:n*out]
		whole := n / Block
		if whole > 0 {
			run(first(dst), first(src), whole)
		}
		portable(dst[whole*Block*out:], src[whole*Block*in:n*in])
	}
}

func blocks(run func(dst, src *byte, dstStride, srcStride, n int)) func(dst, src []byte, dstStride, srcStride, blocks int) {
	return func(dst, src []byte, dstStride, srcStride, blocks int) {
		if blocks <= 0 {
			return
		}
		_, _ = dst[(blocks-1)*dstStride:][:Block/2], src[(blocks-1)*srcStride:][:Block/2]
		run(first(dst), first(src), dstStride, srcStride, blocks)
	}
}

func errorsAVX2(s *Sums, x, y []float32) {
	y = y[:len(x)]
	whole := len(x) / 4
	if whole > 0 {
		errorSumsAVX2((*byte)(unsafe.Pointer(s)), unsafe.SliceData(x), unsafe.SliceData(y), whole)
	}
	errorSums(s, x[whole*4:], y[whole*4:])
}

func beyondBlocks(limits []uint32, x []float32) (above, zeros int) {
	if len(limits) == 0 || len(x) != len(limits)*Block {
		return beyond(limits, x)
	}
	return beyondAVX2(unsafe.SliceData(limits), unsafe.SliceData(x), len(limits))
}
