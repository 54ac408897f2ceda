package quant

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"ckpt/dtype"
)

// Conformance is how one scheme keeps to one row of the vectors.
type Conformance struct {
	Scheme    string
	Format    Format
	Row       string
	Confirmed bool // the row comes from running the system itself
	Cases     int
	Passed    int
	Undefined int // cases for which the row gives no bytes, or that the scheme leaves out
	Failures  []string
}

// CheckConformance runs every scheme on every row of the vectors that it says
// it gives, by the kernel that this machine would use and by the reference,
// each block as 64 equal rows. The casts, swizzles and transcodes of the vectors
// follow, as schemes of their own.
func CheckConformance() ([]Conformance, error) {
	v, err := readVectors()
	if err != nil {
		return nil, err
	}
	var out []Conformance
	for _, s := range Schemes() {
		for i := range s.Recipes {
			for _, row := range s.Recipes[i].Rows {
				c, err := v.check(s, &s.Recipes[i], row)
				if err != nil {
					return nil, err
				}
				out = append(out, c)
			}
		}
	}
	more, err := v.checkLayouts()
	return append(out, more...), err
}

// finiteOnly marks a row of which only finite input is compared.
const finiteOnly = " finite"

func (v *vectors) check(s *Scheme, r *Recipe, row string) (Conformance, error) {
	cases, section := v.MXFP4, "mxfp4"
	switch r.Format {
	case MXFP4:
	case MXFP8E4M3:
		cases, section = v.MXFP8E4M3, "mxfp8_e4m3"
	case NVFP4:
		return v.checkNVFP4(s, row)
	default:
		return v.checkMXFP6(s, r.Format, row)
	}
	c := Conformance{Scheme: s.Name, Format: r.Format, Row: strings.TrimSuffix(row, finiteOnly)}
	for _, name := range v.Meta.Confirmed[section] {
		c.Confirmed = c.Confirmed || name == c.Row
	}
	for _, one := range cases {
		if err := c.run(s, one, strings.HasSuffix(row, finiteOnly)); err != nil {
			return c, fmt.Errorf("vectors: case %s: %w", one.Name, err)
		}
	}
	return c, nil
}

// run compares one block.
func (c *Conformance) run(s *Scheme, one vector, finite bool) error {
	want, ok := one.Results[c.Row]
	if !ok {
		return nil
	}
	x, err := numbers(one.Input)
	if err != nil {
		return err
	}
	codes, err := want.codes()
	if err != nil {
		return err
	}
	b := block{x: x}
	if want.Scale == nil || len(codes) == 0 || finite && b.nonFinite() > 0 {
		c.Undefined++
		return nil
	}
	c.Cases++
	source := dtype.F32
	if one.Type == "bf16" {
		source = dtype.BF16
	}
	got, scale, err := encodeOnce(s, c.Format, source, x, EncodeOptions{NonFinite: AsSystem})
	switch {
	case err != nil:
		c.Failures = append(c.Failures, fmt.Sprintf("%s: %v", one.Name, err))
	case int(scale[0]) != *want.Scale || !bytes.Equal(got, codes):
		c.Failures = append(c.Failures, fmt.Sprintf("%s: scale %d codes %x, want %d %x", one.Name, scale[0], got, *want.Scale, codes))
	default:
		c.Passed++
	}
	return nil
}

// equalRows is how often a row is encoded in one call: kernels take many blocks.
const equalRows = 64

// encodeOnce encodes one row, as equalRows ones, with the kernel and without;
// all must agree.
func encodeOnce(s *Scheme, f Format, source dtype.Type, x []float32, opts EncodeOptions) (codes, scales []byte, err error) {
	e, err := NewEncoder(s, f, source, opts)
	if err != nil {
		return nil, nil, err
	}
	reference := *e
	reference.fast = nil
	src := bytesOf(source, x)
	codes, scales = make([]byte, f.CodeBytes(len(x))), make([]byte, f.ScaleBytes(len(x)))
	if _, err = reference.Encode(codes, scales, src, 1, len(x)); err != nil {
		return nil, nil, err
	}
	many, manyScales := make([]byte, equalRows*len(codes)), make([]byte, equalRows*len(scales))
	if _, err = e.Encode(many, manyScales, bytes.Repeat(src, equalRows), equalRows, len(x)); err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(many, bytes.Repeat(codes, equalRows)) || !bytes.Equal(manyScales, bytes.Repeat(scales, equalRows)) {
		return nil, nil, errKernel
	}
	return codes, scales, nil
}

// errKernel: the kernel and the reference disagree.
var errKernel = errors.New("kernel and reference differ")

// bytesOf writes x as numbers of a type that holds them exactly.
func bytesOf(t dtype.Type, x []float32) (out []byte) {
	for _, v := range x {
		switch t {
		case dtype.BF16:
			out = binary.LittleEndian.AppendUint16(out, uint16(math.Float32bits(v)>>16))
		case dtype.F16:
			out = binary.LittleEndian.AppendUint16(out, toF16(float64(v)))
		default:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	}
	return out
}

// compare notes one case.
func (c *Conformance) compare(name, got, want string) {
	c.Cases++
	if got == want {
		c.Passed++
		return
	}
	c.Failures = append(c.Failures, fmt.Sprintf("%s: %s, want %s", name, got, want))
}

// checkMXFP6 compares the blocks of one element type and mode: codes of six
// bits, packed four to three bytes.
func (v *vectors) checkMXFP6(s *Scheme, f Format, row string) (Conformance, error) {
	c := Conformance{Scheme: s.Name, Format: f, Row: row, Confirmed: true}
	for _, one := range v.MXFP6 {
		if !strings.EqualFold(one.Format, f.Element().String()) || !strings.HasSuffix(row, one.Mode) {
			continue
		}
		x, err := numbers(one.Input)
		if err != nil {
			return c, err
		}
		packed, scales, err := encodeOnce(s, f, dtype.BF16, x, EncodeOptions{})
		if err != nil {
			return c, err
		}
		codes := make([]byte, 32)
		unpack6(codes, packed)
		c.compare(one.Mode, fmt.Sprintf("%d %x %x", scales[0], packed, codes), fmt.Sprintf("%d %s %s", one.Scale, one.Packed, one.Codes))
	}
	return c, nil
}

// checkNVFP4 compares tensors, the scale of the tensor included.
func (v *vectors) checkNVFP4(s *Scheme, row string) (Conformance, error) {
	c := Conformance{Scheme: s.Name, Format: NVFP4, Row: row, Confirmed: true}
	for _, one := range v.NVFP4 {
		want, convention := one.ModelOpt, Multiplier
		if row == "compressed_tensors_f32_weights" {
			want, convention = tensorNV(one.CompressedTensors), Divisor
		}
		x, err := numbers(one.Input)
		if err != nil {
			return c, err
		}
		var amax float32
		for _, v := range x {
			amax = max(amax, abs(v))
		}
		tensor := NVFP4TensorScale(amax, convention, dtype.F32)
		codes, scales, err := encodeOnce(s, NVFP4, dtype.F32, x, EncodeOptions{TensorScale: tensor})
		if err != nil {
			return c, err
		}
		c.compare(one.Name, fmt.Sprintf("%x %x %08x", scales, codes, math.Float32bits(tensor)), want.Scale+" "+want.Weight+" "+want.Tensor)
	}
	return c, nil
}
