package quant

import (
	"bytes"
	"sync"

	"ckpt/dtype"
	"ckpt/quant/internal/kernel"
)

// Kernels get at most a MiB of numbers a call: assembly cannot be preempted.
const (
	pieceBlocks = 1 << 20 / (2 * kernel.Block)
	// wideBlocks is the number of blocks of F32 or F16 that are narrowed to
	// bf16 at a time; they stay in the first-level cache.
	wideBlocks = 64
)

type (
	encodeKernelFunc func(codes, scales, src []byte, r *kernel.Rule) kernel.Counts
	decodeKernelFunc func(dst, codes, scales []byte) int
)

// fastEncoder is the encoder of s for e's work, nil where it has none.
func fastEncoder(e *Encoder, s *kernel.Set) encodeKernel {
	if s == nil {
		return nil
	}
	var run encodeKernelFunc
	switch e.recipe.Format {
	case MXFP4:
		run = s.EncodeE2M1
	case MXFP8E4M3:
		run = s.EncodeE4M3
	case MXFP8E5M2:
		run = s.EncodeE5M2
	default:
		return nil
	}
	rule, ok := e.recipe.integers(e.source)
	if !ok {
		return nil
	}
	step, widest := pieceBlocks, run
	switch e.source {
	case dtype.F32:
		step, widest = wideBlocks, narrowed(s.NarrowF32, run)
	case dtype.F16:
		step, widest = wideBlocks, narrowed(s.NarrowF16, run)
	}
	return func(e *Encoder, codes, scales, src []byte, blocks int, rep *Report) error {
		in, out := kernel.Block*e.size, e.recipe.Format.CodeBytes(kernel.Block)
		for at := 0; at < blocks; at += step {
			end := min(at+step, blocks)
			n := widest(codes[at*out:end*out], scales[at:end], src[at*in:end*in], rule)
			rep.Blocks += int64(end - at - n.Redo)
			rep.Clipped += int64(n.Clipped)
			if n.Redo > 0 {
				if err := e.redo(codes, scales, src, at, end, rep); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// words holds wideBlocks as bf16. Kernels are called by their address, so what
// they get lies on the heap: it is used again.
type words [wideBlocks * 2 * kernel.Block]byte

var rooms = sync.Pool{New: func() any { return new(words) }}

// narrowed puts narrowing before an encoder; the numbers are at most wideBlocks.
func narrowed(narrow func(dst, src []byte), run encodeKernelFunc) encodeKernelFunc {
	return func(codes, scales, src []byte, r *kernel.Rule) kernel.Counts {
		room := rooms.Get().(*words)
		defer rooms.Put(room)
		bf16 := room[:len(scales)*2*kernel.Block]
		narrow(bf16, src)
		return run(codes, scales, bf16, r)
	}
}

// redo encodes the blocks from at to end that a kernel left. Blocks of zeros, of
// which a tensor may be full, need no arithmetic.
func (e *Encoder) redo(codes, scales, src []byte, at, end int, rep *Report) error {
	in, out := kernel.Block*e.size, e.recipe.Format.CodeBytes(kernel.Block)
	zero := e.recipe.zeroBytes()
	for {
		i := bytes.IndexByte(scales[at:end], kernel.Redo)
		if i < 0 {
			return nil
		}
		at += i
		x, c := src[at*in:(at+1)*in], codes[at*out:(at+1)*out]
		if e.zeroBlock(c, x, zero[:len(c)]) {
			scales[at] = e.recipe.zeroScale(e.source).byte
			rep.Blocks++
			rep.ZeroBlocks++
		} else {
			b, err := e.block(c, x, int64(at), rep)
			if err != nil {
				return err
			}
			scales[at] = b
		}
		at++
	}
}

// zeroBytes are the codes of a block of +0.
func (r *Recipe) zeroBytes() (z [kernel.Block]byte) {
	var codes [kernel.Block]byte
	r.fill(&block{codes: codes[:]}, r.zeroCode(), 0)
	r.Format.pack(z[:r.Format.CodeBytes(kernel.Block)], codes[:])
	return z
}

// integers is the recipe as a kernel takes it, or false where its arithmetic is
// not that of the bits of the maximum. Of scale bytes it claims those that every
// system agrees on; what is below or above is the reference's.
func (r *Recipe) integers(source dtype.Type) (*kernel.Rule, bool) {
	elem := r.Format.Element()
	k, t := r.Rule.Threshold(elem)
	up := (t + 1<<16 - 1) >> 16 // the smallest mantissa of 7 bits that goes up
	wide := source != dtype.BF16
	switch {
	case r.Rule == MSE || r.ends == quarkOwn || r.reckon == byOwnLog2:
		return nil, false // two candidates; logarithms whose error depends on the exponent
	case wide && r.reckon == byLog2, source == dtype.F16 && r.reckon == byOwnQuotient:
		return nil, false // exact for the maxima of bf16 only
	case wide && (t&0xFFFE != 0 || t>>16&1 != 0):
		return nil, false // a threshold that a sticky bit does not keep
	case elem != E2M1 && r.Tie != TieEven:
		return nil, false
	}
	rule := kernel.Rule{Add: uint16(128 - up), Sub: uint16(k), Hi: uint16(254 - k)}
	switch elem {
	case E2M1:
		rule.Lo = 3
	case E4M3:
		rule.Lo, rule.Hi = 11, min(rule.Hi, 245)
	default:
		rule.Lo = 18
	}
	if r.halves(source) {
		rule.Lo, rule.Hi = max(rule.Lo, uint16(113-k)), min(rule.Hi, uint16(142-k)) // the normal numbers of F16
	}
	if r.Tie == TieEven {
		rule.TieOdd = 1
	}
	if r.Tie == TieAway {
		rule.TieAll = 1
	}
	const yes = 0xFFFF
	switch r.Signs {
	case SignsDropped:
		rule.CodeDrop = yes
	case SignsTiny:
		rule.ZeroDrop = yes
	case SignsMinus:
		rule.ZeroSet = yes
	}
	if r.Signs == SignsTiny || r.Signs == SignsMinus {
		rule.Hi = min(rule.Hi, 127) // above it the quotient of a number that is not zero may be
	}
	return rule.Seal(), true
}

// fastDecoder is the decoder of s for d's work, nil where it has none.
func fastDecoder(d *Decoder, s *kernel.Set) decodeKernel {
	if s == nil {
		return nil
	}
	var run decodeKernelFunc
	switch d.format {
	case MXFP4:
		run = s.DecodeE2M1
	case MXFP8E4M3:
		run = s.DecodeE4M3
	case MXFP8E5M2:
		run = s.DecodeE5M2
	default:
		return nil
	}
	step := pieceBlocks
	switch d.out {
	case dtype.BF16:
	case dtype.F32:
		step, run = wideBlocks, widened(s.WidenBF16, run)
	default:
		return nil // F16 has not the range
	}
	edges := edgesOf(d.format, d.out)
	return func(d *Decoder, dst, codes, scales []byte, blocks int) {
		in, out := d.format.CodeBytes(kernel.Block), kernel.Block*d.size
		for at := 0; at < blocks; {
			end := min(at+step, blocks)
			at += run(dst[at*out:end*out], codes[at*in:end*in], scales[at:end])
			if n := min(end-at, edgeBlocks); n > 0 { // the kernel stopped at a block
				edges.decode(dst[at*out:(at+n)*out], codes[at*in:(at+n)*in], scales[at:at+n])
				at += n
			}
		}
	}
}

func widened(widen func(dst, src []byte), run decodeKernelFunc) decodeKernelFunc {
	return func(dst, codes, scales []byte) int {
		room := rooms.Get().(*words)
		defer rooms.Put(room)
		n := run(room[:len(scales)*2*kernel.Block], codes, scales)
		widen(dst, room[:n*2*kernel.Block])
		return n
	}
}
