package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// stream begins a function over n > 0 pieces of dst and src.
func stream(name, signature string, doc ...string) (dst, src, n Register) {
	TEXT(name, NOSPLIT, signature)
	Doc(doc...)
	Pragma("noescape")
	return Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
}

// narrow makes bf16 with a sticky last bit: x | ((x&0xFFFF) + 0xFFFF) has bit 16
// set where x loses something below it.
func narrow(name string, half bool) {
	doc, in := "float32", 4
	if half {
		doc, in = "f16", 2
	}
	dst, src, n := stream(name, "func(dst, src *byte, n int)",
		name+" narrows n times 32 numbers of "+doc+" to bf16 with a sticky bit; n > 0.")
	low := YMM()
	VMOVDQU(constant("low16", U32(0xFFFF)), low)
	Label(name + "_loop")
	for i := range 2 {
		var v [2]VecVirtual
		for h := range v {
			x, t := YMM(), YMM()
			from := Mem{Base: src, Disp: (2*i + h) * 8 * in}
			if half {
				VCVTPH2PS(from, x)
			} else {
				VMOVDQU(from, x)
			}
			VPAND(low, x, t)
			VPADDD(low, t, t)
			VPOR(x, t, t)
			VPSRLD(U8(16), t, t)
			v[h] = t
		}
		VPACKUSDW(v[1], v[0], v[0])
		VPERMQ(U8(0xD8), v[0], v[0])
		VMOVDQU(v[0], Mem{Base: dst, Disp: 32 * i})
	}
	ADDQ(U8(64), dst)
	ADDQ(U32(32*in), src)
	DECQ(n)
	JNZ(LabelRef(name + "_loop"))
	VZEROUPPER()
	RET()
}

func widen() {
	dst, src, n := stream("widenBF16AVX2", "func(dst, src *byte, n int)",
		"widenBF16AVX2 widens n times 32 numbers of bf16 to float32; n > 0.")
	Label("widen_loop")
	for i := range 4 {
		x := YMM()
		VPMOVZXWD(Mem{Base: src, Disp: 16 * i}, x)
		VPSLLD(U8(16), x, x)
		VMOVDQU(x, Mem{Base: dst, Disp: 32 * i})
	}
	ADDQ(U8(64), src)
	SUBQ(I8(-128), dst)
	DECQ(n)
	JNZ(LabelRef("widen_loop"))
	VZEROUPPER()
	RET()
}

// blocks begins a function over n > 0 blocks of 16 bytes.
func blocks(name, doc string) (dst, src, n, dstStride, srcStride Register) {
	dst, src, n = stream(name, "func(dst, src *byte, dstStride, srcStride, n int)", name+" "+doc+"; n > 0.")
	return dst, src, n, Load(Param("dstStride"), GP64()), Load(Param("srcStride"), GP64())
}

func split() {
	dst, src, n, dstStride, srcStride := blocks("splitAVX2", "turns n blocks of consecutive nibbles into split halves")
	Label("split_loop")
	w, t, x := YMM(), YMM(), XMM()
	VPMOVZXBW(Mem{Base: src}, w)
	VPSLLW(U8(4), w, t)
	VPOR(t, w, w)
	VPAND(repeatedByte(15), w, w)
	VEXTRACTI128(U8(1), w, x)
	VPSLLW(U8(4), x, x)
	VPOR(w.AsX(), x, x)
	VMOVDQU(x, Mem{Base: dst})
	ADDQ(srcStride, src)
	ADDQ(dstStride, dst)
	DECQ(n)
	JNZ(LabelRef("split_loop"))
	VZEROUPPER()
	RET()
}

func join() {
	dst, src, n, dstStride, srcStride := blocks("joinAVX2", "turns n blocks of split halves into consecutive nibbles")
	pairs := constant("pairs", bytesOf(1, 16)...)
	Label("join_loop")
	lo, hi := XMM(), XMM()
	VMOVDQU(Mem{Base: src}, lo)
	VPSRLW(U8(4), lo, hi)
	VPAND(repeatedByte(15), lo, lo)
	VPAND(repeatedByte(15), hi, hi)
	VPMADDUBSW(pairs, lo, lo)
	VPMADDUBSW(pairs, hi, hi)
	VPACKUSWB(hi, lo, lo)
	VMOVDQU(lo, Mem{Base: dst})
	ADDQ(srcStride, src)
	ADDQ(dstStride, dst)
	DECQ(n)
	JNZ(LabelRef("join_loop"))
	VZEROUPPER()
	RET()
}
