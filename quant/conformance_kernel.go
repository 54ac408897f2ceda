package quant

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"ckpt/dtype"
	"ckpt/quant/internal/kernel"
)

// outcome is what the reference makes of one input, and where a kernel differs.
type outcome struct {
	codes, scales []byte
	fault         string // an error, or the difference
}

// text is the fault, or else what came out.
func (o *outcome) text(made func() string) string {
	if o.fault != "" {
		return o.fault
	}
	return made()
}

// sample is one block of a run.
type sample struct {
	src, codes []byte
	scale      byte
	owner      int // the input it belongs to; -1: it parts others
}

// alike encodes inputs of whole blocks by the reference, then by set in runs
// that mix their blocks with others, and decodes those by both.
func alike(e *Encoder, set *kernel.Set, inputs [][]byte) []outcome {
	fast := *e
	fast.use(set)
	plain := fast
	plain.use(nil)
	out := make([]outcome, len(inputs))
	var pool []sample
	for i, src := range append(inputs[:len(inputs):len(inputs)], battery(e)...) {
		o, owner := &outcome{}, -1
		if i < len(inputs) {
			o, owner = &out[i], i
		}
		n := len(src) / e.size
		o.codes, o.scales = make([]byte, e.recipe.Format.CodeBytes(n)), make([]byte, e.recipe.Format.ScaleBytes(n))
		if _, err := plain.Encode(o.codes, o.scales, src, 1, n); err != nil {
			o.fault = err.Error()
			continue
		}
		in, code := len(src)/len(o.scales), len(o.codes)/len(o.scales)
		for b, s := range o.scales {
			pool = append(pool, sample{src[b*in:][:in], o.codes[b*code:][:code], s, owner})
		}
	}
	note := func(owner int, format string, args ...any) {
		for i := range out {
			if (owner == i || owner < 0) && out[i].fault == "" {
				out[i].fault = fmt.Sprintf(format, args...)
			}
		}
	}
	for turn, n := range []int{64 + len(pool) | 1, 64 + len(pool)&^15 + 6} {
		mixed := mix(pool, n, 5*turn)
		encodeAlike(&plain, &fast, mixed, note)
		for _, to := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
			decodeAlike(e, set, to, mixed, note)
		}
	}
	return out
}

// mix lays n blocks of the pool side by side, in turns.
func mix(pool []sample, n, first int) (mixed []sample) {
	for i := range n {
		mixed = append(mixed, pool[(first+i)%len(pool)])
	}
	return mixed
}

type noter func(owner int, format string, args ...any)

func encodeAlike(plain, fast *Encoder, run []sample, note noter) {
	if fast.fast == nil {
		return
	}
	var src []byte
	for _, s := range run {
		src = append(src, s.src...)
	}
	k, f := len(src)/fast.size, fast.recipe.Format
	codes, scales := make([]byte, f.CodeBytes(k)), make([]byte, f.ScaleBytes(k))
	want, _ := plain.Encode(codes, scales, src, 1, k) // the error was seen before
	for i := range codes {
		codes[i] = 0xA5 // nothing is left from before
	}
	got, err := fast.Encode(codes, scales, src, 1, k)
	if err != nil || got != want {
		note(-1, "%s: %d blocks: %+v, %v; reference %+v", fast.implementation, len(run), got, err, want)
		return
	}
	size := len(codes) / len(run)
	for i, s := range run {
		if c := codes[i*size:][:size]; scales[i] != s.scale || !bytes.Equal(c, s.codes) {
			note(s.owner, "%s: block %d of %d: scale %d codes %x, reference %d %x", fast.implementation, i, len(run), scales[i], c, s.scale, s.codes)
		}
	}
}

