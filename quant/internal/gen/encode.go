package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// batch is the number of blocks whose scales are found together.
const batch = 16

// Offsets in kernel.Rule.
const (
	ruleAdd      = 0
	ruleSub      = 2
	ruleLo       = 4
	ruleHi       = 6
	ruleTieOdd   = 8
	ruleTieAll   = 10
	ruleZeroDrop = 12
	ruleZeroSet  = 14
	ruleCodeDrop = 16
	ruleSigns    = 32
)

// An element is a type of eight bits as f16 sees it: times a power of two its
// exponents are those of f16, and its code is f16's upper bits, rounded.
type element struct {
	doc   string
	field int // exponent field of the float32 factor and the scale byte, added
	shift int // bits of f16 below the code
	top   int // largest code
	limit int // distance of the largest code from the scale, in bf16 bits
	bias  int // of the code's exponent
	lo    int // scale bytes that can be decoded
	hi    int
}

var (
	e4m3 = element{"E4M3", 246, 7, 0x7E, 8*128 + 96, 7, 10, 246}
	e5m2 = element{"E5M2", 254, 8, 0x7B, 15*128 + 96, 15, 17, 239}
)

// An encoder is the part that all encoders share: 16 maxima, 16 scales.
type encoder struct {
	codes, scales, src, n, rule, redo Register
	mask                              VecVirtual // 0x7FFF
	clipped                           VecVirtual // eight sums of 32 bits
	batchClipped                      VecVirtual // sixteen of 16 bits, of this batch
	factors, limits                   Mem        // sixteen words: what the second pass needs of each scale
	zeros                             bool
	drop, set                         Mem
}

func newEncoder(name, doc string, zeros bool) *encoder {
	TEXT(name, NOSPLIT, "func(codes, scales, src *byte, n int, rule *byte) (redo, clipped int)")
	Doc(name+" encodes n blocks of bf16 as "+doc+"; n is a multiple of 16.", "It reads 64 n bytes at src.")
	Pragma("noescape")
	e := &encoder{
		codes:  Load(Param("codes"), GP64()),
		scales: Load(Param("scales"), GP64()),
		src:    Load(Param("src"), GP64()),
		n:      Load(Param("n"), GP64()),
		rule:   Load(Param("rule"), GP64()),
		redo:   GP64(),
		zeros:  zeros,
	}
	locals := AllocLocal(128)
	e.factors, e.limits, e.drop, e.set = locals, locals.Offset(32), locals.Offset(64), locals.Offset(96)
	XORQ(e.redo, e.redo)
	e.mask, e.clipped, e.batchClipped = YMM(), YMM(), YMM()
	VMOVDQU(repeated(0x7FFF), e.mask)
	VPXOR(e.clipped, e.clipped, e.clipped)
	if zeros {
		t := YMM()
		VPBROADCASTW(e.field(ruleZeroDrop), t)
		VMOVDQU(t, e.drop)
		VPBROADCASTW(e.field(ruleZeroSet), t)
		VMOVDQU(t, e.set)
	}
	return e
}

func (e *encoder) field(offset int) Mem { return Mem{Base: e.rule, Disp: offset} }

// loop runs body for each batch and returns the counts.
func (e *encoder) loop(name string, body func()) {
	TESTQ(e.n, e.n)
	JZ(LabelRef(name + "_done"))
	Label(name + "_loop")
	VPXOR(e.batchClipped, e.batchClipped, e.batchClipped)
	body()
	sums := YMM()
	VPMADDWD(repeated(1), e.batchClipped, sums)
	VPADDD(sums, e.clipped, e.clipped)
	ADDQ(U32(64*batch), e.src)
	ADDQ(U8(batch), e.scales)
	SUBQ(U8(batch), e.n)
	JNZ(LabelRef(name + "_loop"))
	Label(name + "_done")
	e.results()
}

func (e *encoder) results() {
	SHRQ(U8(1), e.redo) // two bits a block were counted
	Store(e.redo, ReturnIndex(0))
	Store(laneSum(e.clipped), ReturnIndex(1))
	VZEROUPPER()
	RET()
}

// laneSum adds eight words of 32 bits; v is spent.
func laneSum(v VecVirtual) Register {
	x, y, sum := XMM(), XMM(), GP64()
	VEXTRACTI128(U8(1), v, x)
	VPADDD(v.AsX(), x, x)
	VPSHUFD(U8(0x4E), x, y)
	VPADDD(y, x, x)
	VPSHUFD(U8(0xB1), x, y)
	VPADDD(y, x, x)
	VMOVD(x, sum.As32())
	return sum
}

