package quant

import "math"

// nonFinite is what a system gives for a block with NaN or infinity, seen on
// x86-64. Several of these come from conversions that C leaves undefined.
type nonFinite uint8

const (
	undefinedInput     nonFinite = iota
	nanBlock                     // byte 255, every code what NaN converts to
	torchao018Ordinary           // NaN: byte 255, division by infinity; infinity: an ordinary largest value
	torchao018Up                 // NaN: as nanBlock; infinity: byte 254
	scaleInf                     // byte 127, division by infinity; infinity and NaN become NaN
	scaleInfDropped              // the same, every zero +0
	quarkInput                   // NaN: byte 127, every code the largest; infinity: byte 254, its code 6
	quarkOwnInput                // NaN likewise; infinity: byte 127, codes 15 and 0
	zeroBlock                    // byte 0, every code that of zero
	mlx8Input                    // byte 0, every code the largest of its sign
	modelopt8Input               // NaN: byte 0; infinity: byte 254
	ggmlInput                    // NaN: not seen by the maximum, its code 0; infinity: as ggufInput
	ggufInput                    // byte 0, the codes by ggml's search: 0 but for numbers that small
	tritonInput                  // infinity: byte 255, division by infinity
	triton8Input                 // the same, infinity becomes NaN
	infLargest                   // infinity: an ordinary largest value
	infTop                       // infinity: byte 254
	teInput                      // the same; NaN: not seen by the maximum
)

// asSystem gives the codes and the scale byte of a block with NaN or infinity.
// It says false where the system leaves them undefined.
func (r *Recipe) asSystem(b *block) (byte, bool) {
	nan := b.hasNaN()
	switch r.system {
	case nanBlock:
		return r.fill(b, r.Format.Element().nanOf(), 255), true
	case torchao018Ordinary, torchao018Up:
		if nan && r.system == torchao018Up {
			return r.fill(b, r.Format.Element().nanOf(), 255), true
		}
		return r.torchao018(b, nan), true
	case scaleInf, scaleInfDropped:
		return r.scaleInf(b), true
	case quarkInput, quarkOwnInput:
		return r.quarkInput(b, nan), true
	case zeroBlock:
		return r.fill(b, r.zeroCode(), 0), true
	case mlx8Input, modelopt8Input:
		return r.eight(b, nan), true
	case ggmlInput:
		return r.ggmlInput(b), true
	case ggufInput:
		return ggmlSmallest(b), true
	case tritonInput, triton8Input:
		return r.tritonInput(b), !nan
	case infLargest:
		return r.infLargest(b), !nan
	case infTop, teInput:
		return r.infTop(b), r.system == teInput || !nan
	default:
		return 0, false
	}
}

// nanOf is the code that NaN converts to in torchao: that of NaN, or what its
// arithmetic on the bits leaves.
func (e Element) nanOf() uint8 {
	switch e {
	case E2M1:
		return 0x03
	case E2M3:
		return 0x0C
	case E3M2:
		return 0x0E
	default:
		return e.spec().nan
	}
}

// nanBits is the code without sign that a NaN converts to in torchao: types
// without NaN take what rounding its bits as those of a number leaves.
func (e Element) nanBits(x float32) uint8 {
	s := e.spec()
	if s.nan != 0 {
		return s.nan
	}
	bits := math.Float32bits(x)&^(1<<31) | 1<<22 // quiet
	bits -= uint32(126+s.emin) << 23
	odd := bits >> (23 - s.mant) & 1
	return uint8((bits + 1<<(22-s.mant) - 1 + odd) >> (23 - s.mant))
}

func (r *Recipe) fill(b *block, code uint8, scale byte) byte {
	for i := range b.codes {
		b.codes[i] = code
	}
	return scale
}

// zeroCode is the code of +0.
func (r *Recipe) zeroCode() uint8 {
	if r.Signs == SignsMinus {
		return r.Format.Element().spec().signed(0, true)
	}
	return 0
}

func (r *Recipe) torchao018(b *block, nan bool) byte {
	if nan {
		r.divideByInf(b, 0, 0)
		el := r.Format.Element()
		for i, x := range b.x {
			switch {
			case x != x:
				b.codes[i] = el.spec().signed(el.nanBits(x), signbit(x))
			case isInf(x): // infinity / infinity is NaN with the sign set, on x86-64
				b.codes[i] = el.spec().signed(el.nanOf(), true)
			}
		}
		return 255
	}
	if r.Rule == RCeil {
		r.encode(b, 127)
		return 254
	}
	return r.infLargest(b)
}

// infLargest takes infinity for the number its bits would be: 2^128.
func (r *Recipe) infLargest(b *block) byte {
	k, _ := r.Rule.Threshold(r.Format.Element())
	r.encode(b, 255-k-127)
	return byte(255 - k)
}

func (r *Recipe) infTop(b *block) byte {
	if b.hasInf() {
		r.encode(b, 127)
		return 254
	}
	s := r.scaleOf(b, b.finiteMax())
	r.encode(b, s.exp)
	return s.byte
}

// divideByInf makes finite elements zeros of their sign.
func (r *Recipe) divideByInf(b *block, nan, inf uint8) {
	spec := r.Format.Element().spec()
	for i, x := range b.x {
		switch {
		case x != x:
			b.codes[i] = nan
		case isInf(x):
			b.codes[i] = spec.signed(inf, x < 0)
		default:
			b.codes[i] = spec.signed(0, signbit(x) && r.Signs == SignsKept)
		}
	}
}

func (r *Recipe) scaleInf(b *block) byte {
	nan := r.Format.Element().spec().nan
	if nan == 0 { // E2M1
		nan = 8
		if r.system == scaleInfDropped {
			nan = 15
		}
	}
	r.divideByInf(b, nan, nan)
	return 127
}

func (r *Recipe) quarkInput(b *block, nan bool) byte {
	spec := r.Format.Element().spec()
	switch {
	case nan && spec.nan != 0:
		return r.fill(b, spec.nan|0x80, 127)
	case nan:
		return r.fill(b, spec.top, 127)
	case r.system == quarkOwnInput:
		r.divideByInf(b, 15, 15)
		return 127
	}
	r.encode(b, 127)
	if spec.nan == 0 {
		for i, x := range b.x {
			if isInf(x) {
				b.codes[i]-- // 7 to 6
			}
		}
	}
	return 254
}

func (r *Recipe) eight(b *block, nan bool) byte {
	if r.system == modelopt8Input {
		if nan {
			r.encode(b, -127)
			return 0
		}
		r.encode(b, 127)
		return 254
	}
	spec := r.Format.Element().spec()
	for i, x := range b.x {
		b.codes[i] = spec.signed(spec.top, x < 0)
	}
	return 0
}

func (r *Recipe) ggmlInput(b *block) byte {
	if b.hasInf() {
		return ggmlSmallest(b)
	}
	for i, x := range b.x {
		if x != x {
			b.x[i] = 0
		}
	}
	s := r.scaleOf(b, b.finiteMax())
	r.encode(b, s.exp)
	return s.byte
}

// ggmlSmallest encodes with the byte 0: NaN and infinity are equally far from
// every value, so the search leaves them at code 0.
func ggmlSmallest(b *block) byte {
	for i, x := range b.x {
		b.codes[i] = ggmlBest(x, ggmlHalfE8M0(0))
	}
	return 0
}

func (r *Recipe) tritonInput(b *block) byte {
	inf := r.Format.Element().spec().top
	if r.system == triton8Input {
		inf++
	}
	r.divideByInf(b, inf, inf)
	return 255
}
