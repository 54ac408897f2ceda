package quant

import (
	"fmt"
	"math"

	"ckpt/dtype"
)

// EncodeOptions are what a caller may choose; the zero value is the default.
type EncodeOptions struct {
	NonFinite NonFinite
	// TensorScale is NVFP4's second scale as stored: ModelOpt's multiplier or
	// compressed-tensors' divisor, by the scheme. See NVFP4TensorScale.
	TensorScale float32
}

// Encoder turns rows of numbers into codes and scales.
type Encoder struct {
	scheme *Scheme
	recipe *Recipe
	source dtype.Type
	size   int // bytes of a number
	opts   EncodeOptions
	fast   encodeKernel // nil: the reference

	implementation string
}

// encodeKernel encodes what it can of a run of blocks with the same result as the
// reference; see Encoder.accelerate.
type encodeKernel func(e *Encoder, codes, scales, src []byte, blocks int, rep *Report) error

// NewEncoder makes an encoder of s for one format, reading BF16, F16 or F32.
func NewEncoder(s *Scheme, f Format, source dtype.Type, opts EncodeOptions) (*Encoder, error) {
	if s == nil {
		return nil, fmt.Errorf("no scheme: %w", ErrUnsupported)
	}
	if opts.NonFinite > AsSystem {
		return nil, fmt.Errorf("NaN and infinity: %s: %w", opts.NonFinite, ErrUnsupported)
	}
	size, err := sourceBytes(source)
	if err != nil {
		return nil, err
	}
	r, ok := s.Recipe(f)
	if !ok {
		return nil, fmt.Errorf("scheme %s writes no %s: %w", s.Name, f, ErrUnsupported)
	}
	e := &Encoder{scheme: s, recipe: r, source: source, size: size, opts: opts}
	if f == NVFP4 {
		if err := checkTensorScale(opts.TensorScale); err != nil {
			return nil, err
		}
	}
	e.accelerate()
	return e, nil
}

// Encode encodes rows × k numbers of src. codes takes rows × CodeBytes(k)
// bytes, scales rows × ScaleBytes(k). With an error the output is undefined.
func (e *Encoder) Encode(codes, scales, src []byte, rows, k int) (Report, error) {
	var rep Report
	blocks, err := e.blocks(codes, scales, src, rows, k)
	if err != nil {
		return rep, err
	}
	if e.fast != nil {
		err = e.fast(e, codes, scales, src, blocks, &rep)
	} else {
		err = e.reference(codes, scales, src, blocks, &rep)
	}
	return rep, err
}

// blocks checks the lengths and gives the number of blocks.
func (e *Encoder) blocks(codes, scales, src []byte, rows, k int) (int, error) {
	f := e.recipe.Format
	if rows < 0 || k < 0 || k%f.Block() != 0 {
		return 0, fmt.Errorf("%w: %d rows of %d, blocks of %d", ErrShape, rows, k, f.Block())
	}
	n := k / f.Block()
	if n > 0 && rows > math.MaxInt/n/(f.Block()*e.size) {
		return 0, fmt.Errorf("%w: %d rows of %d overflow", ErrShape, rows, k)
	}
	n *= rows
	if len(src) != n*f.Block()*e.size || len(codes) != n*f.CodeBytes(f.Block()) || len(scales) != n {
		return 0, fmt.Errorf("%w: %d rows of %d in %d bytes, %d bytes of codes, %d scales",
			ErrShape, rows, k, len(src), len(codes), len(scales))
	}
	return n, nil
}

// reference encodes block by block, as the rules say.
func (e *Encoder) reference(codes, scales, src []byte, blocks int, rep *Report) error {
	f := e.recipe.Format
	in, out := f.Block()*e.size, f.CodeBytes(f.Block())
	for i := range blocks {
		b, err := e.block(codes[i*out:(i+1)*out], src[i*in:(i+1)*in], int64(i), rep)
		if err != nil {
			return err
		}
		scales[i] = b
	}
	return nil
}

// block encodes one block, the i-th of the input, and gives its scale byte.
func (e *Encoder) block(codes, src []byte, i int64, rep *Report) (byte, error) {
	f := e.recipe.Format
	var b block
	b.x, b.codes, b.source = b.numbers[:f.Block()], b.room[:f.Block()], e.source
	load(b.x, e.source, src)
	scale, err := e.encodeBlock(&b, i, rep)
	if err != nil {
		return 0, err
	}
	f.pack(codes, b.codes)
	rep.Blocks++
	return scale, nil
}

// encodeBlock is the whole of a scheme for one block.
func (e *Encoder) encodeBlock(b *block, i int64, rep *Report) (byte, error) {
	r := e.recipe
	if n := b.nonFinite(); n > 0 {
		return e.policy(b, i, n, rep)
	}
	if r.Format == NVFP4 {
		return e.nvfp4(b, rep), nil
	}
	amax := b.finiteMax()
	s := r.scaleOf(b, amax)
	switch {
	case s.nan:
		return r.fill(b, r.Format.Element().nanOf(), e.count(s, i, rep)), nil
	case s.zero:
		r.divideByInf(b, 0, 0)
		return e.count(s, i, rep), nil
	}
	rep.Clipped += r.encode(b, s.exp)
	if amax == 0 {
		rep.ZeroBlocks++
	}
	return e.count(s, i, rep), nil
}

// count notes a block whose numbers are lost.
func (e *Encoder) count(s scaled, i int64, rep *Report) byte {
	if s.byte == 255 {
		if rep.NaNBlocks == 0 {
			rep.FirstNaN = i
		}
		rep.NaNBlocks++
	}
	if s.lost {
		if rep.LostBlocks == 0 {
			rep.FirstLost = i
		}
		rep.LostBlocks++
	}
	return s.byte
}

