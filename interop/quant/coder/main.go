// Command coder turns what it reads from standard input into bytes by package
// quant, for the interop suite:
//
//	coder ggml-decode TYPE            blocks to float32
//	coder ggml-encode TYPE            float32 to blocks, NaN and infinity as ggml
//	coder encode SCHEME FORMAT DTYPE [TENSOR-SCALE]
//	                                  numbers to scales, then codes
//	coder decode FORMAT DTYPE         scales and codes, as encode writes them, to numbers
//	coder element NAME                float32 to codes
//	coder e8m0 CAST                   float32 to E8M0
//
// FORMAT/IMPLEMENTATION in place of FORMAT names the implementation. Encoding
// takes every block by the rules of its system, NaN and infinity too.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"ckpt/dtype"
	"ckpt/quant"
)

func main() {
	in, err := io.ReadAll(os.Stdin)
	if err == nil {
		in, err = run(os.Args[1:], in)
	}
	if err == nil {
		_, err = os.Stdout.Write(in)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "coder:", err)
		os.Exit(1)
	}
}

func run(args []string, in []byte) ([]byte, error) {
	args = append(args, "", "", "", "", "")
	switch args[0] {
	case "ggml-decode":
		return ggmlDecode(args[1], in)
	case "ggml-encode":
		return ggmlEncode(args[1], in)
	case "encode":
		return encode(args[1], args[2], args[3], args[4], in)
	case "decode":
		return decode(args[1], args[2], in)
	case "element":
		return element(args[1], in)
	case "e8m0":
		return e8m0(args[1], in)
	default:
		return nil, fmt.Errorf("what is %q", args[0])
	}
}

func ggmlType(name string) (dtype.Type, error) {
	t, ok := dtype.ParseGGML(name)
	if !ok {
		return t, fmt.Errorf("no GGML type %q", name)
	}
	return t, nil
}

func ggmlDecode(name string, in []byte) ([]byte, error) {
	t, err := ggmlType(name)
	if err != nil {
		return nil, err
	}
	x := make([]float32, len(in)/t.BlockBytes()*t.Block())
	if err := quant.DecodeGGML(t, x, in); err != nil {
		return nil, err
	}
	return bytesOf(x), nil
}

func ggmlEncode(name string, in []byte) ([]byte, error) {
	t, err := ggmlType(name)
	if err != nil {
		return nil, err
	}
	x := floats(in)
	out := make([]byte, len(x)/t.Block()*t.BlockBytes())
	_, err = quant.EncodeGGMLAs(t, out, x, quant.AsSystem)
	return out, err
}

// formatNamed splits FORMAT/IMPLEMENTATION; the type of the numbers follows.
func formatNamed(name, source string) (f quant.Format, implementation string, t dtype.Type, err error) {
	name, implementation, _ = strings.Cut(name, "/")
	f, ok := quant.FormatNamed(name)
	t, known := dtype.Parse(source)
	if !ok || !known {
		return f, "", t, fmt.Errorf("no format %q, or no type %q", name, source)
	}
	return f, implementation, t, nil
}

func encode(scheme, format, source, scale string, in []byte) ([]byte, error) {
	f, implementation, t, err := formatNamed(format, source)
	if err != nil {
		return nil, err
	}
	s, ok := quant.SchemeNamed(scheme)
	if !ok {
		return nil, fmt.Errorf("no scheme %q", scheme)
	}
	opts := quant.EncodeOptions{NonFinite: quant.AsSystem}
	if scale != "" {
		v, err := strconv.ParseFloat(scale, 32)
		if err != nil {
			return nil, err
		}
		opts.TensorScale = float32(v)
	}
	e, err := quant.NewEncoder(s, f, t, opts)
	if err == nil && implementation != "" {
		e, err = e.With(implementation)
	}
	if err != nil {
		return nil, err
	}
	rows := len(in) / t.BlockBytes() / f.Block()
	out := make([]byte, rows+rows*f.CodeBytes(f.Block()))
	_, err = e.Encode(out[rows:], out[:rows], in, rows, f.Block())
	return out, err
}

func decode(format, to string, in []byte) ([]byte, error) {
	f, implementation, t, err := formatNamed(format, to)
	if err != nil {
		return nil, err
	}
	d, err := quant.NewDecoder(f, t, quant.DecodeOptions{})
	if err == nil && implementation != "" {
		d, err = d.With(implementation)
	}
	if err != nil {
		return nil, err
	}
	rows := len(in) / (1 + f.CodeBytes(f.Block()))
	out := make([]byte, rows*f.Block()*t.BlockBytes())
	return out, d.Decode(out, in[rows:], in[:rows], rows, f.Block())
}

func element(name string, in []byte) ([]byte, error) {
	for _, f := range quant.Formats() {
		e := f.Element()
		if e.String() != name {
			continue
		}
		out := make([]byte, 0, len(in)/4)
		for _, x := range floats(in) {
			out = append(out, e.Encode(x))
		}
		return out, nil
	}
	return nil, fmt.Errorf("no element %q", name)
}

func e8m0(name string, in []byte) ([]byte, error) {
	casts := map[string]quant.E8M0Cast{
		"floor": quant.CastFloor, "up": quant.CastUp, "up-saturate": quant.CastUpSaturate, "nearest": quant.CastNearest,
	}
	c, ok := casts[name]
	if !ok {
		return nil, fmt.Errorf("no cast %q", name)
	}
	out := make([]byte, 0, len(in)/4)
	for _, x := range floats(in) {
		out = append(out, c.Cast(x))
	}
	return out, nil
}

func floats(in []byte) []float32 {
	x := make([]float32, len(in)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(in[4*i:]))
	}
	return x
}

func bytesOf(x []float32) []byte {
	out := make([]byte, 0, 4*len(x))
	for _, v := range x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}