func decodeAlike(e *Encoder, set *kernel.Set, to dtype.Type, run []sample, note noter) {
	d, err := NewDecoder(e.recipe.Format, to, DecodeOptions{TensorScale: e.opts.TensorScale, Convention: e.recipe.convention()})
	if err != nil {
		note(-1, "%v", err)
		return
	}
	d.use(set)
	if d.fast == nil {
		return
	}
	var codes, scales []byte
	for _, s := range run {
		codes, scales = append(codes, s.codes...), append(scales, s.scale)
	}
	size := d.format.Block() * d.size
	got, want := bytes.Repeat([]byte{0xA5}, len(run)*size), make([]byte, len(run)*size)
	d.reference(want, codes, scales, len(run))
	if err := d.Decode(got, codes, scales, len(run), d.format.Block()); err != nil {
		note(-1, "%v", err)
		return
	}
	for i, s := range run {
		if a, b := got[i*size:][:size], want[i*size:][:size]; !bytes.Equal(a, b) {
			note(s.owner, "%s: block %d of %d decodes to %s %x, reference %x", d.implementation, i, len(run), to, a, b)
		}
	}
}

// battery are blocks that meet every part of a kernel: ordinary numbers, ties,
// zeros, and the ends of the range. No two neighbours are equal.
func battery(e *Encoder) (blocks [][]byte) {
	rng := rand.New(rand.NewPCG(6, uint64(e.recipe.Format)))
	for b := range 47 {
		x := make([]float32, e.recipe.Format.Block())
		exp := []int{-6, 3 * (b - 23), 0, -14 + b%29}[b%4]
		for i := range x {
			v := rng.NormFloat64()
			switch b % 3 {
			case 1:
				v = float64(rng.IntN(33)-16) / 4 // ties of many types
			case 2:
				v = float64(rng.IntN(3)-1) * math.Exp2(float64(-rng.IntN(9)))
			}
			x[i] = roundTo(e.source, float32(math.Ldexp(v, exp)))
		}
		blocks = append(blocks, bytesOf(e.source, x))
	}
	return blocks
}

// checkKernels holds the implementation to the reference: every scheme of a
// format in one row, and decoding under every scale byte.
func (v conformer) checkKernels() (out []Conformance, err error) {
	for _, f := range Formats() {
		for _, source := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
			c := Conformance{Scheme: v.set.Name, Format: f, Row: fmt.Sprintf("encodes %s as the reference does", source)}
			for _, s := range Schemes() {
				if _, ok := s.Recipe(f); !ok {
					continue
				}
				e, err := NewEncoder(s, f, source, EncodeOptions{TensorScale: 1})
				if err != nil {
					return nil, err
				}
				if e.use(v.set); e.fast == nil {
					continue
				}
				o := alike(e, v.set, battery(e)[:1])[0]
				c.compare(s.Name, o.text(func() string { return "" }), "")
			}
			if c.Cases > 0 {
				out = append(out, c)
			}
			d := Conformance{Scheme: v.set.Name, Format: f, Row: fmt.Sprintf("decodes to %s as the reference does", source)}
			if v.checkDecoder(&d, source); d.Cases > 0 {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// checkDecoder decodes every code under every scale byte, then blocks without
// NaN, which kernels do in one go.
func (v conformer) checkDecoder(c *Conformance, to dtype.Type) {
	e := &Encoder{recipe: &Recipe{Format: c.Format}, opts: EncodeOptions{TensorScale: 1}}
	d, err := NewDecoder(c.Format, to, DecodeOptions{TensorScale: 1})
	if err != nil {
		return
	}
	if d.use(v.set); d.fast == nil {
		return
	}
	size := c.Format.CodeBytes(c.Format.Block())
	faults := make([]string, 256)
	note := func(owner int, format string, args ...any) {
		for i := range faults {
			if (owner == i || owner < 0) && faults[i] == "" {
				faults[i] = fmt.Sprintf(format, args...)
			}
		}
	}
	for first := range 256 / size {
		var run, calm []sample
		for s := range 256 + 7 {
			codes, some := make([]byte, size), make([]byte, size)
			for i := range codes {
				codes[i] = byte(first*size + i + s)
				some[i] = codes[i]
				if c.Format.Element().Bits() == 8 {
					some[i] &= 0xBB
				}
			}
			run = append(run, sample{codes: codes, scale: byte(s), owner: s % 256})
			calm = append(calm, sample{codes: some, scale: byte(s%79 + 89), owner: s%79 + 89})
		}
		decodeAlike(e, v.set, to, run, note)
		decodeAlike(e, v.set, to, calm, note)
	}
	for i, fault := range faults {
		c.compare(fmt.Sprintf("scale byte %d", i), fault, "")
	}
}