// policy encodes a block with n NaN or infinite elements.
func (e *Encoder) policy(b *block, i int64, n int, rep *Report) (byte, error) {
	r := e.recipe
	rep.NonFinite += int64(n)
	switch e.opts.NonFinite {
	case Saturate:
		return e.saturate(b, i, rep), nil
	case NaNBlock:
		return r.fill(b, 0, r.Format.nanScale()), nil
	case AsSystem:
		if s, ok := r.asSystem(b); ok {
			return s, nil
		}
	}
	at := b.firstNonFinite()
	return 0, &NonFiniteError{Index: i*int64(len(b.x)) + int64(at), Bits: math.Float32bits(b.x[at])}
}

// saturate takes the scale of the finite elements; what becomes of a block of
// these alone is reported, but that it is zero.
func (e *Encoder) saturate(b *block, i int64, rep *Report) byte {
	spec := e.recipe.Format.Element().spec()
	x := b.numbers
	for j, v := range b.x {
		if v-v != 0 {
			b.x[j] = 0
		}
	}
	var inner Report
	s, _ := e.encodeBlock(b, i, &inner) // finite now
	inner.ZeroBlocks = 0                // NaN and infinity are no zeros
	rep.Add(inner, 0)
	for j, v := range x[:len(b.x)] {
		switch {
		case v != v:
			b.codes[j] = 0
		case isInf(v):
			b.codes[j] = spec.signed(spec.top, v < 0)
		}
	}
	return s
}

// scaleOf is the scale of a block with this largest magnitude.
func (r *Recipe) scaleOf(b *block, amax float32) scaled {
	switch {
	case amax == 0:
		return r.zeroScale(b.source)
	case r.Rule == MSE:
		return r.mse(b, amax)
	default:
		return r.scale(amax, b.source)
	}
}

// zeroScale is the scale of a block of zeros.
func (r *Recipe) zeroScale(source dtype.Type) scaled {
	if r.halves(source) {
		return scaled{byte: 127}
	}
	return scaled{byte: r.Zero, exp: int(r.Zero) - 127}
}

// mse tries Floor's scale and the one above it.
func (r *Recipe) mse(b *block, amax float32) scaled {
	low := r.fromBits(amax)
	high := scaled{byte: low.byte + 1, exp: low.exp + 1}
	if high.byte == 255 || r.squaredError(b, low.exp) <= r.squaredError(b, high.exp) {
		return low
	}
	return high
}

// squaredError is the sum over the block in order, in float64.
func (r *Recipe) squaredError(b *block, exp int) (sum float64) {
	spec, unit := r.Format.Element().spec(), pow2(-exp)
	for _, x := range b.x {
		q := math.Abs(float64(x)) * unit
		d := q - spec.value(spec.round(q, r.Tie))
		sum += d * d
	}
	return sum * pow2(2*exp)
}

// encode gives every element its code, dividing by 2^exp, and counts those
// beyond the largest code.
func (r *Recipe) encode(b *block, exp int) (clipped int64) {
	spec, unit := r.Format.Element().spec(), pow2(-exp)
	limit := spec.value(spec.top)
	for i, x := range b.x {
		if x != x {
			b.codes[i] = r.Format.Element().nanOf()
			continue
		}
		q := math.Abs(float64(x)) * unit // exact
		if q > limit {
			clipped++
		}
		code := spec.round(q, r.Tie)
		if r.ends == wrapByte && exp == 126 {
			code = min(code, 5) // twice 4 and 6 times 2^125 are infinitely far: ggml's search never finds them
		}
		b.codes[i] = spec.signed(code, signbit(x) && (code != 0 || r.keepsSign(x, q, b.source)))
		if code == 0 && r.Signs == SignsMinus && float32(q) == 0 {
			b.codes[i] = spec.signed(0, true)
		}
	}
	return clipped
}

// keepsSign says whether a negative x whose code is zero stays negative.
func (r *Recipe) keepsSign(x float32, q float64, source dtype.Type) bool {
	switch r.Signs {
	case SignsKept, SignsMinus:
		return true
	case SignsTiny:
		return x != 0 && roundTo(source, float32(q)) != 0 // a quotient may vanish in the type of the input
	default:
		return false
	}
}

// block is one block on its way.
type block struct {
	x       []float32
	codes   []uint8
	source  dtype.Type
	numbers [32]float32
	room    [32]uint8
}

// finiteMax is the largest finite magnitude.
func (b *block) finiteMax() (m float32) {
	for _, x := range b.x {
		if a := abs(x); a > m && !isInf(a) {
			m = a
		}
	}
	return m
}

func (b *block) nonFinite() (n int) {
	for _, x := range b.x {
		if x-x != 0 {
			n++
		}
	}
	return n
}

func (b *block) firstNonFinite() int {
	for i, x := range b.x {
		if x-x != 0 {
			return i
		}
	}
	return 0
}

func (b *block) hasNaN() bool {
	for _, x := range b.x {
		if x != x {
			return true
		}
	}
	return false
}

func (b *block) hasInf() bool {
	for _, x := range b.x {
		if isInf(x) {
			return true
		}
	}
	return false
}

// pow2 is 2^exp; exp is that of a normal float64.
func pow2(exp int) float64 { return math.Float64frombits(uint64(1023+exp) << 52) }

func abs(x float32) float32  { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }
func signbit(x float32) bool { return math.Float32bits(x)>>31 == 1 }
func isInf(x float32) bool   { return math.Float32bits(x)&^(1<<31) == 0x7F800000 }