// maxima gives the largest magnitudes of 2^level blocks from block i on: words,
// interleaved, of which every lane holds a part until the last level.
func (e *encoder) maxima(level, i int) VecVirtual {
	a, b := YMM(), YMM()
	if level == 0 {
		VPAND(Mem{Base: e.src, Disp: 64 * i}, e.mask, a)
		VPAND(Mem{Base: e.src, Disp: 64*i + 32}, e.mask, b)
		VPMAXUW(b, a, a)
		return a
	}
	x := e.maxima(level-1, i)
	y := e.maxima(level-1, i+1<<(level-1))
	switch level {
	case 1:
		VPUNPCKLWD(y, x, a)
		VPUNPCKHWD(y, x, b)
	case 2:
		VPUNPCKLDQ(y, x, a)
		VPUNPCKHDQ(y, x, b)
	case 3:
		VPUNPCKLQDQ(y, x, a)
		VPUNPCKHQDQ(y, x, b)
	case 4:
		VPERM2I128(U8(0x20), y, x, a)
		VPERM2I128(U8(0x31), y, x, b)
	}
	VPMAXUW(b, a, a)
	return a
}

// scale finds the scale bytes of a batch and stores them. It gives the bytes as
// words, and words of ones where a block's maximum is beyond the largest code.
func (e *encoder) scale(limit int) (bytes, beyond VecVirtual) {
	m := e.maxima(4, 0)
	t, s, bad := YMM(), YMM(), YMM()
	VPBROADCASTW(e.field(ruleAdd), s)
	VPADDW(m, s, s)
	VPSRLW(U8(7), s, s)
	VPBROADCASTW(e.field(ruleSub), t)
	VPSUBW(t, s, s)
	VPCMPGTW(repeated(0x7F7F), m, bad)
	VPBROADCASTW(e.field(ruleLo), t)
	VPCMPGTW(s, t, t)
	VPOR(t, bad, bad)
	VPBROADCASTW(e.field(ruleHi), t)
	VPCMPGTW(t, s, t)
	VPOR(t, bad, bad)

	count := GP64()
	VPMOVMSKB(bad, count.As32())
	POPCNTL(count.As32(), count.As32())
	ADDQ(count, e.redo)

	VPOR(bad, s, t)
	VPAND(repeated(0xFF), t, t)
	x := XMM()
	VEXTRACTI128(U8(1), t, x)
	VPACKUSWB(x, t.AsX(), x)
	VMOVDQU(x, Mem{Base: e.scales})

	// beyond the largest code; nothing is in a block to be redone
	VPSLLW(U8(7), s, t)
	VPADDSW(repeated(limit), t, t)
	VPSRLW(U8(1), bad, bad)
	VPMAXSW(bad, t, t)
	VMOVDQU(t, e.limits)
	VPCMPGTW(t, m, m)
	return s, m
}

// load reads a block: its words and their magnitudes.
func (e *encoder) load(at Mem) (x, a [2]VecVirtual) {
	for h := range x {
		x[h], a[h] = YMM(), YMM()
		VMOVDQU(at.Offset(32*h), x[h])
		VPAND(x[h], e.mask, a[h])
	}
	return x, a
}

// clip counts the magnitudes beyond a block's limit.
func (e *encoder) clip(a [2]VecVirtual, limit Mem) {
	l := YMM()
	VPBROADCASTW(limit, l)
	for h := range a {
		t := YMM()
		VPCMPGTW(l, a[h], t)
		VPSUBW(t, e.batchClipped, e.batchClipped)
	}
}

// each runs body for the blocks whose bit 2i is set in flags, which it spends;
// twice is 2i.
func each(label string, flags Register, body func(twice Register)) {
	twice, next := GP64(), GP64()
	TESTQ(flags, flags)
	JZ(LabelRef(label + "_none"))
	Label(label + "_each")
	BSFQ(flags, twice)
	LEAQ(Mem{Base: flags, Disp: -1}, next)
	ANDQ(next, flags)
	body(twice)
	TESTQ(flags, flags)
	JNZ(LabelRef(label + "_each"))
	Label(label + "_none")
}

