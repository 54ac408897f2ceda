package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A decoder is the part that decoders share.
type decoder struct {
	name                   string
	dst, codes, scales     Register
	n, done                Register
	factors                Mem
	codeBytes, above, size int
}

func newDecoder(name, doc string, codeBytes int) *decoder {
	TEXT(name, NOSPLIT, "func(dst, codes, scales *byte, n int) (done int)")
	Doc(name+" decodes n blocks of "+doc+" to bf16; n is a multiple of 16.", "It stops before the batch of 16 in which a number is not a normal bf16 or zero.")
	Pragma("noescape")
	d := &decoder{
		name:      name,
		dst:       Load(Param("dst"), GP64()),
		codes:     Load(Param("codes"), GP64()),
		scales:    Load(Param("scales"), GP64()),
		n:         Load(Param("n"), GP64()),
		done:      GP64(),
		factors:   AllocLocal(32),
		codeBytes: codeBytes,
	}
	XORQ(d.done, d.done)
	return d
}

// loop runs scale, which turns the scale bytes (as words) into what block needs
// of each, and block for each block. beyond, where it is not nil, collects what
// is no number.
func (d *decoder) loop(lo, hi int, beyond VecVirtual, scale func(s VecVirtual), block func(i int)) {
	Label(d.name + "_loop")
	CMPQ(d.done, d.n)
	JGE(LabelRef(d.name + "_done"))
	s, t, bad, flags := YMM(), YMM(), YMM(), GP32()
	VPMOVZXBW(Mem{Base: d.scales}, s)
	VPCMPGTW(repeated(hi), s, bad)
	VMOVDQU(repeated(lo), t)
	VPCMPGTW(s, t, t)
	VPOR(t, bad, bad)
	VPMOVMSKB(bad, flags)
	TESTL(flags, flags)
	JNZ(LabelRef(d.name + "_done"))
	scale(s)
	VMOVDQU(s, d.factors)
	for i := range batch {
		block(i)
	}
	if beyond != nil {
		VPMOVMSKB(beyond, flags)
		TESTL(flags, flags)
		JNZ(LabelRef(d.name + "_done"))
	}
	ADDQ(U8(batch), d.scales)
	ADDQ(U32(batch*d.codeBytes), d.codes)
	ADDQ(U32(batch*64), d.dst)
	ADDQ(U8(batch), d.done)
	JMP(LabelRef(d.name + "_loop"))
	Label(d.name + "_done")
	Store(d.done, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// E2M1: the bf16 of the sixteen codes under this scale are a table, its lower
// and its upper bytes. Distances are taken from the largest code, so that a
// subtraction that saturates makes zero zero.
func decodeE2M1() {
	d := newDecoder("decodeE2M1AVX2", "E2M1", 16)
	below := constant("below", wordsOf(
		0xFFFF, 448, 320, 256, 192, 128, 64, 0,
		0xFFFF, 448, 320, 256, 192, 128, 64, 0)...)
	signs := constant("tablesigns", wordsOf(0, 0, 0, 0, 0, 0, 0, 0,
		0x8000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000)...)
	belowR, signsR, lowByte, nibble := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(below, belowR)
	VMOVDQU(signs, signsR)
	VMOVDQU(repeated(0xFF), lowByte)
	VMOVDQU(repeatedByte(15), nibble)
	d.loop(2, 252, nil, func(s VecVirtual) {
		VPSLLW(U8(7), s, s)
		VPADDW(repeated(320), s, s)
	}, func(i int) {
		w, lo, hi := YMM(), YMM(), YMM()
		VPBROADCASTW(d.factors.Offset(2*i), w)
		VPSUBUSW(belowR, w, w)
		VPOR(signsR, w, w)
		VPAND(lowByte, w, lo)
		VPSRLW(U8(8), w, w)
		VPACKUSWB(w, lo, lo)
		VPERMQ(U8(0xDD), lo, hi)
		VPERMQ(U8(0x88), lo, lo)

		x, c, t := XMM(), YMM(), YMM()
		VPSHUFD(U8(0xD8), Mem{Base: d.codes, Disp: 16 * i}, x)
		VPMOVZXBW(x, c)
		VPSLLW(U8(4), c, t)
		VPOR(t, c, c)
		VPAND(nibble, c, c)
		VPSHUFB(c, lo, lo)
		VPSHUFB(c, hi, hi)
		VPUNPCKLBW(hi, lo, c)
		VPUNPCKHBW(hi, lo, t)
		VMOVDQU(c, Mem{Base: d.dst, Disp: 64 * i})
		VMOVDQU(t, Mem{Base: d.dst, Disp: 64*i + 32})
	})
}

// Eight bits by way of f16, see encode8.
func decode8(name string, el element) {
	d := newDecoder(name, el.doc, 32)
	beyond := YMM()
	VPXOR(beyond, beyond, beyond)
	d.loop(el.lo, el.hi, beyond, func(s VecVirtual) {
		VPADDW(repeated(254-el.field), s, s)
		VPSLLW(U8(7), s, s)
	}, func(i int) {
		factor := YMM()
		VPBROADCASTW(d.factors.Offset(2*i), factor)
		VPSLLD(U8(16), factor, factor)
		magnitude := YMM()
		VMOVDQU(Mem{Base: d.codes, Disp: 32 * i}, magnitude)
		VPAND(repeatedByte(0x7F), magnitude, magnitude)
		VPCMPGTB(repeatedByte(el.top), magnitude, magnitude)
		VPOR(magnitude, beyond, beyond)
		for h := range 2 {
			w, lo, hi, x := YMM(), YMM(), YMM(), XMM()
			VPMOVSXBW(Mem{Base: d.codes, Disp: 32*i + 16*h}, w)
			VPSLLW(U8(el.shift), w, w)
			if el.shift == 7 {
				VPAND(repeated(0xBF80), w, w)
			}
			VEXTRACTI128(U8(1), w, x)
			VCVTPH2PS(w.AsX(), lo)
			VCVTPH2PS(x, hi)
			VMULPS(factor, lo, lo)
			VMULPS(factor, hi, hi)
			VPSRLD(U8(16), lo, lo)
			VPSRLD(U8(16), hi, hi)
			VPACKUSDW(hi, lo, lo)
			VPERMQ(U8(0xD8), lo, lo)
			VMOVDQU(lo, Mem{Base: d.dst, Disp: 64*i + 32*h})
		}
	})
}
