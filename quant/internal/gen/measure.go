package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// errorSums adds in float64. The product of two float32 is exact there, so that
// fused operations give the bits of separate ones; of errors it is not.
func errorSums() {
	TEXT("errorSumsAVX2", NOSPLIT, "func(sums *byte, x, y *float32, n int)")
	Doc("errorSumsAVX2 adds n times four pairs; n > 0.")
	Pragma("noescape")
	s, x, y, n := Load(Param("sums"), GP64()), Load(Param("x"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	var sums [6]VecVirtual
	for i := range sums {
		sums[i] = YMM()
		VMOVUPD(Mem{Base: s, Disp: 32 * i}, sums[i])
	}
	magnitude := YMM()
	VMOVUPD(constant("magnitude", U64(1<<63-1)), magnitude)
	Label("errors_loop")
	a, b, e, t := YMM(), YMM(), YMM(), YMM()
	VCVTPS2PD(Mem{Base: x}, a)
	VCVTPS2PD(Mem{Base: y}, b)
	VSUBPD(b, a, e)
	VFMADD231PD(a, a, sums[0])
	VFMADD231PD(b, b, sums[1])
	VFMADD231PD(a, b, sums[2])
	VMULPD(e, e, t)
	VADDPD(t, sums[3], sums[3])
	VANDPD(magnitude, e, e)
	VADDPD(e, sums[4], sums[4])
	VMAXPD(sums[5], e, sums[5]) // the second operand where one is NaN
	ADDQ(U8(16), x)
	ADDQ(U8(16), y)
	DECQ(n)
	JNZ(LabelRef("errors_loop"))
	for i := range sums {
		VMOVUPD(sums[i], Mem{Base: s, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}

func beyond() {
	TEXT("beyondAVX2", NOSPLIT, "func(limits *uint32, x *float32, n int) (above, zeros int)")
	Doc("beyondAVX2 counts in n blocks the magnitudes with bits above the block's limit, and the blocks of zeros; n > 0.")
	Pragma("noescape")
	limits, x, n := Load(Param("limits"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
	mask, count, zeros, flag := YMM(), YMM(), GP64(), GP64()
	VMOVDQU(constant("magnitude32", U32(1<<31-1)), mask)
	VPXOR(count, count, count)
	XORQ(zeros, zeros)
	Label("beyond_loop")
	limit, all := YMM(), YMM()
	VPBROADCASTD(Mem{Base: limits}, limit)
	VPXOR(all, all, all)
	XORQ(flag, flag)
	for j := range 4 {
		a, t := YMM(), YMM()
		VPAND(Mem{Base: x, Disp: 32 * j}, mask, a)
		VPOR(a, all, all)
		VPCMPGTD(limit, a, t)
		VPSUBD(t, count, count)
	}
	VPTEST(all, all)
	SETEQ(flag.As8())
	ADDQ(flag, zeros)
	ADDQ(U8(4), limits)
	SUBQ(I8(-128), x)
	DECQ(n)
	JNZ(LabelRef("beyond_loop"))
	Store(zeros, ReturnIndex(1))
	Store(laneSum(count), ReturnIndex(0))
	VZEROUPPER()
	RET()
}