// signs gives the words' signs as bytes, bit 7; in-lane order.
func (e *encoder) signs(x, a [2]VecVirtual) VecVirtual {
	if e.zeros {
		for h := range x {
			zero, t := YMM(), YMM()
			VPCMPEQW(repeated(0), a[h], zero)
			VPAND(e.drop, zero, t)
			VPANDN(x[h], t, x[h])
			VPAND(e.set, zero, t)
			VPOR(t, x[h], x[h])
		}
	}
	s := YMM()
	VPACKSSWB(x[1], x[0], s)
	return s
}

// E2M1 from the distance d of a magnitude from its scale in bf16 bits: the codes
// change at -256, -64, 32, 96, 160, 224 and 288, multiples of 32, so that
//
//	n = (d - down) >> 5 + 8
//
// tells them apart, where down is 1 if a tie goes down: not if bit 6 of d is set,
// which it is at -64, 96 and 224, and ties go to even.
func encodeE2M1(name string, zeros bool) {
	e := newEncoder(name, "E2M1", zeros)
	odd, table, nibbles, order := YMM(), YMM(), YMM(), YMM()
	VPBROADCASTW(e.field(ruleTieOdd), odd)
	VMOVDQU(constant("places", bytesOf(1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6)...), table)
	VBROADCASTI128(e.field(ruleSigns), nibbles)
	VMOVDQU(constant("order", U32(0), U32(4), U32(1), U32(5), U32(2), U32(6), U32(3), U32(7)), order)
	pairs := constant("pairs", bytesOf(1, 16)...)

	block := func(i int) VecVirtual {
		x, a := e.load(Mem{Base: e.src, Disp: 64 * i})
		e.clip(a, e.limits.Offset(2*i))
		base := YMM()
		VPBROADCASTW(e.factors.Offset(2*i), base)
		signs := e.signs(x, a)
		for h := range a {
			up := YMM()
			VPSRLW(U8(6), a[h], up)
			VPAND(odd, up, up)
			VPSUBW(base, a[h], a[h])
			VPADDW(up, a[h], a[h])
			VPSRAW(U8(5), a[h], a[h])
		}
		n, code := YMM(), YMM()
		VPACKSSWB(a[1], a[0], n)
		VPMINSB(repeatedByte(15), n, code)
		VPSHUFB(code, table, code)
		VPCMPGTB(repeatedByte(16), n, n)
		VPSUBB(n, code, code)
		VPSRLW(U8(4), signs, signs)
		VPAND(repeatedByte(8), signs, signs)
		VPOR(signs, code, code)
		VPSHUFB(code, nibbles, code)
		VPMADDUBSW(pairs, code, code)
		return code
	}
	e.loop(name, func() {
		s, _ := e.scale(2*128 + 64)
		t := YMM()
		VPSLLW(U8(7), s, s)
		VPBROADCASTW(e.field(ruleTieAll), t)
		VPSUBW(t, s, s)
		VPADDW(repeated(1-256), s, s)
		VMOVDQU(s, e.factors)
		for i := 0; i < batch; i += 2 {
			a, b := block(i), block(i+1)
			VPACKUSWB(b, a, a)
			VPERMD(a, order, a)
			VMOVDQU(a, Mem{Base: e.codes, Disp: 16 * i})
		}
		ADDQ(U32(16*batch), e.codes)
	})
}

