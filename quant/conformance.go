package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"ckpt/dtype"
	"ckpt/quant/internal/kernel"
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
// it gives, by the reference and by the kernel that this machine would use, the
// latter in runs of more than 64 blocks that mix the cases; what comes out is
// decoded by both as well. The casts, swizzles and transcodes of the vectors
// follow, then the kernels on blocks of their own, as schemes of their own.
func CheckConformance() ([]Conformance, error) { return checkConformance(implementations()[0]) }

// conformer holds the schemes and one implementation to the vectors.
type conformer struct {
	*vectors
	set *kernel.Set
}

func checkConformance(set *kernel.Set) ([]Conformance, error) {
	read, err := readVectors()
	if err != nil {
		return nil, err
	}
	v := conformer{read, set}
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
	if err != nil {
		return nil, err
	}
	out = append(out, more...)
	kernels, err := v.checkKernels()
	return append(out, kernels...), err
}

// finiteOnly marks a row of which only finite input is compared.
const finiteOnly = " finite"

// ranToo is a row that comes from running the system, which the vectors do not
// list: the converter is no package.
const ranToo = "tinygrad_quant_py"

func (v conformer) check(s *Scheme, r *Recipe, row string) (Conformance, error) {
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
	c.Confirmed = c.Row == ranToo || slices.Contains(v.Meta.Confirmed[section], c.Row)
	for _, source := range []dtype.Type{dtype.BF16, dtype.F32} {
		if err := v.run(&c, s, source, cases, strings.HasSuffix(row, finiteOnly)); err != nil {
			return c, err
		}
	}
	return c, nil
}

// run compares the blocks of one type of input.
func (v conformer) run(c *Conformance, s *Scheme, source dtype.Type, cases []vector, finite bool) error {
	e, err := NewEncoder(s, c.Format, source, EncodeOptions{NonFinite: AsSystem})
	if err != nil {
		return err
	}
	var names, wants []string
	var inputs [][]byte
	for _, one := range cases {
		want, ok := one.Results[c.Row]
		if !ok || source == dtype.BF16 != (one.Type == "bf16") {
			continue
		}
		x, err := numbers(one.Input)
		if err != nil {
			return fmt.Errorf("vectors: case %s: %w", one.Name, err)
		}
		codes, err := want.codes()
		if err != nil {
			return fmt.Errorf("vectors: case %s: %w", one.Name, err)
		}
		b := block{x: x}
		if want.Scale == nil || len(codes) == 0 || finite && b.nonFinite() > 0 {
			c.Undefined++
			continue
		}
		names, inputs = append(names, one.Name), append(inputs, bytesOf(source, x))
		wants = append(wants, fmt.Sprintf("scale %d codes %x", *want.Scale, codes))
	}
	for i, o := range alike(e, v.set, inputs) {
		got := o.text(func() string { return fmt.Sprintf("scale %d codes %x", o.scales[0], o.codes) })
		c.compare(names[i], got, wants[i])
	}
	return nil
}

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
func (v conformer) checkMXFP6(s *Scheme, f Format, row string) (Conformance, error) {
	c := Conformance{Scheme: s.Name, Format: f, Row: row, Confirmed: true}
	for _, one := range v.MXFP6 {
		if !strings.EqualFold(one.Format, f.Element().String()) || !strings.HasSuffix(row, one.Mode) {
			continue
		}
		x, err := numbers(one.Input)
		if err != nil {
			return c, err
		}
		e, err := NewEncoder(s, f, dtype.BF16, EncodeOptions{})
		if err != nil {
			return c, err
		}
		o := alike(e, v.set, [][]byte{bytesOf(dtype.BF16, x)})[0]
		got := o.text(func() string {
			codes := make([]byte, 32)
			unpack6(codes, o.codes)
			return fmt.Sprintf("%d %x %x", o.scales[0], o.codes, codes)
		})
		c.compare(one.Mode, got, fmt.Sprintf("%d %s %s", one.Scale, one.Packed, one.Codes))
	}
	return c, nil
}

// checkNVFP4 compares tensors, the scale of the tensor included.
func (v conformer) checkNVFP4(s *Scheme, row string) (Conformance, error) {
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
		e, err := NewEncoder(s, NVFP4, dtype.F32, EncodeOptions{TensorScale: tensor})
		if err != nil {
			return c, err
		}
		o := alike(e, v.set, [][]byte{bytesOf(dtype.F32, x)})[0]
		got := o.text(func() string { return fmt.Sprintf("%x %x %08x", o.scales, o.codes, math.Float32bits(tensor)) })
		c.compare(one.Name, got, want.Scale+" "+want.Weight+" "+want.Tensor)
	}
	return c, nil
}