// Eight bits: where every number of a block is zero or a normal number of the
// element, its code is the bf16 magnitude less the scale, rounded to even at the
// code's last bit. Other blocks, of which there are few, are done by half, and
// what is clipped is counted where a maximum says so.
func encode8(name string, el element, zeros bool) {
	e := newEncoder(name, el.doc, zeros)
	bases := AllocLocal(32)
	shift := el.shift - 3 // bits of bf16 below the code
	one, top, keep, normal := YMM(), YMM(), YMM(), YMM()
	VMOVDQU(repeated(1), one)
	VMOVDQU(repeatedByte(el.top), top)
	VMOVDQU(repeatedByte(128>>shift), normal)
	VPBROADCASTW(e.field(ruleCodeDrop), keep)
	VPANDN(repeatedByte(1), keep, keep)

	e.loop(name, func() {
		s, beyond := e.scale(el.limit)
		t, flags := YMM(), GP64()
		VMOVDQU(repeated(el.bias), t)
		VPSUBW(t, s, t)
		VPSLLW(U8(7), t, t)
		VPSUBW(repeated(1<<(shift-1)-1), t, t)
		VMOVDQU(t, bases)
		VMOVDQU(repeated(el.field), t)
		VPSUBW(s, t, s)
		VPSLLW(U8(7), s, s)
		VMOVDQU(s, e.factors)

		VPMOVMSKB(beyond, flags.As32())
		ANDL(U32(0x55555555), flags.As32())
		each(name+"_clip", flags, func(twice Register) {
			at, limit := GP64(), GP64()
			MOVQ(twice, at)
			SHLQ(U8(5), at)
			LEAQ(e.limits, limit)
			_, a := e.load(Mem{Base: e.src, Index: at, Scale: 1})
			e.clip(a, Mem{Base: limit, Index: twice, Scale: 1})
		})

		XORL(flags.As32(), flags.As32())
		for i := range batch {
			x, a := e.load(Mem{Base: e.src, Disp: 64 * i})
			signs := e.signs(x, a)
			base, some := YMM(), YMM()
			VPBROADCASTW(bases.Offset(2*i), base)
			VPACKSSWB(a[1], a[0], some)
			for h := range a {
				odd := YMM()
				VPSRLW(U8(shift), a[h], odd)
				VPAND(one, odd, odd)
				VPADDW(odd, a[h], a[h])
				VPSUBUSW(base, a[h], a[h])
				VPSRLW(U8(shift), a[h], a[h])
			}
			code, small := YMM(), YMM()
			VPACKUSWB(a[1], a[0], code)
			VPMINUB(top, code, code)
			VPCMPGTB(code, normal, small)
			VPTEST(small, some)
			label := name + "_normal" + strconv.Itoa(i)
			JZ(LabelRef(label))
			ORL(U32(1<<(2*i)), flags.As32())
			Label(label)
			e.sign(code, signs, keep)
			VPERMQ(U8(0xD8), code, code)
			VMOVDQU(code, Mem{Base: e.codes, Disp: 32 * i})
		}
		each(name+"_half", flags, func(twice Register) { e.half(el, twice, top, keep) })
		ADDQ(U32(32*batch), e.codes)
	})
}

// sign puts signs on codes, but on the code 0 only where keep is not zero.
func (e *encoder) sign(code, signs, keep VecVirtual) {
	t := YMM()
	VPOR(keep, code, t)
	VPSIGNB(t, signs, signs)
	VPAND(repeatedByte(0x80), signs, signs)
	VPOR(signs, code, code)
}

// half encodes one block by way of f16: magnitude times factor is exact in f16
// but for numbers that are far below half of the smallest code, or just above it,
// which the conversion's rounding up keeps apart from it. f16's upper bits,
// rounded to even, are the code, those of subnormals too.
func (e *encoder) half(el element, twice Register, top, keep VecVirtual) {
	at, factors := GP64(), GP64()
	LEAQ(e.factors, factors)
	factor, zero, order := YMM(), YMM(), YMM()
	VPBROADCASTW(Mem{Base: factors, Index: twice, Scale: 1}, factor)
	VPSLLD(U8(16), factor, factor)
	VPXOR(zero, zero, zero)
	VMOVDQU(constant("order", U32(0), U32(4), U32(1), U32(5), U32(2), U32(6), U32(3), U32(7)), order)
	MOVQ(twice, at)
	SHLQ(U8(5), at)
	x, a := e.load(Mem{Base: e.src, Index: at, Scale: 1})
	signs := e.signs(x, a)
	for h := range a {
		lo, hi, odd := YMM(), YMM(), YMM()
		VPUNPCKLWD(a[h], zero, lo)
		VPUNPCKHWD(a[h], zero, hi)
		VMULPS(factor, lo, lo)
		VMULPS(factor, hi, hi)
		VCVTPS2PH(U8(2), lo, lo.AsX())
		VCVTPS2PH(U8(2), hi, hi.AsX())
		VINSERTI128(U8(1), hi.AsX(), lo, a[h])
		VPSRLW(U8(el.shift), a[h], odd)
		VPAND(repeated(1), odd, odd)
		VPADDW(odd, a[h], a[h])
		VPADDW(repeated(1<<(el.shift-1)-1), a[h], a[h])
		VPSRLW(U8(el.shift), a[h], a[h])
	}
	code := YMM()
	VPACKUSWB(a[1], a[0], code)
	VPMINUB(top, code, code)
	VPERMD(code, order, code)
	VPERMQ(U8(0xD8), signs, signs)
	e.sign(code, signs, keep)
	SHRQ(U8(1), at)
	VMOVDQU(code, Mem{Base: e.codes, Index: at, Scale: 1})
}
